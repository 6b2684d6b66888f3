"""`bentpipe schema`."""

import json


def schema() -> None:
    """Print the lab file's JSON schema, for editors."""
    from bentpipe.lab.schema import json_schema

    print(json.dumps(json_schema(), indent=1, ensure_ascii=False))
