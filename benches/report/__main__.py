"""What `bentpipe report` of many runs costs: `make bench-report`.

    python benches/report                           two sweeps in `sim`, in a folder of their own
    python benches/report --folder runs/kept        kept there, and used again
    python benches/report --beside ../other         also by the code of another checkout, in turns

CPU is of all processes, user and system: the table on the terminal, the page, and Python's start. Medians.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

_HERE = Path(__file__).resolve().parents[2]
_SWEEPS = {
    "1000 runs of 30 s, one transfer": ["docs/examples/latency-and-loss.toml"],
    "117 runs of 30 s, channels": ["satellite-queue", "--set", 'duration="30 s"'],
}
"""Of labs that come with bentpipe, with a shorter duration."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where the sweeps are, or are to be")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--beside", type=Path, action="append", default=[], help="another checkout")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        trees = [_HERE, *asked.beside]
        print(f"Medians of {asked.times}, in turns.\n")
        print("| runs | code | CPU s | wall s | page MB | of it What if, MB |\n|---|---|---|---|---|---|")
        for number, (words, lab) in enumerate(_SWEEPS.items()):
            sweep = folder / str(number)
            if not (sweep / "runs.parquet").exists():
                _bentpipe(_HERE, ["run", *lab, "--engine", "sim", "--quiet", "--out", str(sweep)])
            page = Path(temporary) / "page.html"
            took = {tree: list[tuple[float, float]]() for tree in trees}
            size_mb, what_if_mb = dict[Path, float](), dict[Path, float]()
            for _ in range(asked.times):
                for tree in trees:
                    took[tree].append(_bentpipe(tree, ["report", str(sweep), "--html", str(page)]))
                    size_mb[tree] = page.stat().st_size / 1e6
                    what_if_mb[tree] = _what_if_bytes(page) / 1e6
            for tree, found in took.items():
                cpu_s, wall_s = (median(each) for each in zip(*found, strict=True))
                name = "this" if tree == _HERE else tree.name
                of = f"{size_mb[tree]:.1f} | {what_if_mb[tree]:.2f}"
                print(f"| {words} | {name} | {cpu_s:.1f} | {wall_s:.1f} | {of} |", flush=True)
    return 0


def _what_if_bytes(page: Path) -> int:
    """What the page holds of the simulator and its scripts; the runs' own requests lie among their parts."""
    return sum(map(len, re.findall(r'<script [^>]*id="what-if-[a-z]+">[^<]*</script>', page.read_text())))


def _bentpipe(tree: Path, arguments: Sequence[str]) -> tuple[float, float]:
    """CPU and wall seconds."""
    environment = os.environ | {"PYTHONPATH": str(tree.resolve() / "python")}
    before, began_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "bentpipe", *arguments]
    subprocess.run(command, check=True, env=environment, cwd=_HERE, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu_s, time.perf_counter() - began_s


if __name__ == "__main__":
    sys.exit(main())
