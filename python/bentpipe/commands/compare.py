"""`bentpipe compare` on the command line."""

import json
import sys
from typing import Annotated

import typer
from rich.console import Console


def compare(
    folders: Annotated[
        list[str], typer.Argument(metavar="DIR [DIR ...]", help="Folders that `bentpipe run` wrote.")
    ],
    *,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With what all else is compared: a variant of a single folder (default `as is`), "
            "or one of the folders (default the first).",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIGURE",
            help="Compare this instead, by its dotted name: workload.download.goodput_mbit_s; repeatable.",
        ),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object per comparison, on a line.")] = False,
) -> None:
    """Say what a change changed: over pairs of runs of the same point and seed, with intervals.

    Compares the variants of one folder with `as is`, or several folders with the first.

    Examples:

        bentpipe compare runs/cures

        bentpipe compare runs/before runs/after --metric pipe.down.drops.tail
    """
    from bentpipe.report import comparison  # noqa: PLC0415 - `--help` must not wait for data frames
    from bentpipe.results import Results  # noqa: PLC0415 - as above
    from bentpipe.results.comparisons import compare_all  # noqa: PLC0415 - as above

    compared = compare_all([Results.open(folder) for folder in folders], baseline, metric or [])
    if json_:
        for each in compared:
            print(json.dumps(each.as_json(), ensure_ascii=False, allow_nan=False))
    else:
        Console(width=None if sys.stdout.isatty() else 120, highlight=False).print(
            comparison.render(compared)
        )
