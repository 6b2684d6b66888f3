"""Compares `sim` with `live`, cell by cell, and writes the page (docs/accuracy.md).

    python benches/validate --live           bring every cell to its live runs, then compare
    python benches/validate                  simulate anew and compare with the live runs that are there
    python benches/validate --cells 'bbr*'   only these cells; --list names them

Live runs take real time and want a quiet machine. They are kept in runs/validate/live, and what is there is
not done again; interrupt and go on as you like.
"""

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path

from compare import compare
from grid import HERE, cells, reasons
from page import write

from bentpipe.engines import machine
from runs import live, sim

PAGE = HERE.parent.parent / "docs" / "accuracy.md"


def main() -> int:
    parser = argparse.ArgumentParser(prog="validate", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cells", metavar="PATTERN", default="*", help="as in a shell; default all")
    parser.add_argument("--list", action="store_true", help="only name the cells")
    parser.add_argument("--live", action="store_true", help="do the live runs that are missing")
    parser.add_argument("--live-seeds", type=int, default=2, help="live runs of each cell")
    parser.add_argument("--live-jobs", type=int, default=3, help="slow live cells at once")
    parser.add_argument("--seeds", type=int, default=8, help="simulated runs of each cell that draws")
    parser.add_argument("--jobs", type=int, default=2, help="simulated cells at once")
    parser.add_argument("--out", type=Path, default=Path("runs/validate"))
    parser.add_argument("--page", type=Path, default=PAGE)
    asked = parser.parse_args()

    every = cells()
    chosen = [cell for cell in every if fnmatch(cell.name, asked.cells)]
    if asked.list:
        for cell in chosen:
            print(f"{cell.name:45} {cell.seconds} s  {cell.about}")
        return 0
    if asked.live:
        live(chosen, asked.out, asked.live_seeds, asked.live_jobs, _say)
    there = [cell for cell in chosen if (asked.out / "live" / cell.name).exists()]
    sim(there, asked.out, asked.seeds, asked.jobs, _say)
    found = [each for cell in there if (each := compare(cell, asked.out))]
    if not found:
        _say("There is no sound live run to compare with; --live does some.")
        return 1
    facts = machine.facts()
    here = f"Linux {facts['kernel']}, {facts['cores']} x {facts['cpu']}"
    print(write(found, reasons(), here, len(every), asked.page))
    _say(f"Every cell: {asked.page}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


sys.exit(main())
