"""`bentpipe schema`."""

import json
from typing import Annotated, Literal

import typer


def schema(
    of: Annotated[
        Literal["lab", "doctor"],
        typer.Argument(help="The schema of a lab file, or of the output of `doctor --json`."),
    ] = "lab",
) -> None:
    """Print a JSON schema: of the lab file, for editors, or of the doctor's reports."""
    if of == "doctor":
        from bentpipe.doctor.report_shape import json_schema
    else:
        from bentpipe.lab.schema import json_schema

    print(json.dumps(json_schema(), indent=1, ensure_ascii=False))
