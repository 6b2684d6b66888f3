"""Runs the cells, through the public interfaces only: `live` by the command line, `sim` by `bentpipe.Lab`.

Live runs are kept and never done twice; one that is not reliable is done again the next time. Simulated runs
are done anew each time, since it is the simulator that changes.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grid import LAB, Cell

import bentpipe

_SLOW_MBIT_S = 50
"""Live cells up to this rate leave the machine idle enough for others beside them."""


def live(cells: Sequence[Cell], out: Path, seeds: int, jobs: int, say: Callable[[str], None]) -> None:
    """Bring every cell to `seeds` live runs. Slow cells go `jobs` at a time, the others one at a time."""
    missing = [cell for cell in cells if _missing(out / "live" / cell.name, seeds)]
    slow = [cell for cell in missing if cell.rate_mbit_s <= _SLOW_MBIT_S]
    fast = [cell for cell in missing if cell not in slow]
    length_s = sum((cell.seconds + 8) * seeds / (jobs if cell in slow else 1) for cell in missing)
    say(f"live: {len(missing)} of {len(cells)} cells to do, about {length_s / 60:.0f} min")

    def one(cell: Cell) -> None:
        settings = [word for setting in cell.settings for word in ("--set", setting)]
        place = out / "live" / cell.name
        argv = [sys.executable, "-m", "bentpipe", "run", str(LAB), "--engine", "live", "--quiet", "--json"]
        argv += [*settings, "--repeat", str(seeds), "--out", str(place)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        found = [json.loads(line) for line in done.stdout.splitlines()]
        rates = ", ".join(f"{run['workloads']['download']['goodput_mbit_s'] or 0:.3g}" for run in found)
        why = "; ".join(reason for run in found for reason in run["why"]) or done.stderr.strip()
        say(f"live  {cell.name}: {rates} Mbit/s {f'({why})' if why else ''}")

    for group, at_once in ((slow, jobs), (fast, 1)):
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, group))


def _missing(place: Path, seeds: int) -> bool:
    """Whether runs are to be done; those that are not reliable are removed."""
    sound = 0
    for record in place.glob("[!.]*/run.json"):
        run = json.loads(record.read_text(encoding="utf-8"))
        if run["reliable"] and run["status"] == "done":
            sound += 1
        else:
            shutil.rmtree(record.parent)
    return sound < seeds


def sim(cells: Sequence[Cell], out: Path, seeds: int, jobs: int, say: Callable[[str], None]) -> None:
    """Run every cell anew. Where a path draws nothing, nothing depends on the seed; one run is enough."""
    shutil.rmtree(out / "sim", ignore_errors=True)

    def one(cell: Cell) -> None:
        repeat = seeds if cell.by_chance else 1
        lab = bentpipe.Lab.load(LAB, set=cell.settings, repeat=repeat)
        results = lab.run(engine="sim", out=out / "sim" / cell.name)
        rates = ", ".join(f"{run['workloads']['download']['goodput_mbit_s']:.3g}" for run in results.records)
        say(f"sim   {cell.name}: {rates} Mbit/s")

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, cells))
