"""The bundled labs in `sim`, by this checkout and by another: `make bench-labs BESIDE=../other`.

    python benches/labs --beside ../other                every lab that both checkouts have
    python benches/labs --beside ../other cures          these labs only
    python benches/labs --beside ../other --repeat 10    with so many seeds at each point

A refactoring must change no figure, and a truer model changes some. Each row is a figure of a workload. Each
value of this checkout is divided by the other's of the same point and seed. The row has the number of pairs,
how many of them are equal to the bit, and the ratios of the points: the median, the lowest and the highest. A
point's ratio is the geometric mean over its seeds. The other checkout must have been set up by `make setup`.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

_HERE = Path(__file__).resolve().parents[2]
_FIGURES = ("goodput_mbit_s", "completion_s", "median_ms", "retransmits", "p50_s", "p95_s")
_PARTS = ("flow_times", "small_flows", "fetch_times", "transfer_times")

Key = tuple[str, str, str, int]
"""Workload and figure, variant, point, seed."""
Pair = tuple[float, float]
"""The other checkout's value, and this one's."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="labs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("labs", nargs="*", help="names of bundled labs; default: all")
    parser.add_argument("--beside", type=Path, required=True, help="another checkout, set up")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    other = asked.beside.resolve()
    if not (other / ".venv/bin/bentpipe").exists():
        parser.error(f"{other} has no .venv/bin/bentpipe: run `make setup` there first")
    names = asked.labs or sorted(file.stem for file in (_HERE / "labs").glob("*.toml"))
    print(f"{asked.repeat} seeds at each point. This checkout's figures divided by those of {other.name}.\n")
    print("| lab | figure | pairs | equal | median | lowest point | highest point |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        lab = other / "labs" / f"{name}.toml"
        if not lab.exists():
            print(f"| {name} | (only here) | | | | | |")
            continue
        before, after = (_figures(tree, lab, asked.repeat, asked.jobs) for tree in (other, _HERE))
        for row in _rows(before, after):
            print(f"| {name} | {row} |", flush=True)
    return 0


def _figures(tree: Path, lab: Path, repeat: int, jobs: int) -> dict[Key, float]:
    command = [str(tree / ".venv/bin/bentpipe"), "run", str(lab), "--engine", "sim", "--json", "--quiet"]
    command += ["--repeat", str(repeat), "--jobs", str(jobs)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*command, "--out", f"{folder}/out"], stdout=subprocess.PIPE, text=True, check=True, cwd=tree
        )
    found: dict[Key, float] = {}
    for line in done.stdout.splitlines():
        run = json.loads(line)
        point = json.dumps(run["point"], sort_keys=True)
        for figure, value in _of_run(run["workloads"]):
            found[figure, run["variant"], point, run["seed"]] = value
    return found


def _of_run(workloads: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    for workload, entry in workloads.items():
        parts = [("", entry), *((f"{part} ", entry.get(part)) for part in _PARTS)]
        for words, part in parts:
            for figure in _FIGURES:
                if isinstance(part, dict) and isinstance(value := part.get(figure), int | float):
                    yield f"{workload}: {words}{figure}", float(value)


def _rows(before: Mapping[Key, float], after: Mapping[Key, float]) -> Iterator[str]:
    pairs: dict[str, dict[tuple[str, str], list[tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for key in before.keys() & after.keys():
        figure, variant, point, _ = key
        pairs[figure][variant, point].append((before[key], after[key]))
    for figure, points in sorted(pairs.items()):
        every = [pair for of_point in points.values() for pair in of_point]
        equal = sum(old == new for old, new in every)
        ratios = [ratio for of_point in points.values() if (ratio := _ratio(of_point)) is not None]
        shown = [f"{each:.4f}" for each in (median(ratios), min(ratios), max(ratios))] if ratios else [""] * 3
        yield " | ".join([figure, str(len(every)), str(equal), *shown])


def _ratio(pairs: Sequence[Pair]) -> float | None:
    """The geometric mean; None where a value is 0."""
    if any(old <= 0 or new <= 0 for old, new in pairs):
        return None
    return math.exp(fmean(math.log(new / old) for old, new in pairs))


if __name__ == "__main__":
    sys.exit(main())
