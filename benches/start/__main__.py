"""How long a command takes from its start to its end: medians by the clock and of processor time.

    python benches/start [--times 15]

The commands are run in turns, so that a busy moment of the machine meets all of them.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAB = """
title = "One second"
duration = "1 s"
[path]
rtt = "100 ms"
rate = "16 Mbit/s"
[[workload]]
name = "download"
kind = "bulk"
"""
COMMANDS = (
    "--help",
    "--version",
    "labs",
    "calc --rate 20Mbit/s --rtt 411ms",
    "run --help",
    "run one.toml --engine sim --out out",
)
PYTHON = "(python -c pass)"


def main() -> None:
    parser = argparse.ArgumentParser(prog="start", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=15, help="starts of each command")
    times = parser.parse_args().times
    programs = {PYTHON: [sys.executable, "-c", "pass"]}
    programs |= {f"bentpipe {each}": [sys.executable, "-m", "bentpipe", *each.split()] for each in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "one.toml").write_text(LAB)
        for command in programs.values():  # Python compiles the modules in the first start
            _seconds(command, folder)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
        for _ in range(times):
            for name, command in programs.items():
                found[name].append(_seconds(command, folder))
    print(f"median of {times} starts     by the clock    processor    fastest, by the clock")
    for name, each in found.items():
        clock_s, cpu_s = (statistics.median(values) for values in zip(*each, strict=True))
        print(f"{name:52} {clock_s:6.3f} s {cpu_s:6.3f} s {min(each)[0]:6.3f} s")


def _seconds(command: list[str], folder: str) -> tuple[float, float]:
    """By the clock, and of processor time."""
    shutil.rmtree(Path(folder) / "out", ignore_errors=True)
    begun_s = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return time.perf_counter() - begun_s, used.ru_utime + used.ru_stime


main()
