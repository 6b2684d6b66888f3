"""`bentpipe gateway`: hands its arguments over to `bentpipe-gateway`."""

import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.saying import say

PROGRAM = "bentpipe-gateway"


def _found() -> str | None:
    """Where the program is: beside `bentpipe`, beside its Python, or on PATH."""
    folders = (Path(sys.argv[0]).absolute().parent, Path(sys.executable).absolute().parent)
    beside = (shutil.which(PROGRAM, path=str(folder)) for folder in folders)
    return next(filter(None, beside), None) or shutil.which(PROGRAM)


def gateway(
    arguments: Annotated[list[str] | None, typer.Argument(help="What bentpipe-gateway takes.")] = None,
) -> None:
    """Run bentpipe-gateway, the daemon at each end of a slow path, with the given arguments."""
    program = _found()
    if program is None:
        say(
            f"bentpipe: {PROGRAM} is not installed: it is neither beside bentpipe nor on PATH. "
            f"Build it with `cargo build --release -p {PROGRAM}-daemon`, or install its package"
        )
        raise typer.Exit(2)
    sys.stdout.flush()
    os.execv(program, [program, *(arguments or [])])
