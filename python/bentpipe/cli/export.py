"""`bentpipe export` on the command line."""

from pathlib import Path
from typing import Annotated

import typer

from bentpipe.cli.saying import say, tell
from bentpipe.errors import StoreError


def export(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="A folder of runs, or its URL.")],
    *,
    csv: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a CSV file per table to this folder.")
    ] = None,
    flent: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a `.flent.gz` per run to this folder.")
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this table: runs, link, flows, sockets or pings; repeatable."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Export runs for other programs: tables as CSV, or flent's data files.

    Examples:

        bentpipe export runs/office --csv tables

        bentpipe export runs/office --flent for-flent && flent -p totals for-flent/*.flent.gz
    """
    if not csv and not flent:
        raise StoreError("export needs --csv FOLDER or --flent FOLDER")
    if table and not csv:
        raise StoreError("--table needs --csv")
    from bentpipe.interchange import csv_export, flent_export
    from bentpipe.runs.store import Results

    results = Results.open(folder)
    paths = []
    if csv:
        paths += csv_export.write(results, csv, table or csv_export.TABLES, force=force)
    if flent:
        paths += flent_export.write(results, flent, force=force)
    for path in paths:
        tell(str(path))
    say(f"Written: {len(paths)} file{'' if len(paths) == 1 else 's'}")
