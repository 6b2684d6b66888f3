"""`bentpipe import` on the command line."""

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from bentpipe.cli.saying import say, tell
from bentpipe.errors import StoreError


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="iperf3's JSON (`iperf3 -J`), or flent's `.flent.gz`."),
    ],
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="A folder for imported runs; new ones are added.")],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The folder's name in tables and pages.")
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The variant of these tests. Default: the file's own title."),
    ] = None,
    point: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="The point of these tests, as in a sweep; repeatable."),
    ] = None,
) -> None:
    """Import measurements of other programs (iperf3, flent) as runs.

    `report`, `compare` and `query` then treat them like other runs.

    Every test becomes a run. Tests of the same variant and point are repeats of each other. The same test is
    not counted twice. The measurement error is unknown, and every table says so.

    Examples:

        bentpipe import before.json again.json --variant before --out runs/office

        bentpipe import rrul.flent.gz --point path.rtt="550 ms" --out runs/satellite
    """
    from bentpipe.interchange.folder import Called, take

    taken = take(files, out, Called(name, variant, _point(point or [])))
    for file, run in taken.runs:
        tell(f"{out / run}  {file}")
    for file, run in taken.known:
        say(f"{file}: this test is there already, as {run}; it is not counted again")
    for note in taken.notes:
        say(note)
    if taken.runs:
        say(f"A table and a page with charts: bentpipe report {out}")


def _point(said: list[str]) -> dict[str, Any]:
    """The point that `--point` gives: values are numbers if possible, else text."""
    found: dict[str, Any] = {}
    for each in said:
        key, equals, value = each.partition("=")
        if not equals or not re.fullmatch(r"[\w-]+(\.[\w-]+)*", key) or not value:
            raise StoreError(f'--point: found "{each}"; expected KEY=VALUE, such as path.rtt="550 ms"')
        found[key] = _plain(value)
    return found


def _plain(value: str) -> Any:
    try:
        found = json.loads(value, parse_constant=str)
    except ValueError:
        return value
    return found if isinstance(found, int | float | str) else value
