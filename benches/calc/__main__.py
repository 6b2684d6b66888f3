"""Compares `calc` with `sim` and `live`, and writes the tables of docs/calc.md.

    python benches/calc            simulate anew, and compare with the live runs that are there
    python benches/calc --live     do the live runs that are missing first: some 25 minutes

Live runs want a quiet machine. Those that are reliable are kept in runs/calc/live.
"""

import argparse
import sys
from pathlib import Path

import ack_cells
import buffer_cells
import queue_cells

from bentpipe.engines import machine

PAGE = Path(__file__).parent.parent.parent / "docs" / "calc.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="calc", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--live", action="store_true", help="do the live runs that are missing")
    parser.add_argument("--out", type=Path, default=Path("runs/calc"))
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args()
    if asked.live:
        buffer_cells.live(buffer_cells.cells(), asked.out, _say)
    facts = machine.facts()
    here = f"Linux {facts['kernel']}"
    for mark, table in (
        ("buffers", buffer_cells.table(asked.out, here)),
        ("queues", queue_cells.table()),
        ("acks", ack_cells.table()),
    ):
        print(table, end="\n\n")
        _put(asked.page, mark, table)
    return 0


def _put(page: Path, mark: str, table: str) -> None:
    begin, end = f"<!-- make check-calc: {mark} begin -->", f"<!-- make check-calc: {mark} end -->"
    text = page.read_text(encoding="utf-8")
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        sys.exit(f"{page}: expected the marks {begin} and {end}")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


sys.exit(main())
