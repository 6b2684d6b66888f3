"""`bentpipe schema`."""

import json
from typing import Annotated, Literal

import typer


def schema(
    of: Annotated[
        Literal["lab", "doctor"],
        typer.Argument(help="A lab file, or what `doctor --json` prints."),
    ] = "lab",
) -> None:
    """Print a JSON schema: the lab file's, for editors, or that of the doctor's reports."""
    if of == "doctor":
        from bentpipe.doctor.report_shape import json_schema
    else:
        from bentpipe.lab.schema import json_schema

    print(json.dumps(json_schema(), indent=1, ensure_ascii=False))
