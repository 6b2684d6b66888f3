"""What a sweep costs beyond what its engine computes: `make bench-sweep`.

Sweeps of 100, 300 and 1000 short runs in `sim`, one by one, by two processes, and on a Dask cluster of two
workers on this machine. Each is a process of its own, begun anew. A run's cost is taken from what 900 further
runs add, so that beginning Python, the processes and the cluster is not in it:

- CPU: of all processes, with the simulation and without it. This is what a larger sweep costs, wherever.
- wall clock, times the runs that go on at once: what a run holds one of them for. On a machine that does
  other things beside it, it says how busy that was.

Before it, the CPU time of one run in memory (`bentpipe.simulate`), 60 s of a download over GEO, and the
simulator's part of it.

Peak memory is the client's, the process that a user begins: up to the last run, and at the end, when it makes
the table of all runs, which grows with them.
"""

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

LAB = """
title = "Short runs"
until = "done"
duration = "60 s"
[path]
rtt = "30 ms"
rate = "20 Mbit/s"
[[workload]]
name = "download"
kind = "bulk"
direction = "down"
size = "200 kB"
[sweep]
"path.loss" = [0, 1e-4, 1e-3, 3e-3, 1e-2]
"""
REPEAT = 10
GEO = """
duration = "60 s"
[path]
preset = "geo"
[[workload]]
name = "download"
kind = "bulk"
direction = "down"
time = "60 s"
"""
CALLS = 21
MOST_BEYOND_MS = 3
MOST_IN_MEMORY_MS = 40
PLACES = {"one by one": (1, None), "2 processes": (2, None), "Dask, local:2": (2, "local:2")}


def swept(runs: int) -> str:
    """The lab with as many round trips as make so many runs."""
    values = ", ".join(f'"{10 * (number + 1)} ms"' for number in range(runs // (5 * REPEAT)))
    return f'{LAB}"path.rtt" = [{values}]\n'


def measured(runs: int, place: str) -> dict[str, float]:
    """One sweep in this process."""
    import bentpipe  # noqa: PLC0415 - the process that only asks need not have it
    from bentpipe.sweep.executors.choice import Where  # noqa: PLC0415
    from bentpipe.sweep.run import execute  # noqa: PLC0415

    jobs, cluster = PLACES[place]
    seen = {"simulated_s": 0.0, "peak_mb": 0.0, "runs": 0}

    def on_record(record: Any) -> None:
        seen["simulated_s"] += record["engine_error"]["cpu_s"]
        seen["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        seen["runs"] += record["status"] == "done"

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "short.toml"
        file.write_text(swept(runs))
        lab = bentpipe.Lab.load(file, repeat=REPEAT)
        begun_s = time.monotonic()
        execute(lab, engine="sim", out=Path(folder) / "out", where=Where(jobs, cluster), on_record=on_record)
        wall_s = time.monotonic() - begun_s
    while multiprocessing.active_children():  # their CPU is counted once they have ended
        time.sleep(0.05)
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return seen | {
        "wall_s": wall_s,
        "cpu_s": sum(each.ru_utime + each.ru_stime for each in times),
        "end_mb": times[0].ru_maxrss / 1e3,
    }


def in_memory() -> dict[str, float]:
    """CPU seconds of a call, the median of many in this process, and of what in it is the simulator's own."""
    import bentpipe  # noqa: PLC0415

    calls, own = [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "geo.toml"
        file.write_text(GEO)
        lab = bentpipe.Lab.load(file)
    for _ in range(CALLS):
        begun_s = time.process_time()
        run = bentpipe.simulate(lab)
        calls.append(time.process_time() - begun_s)
        own.append(run.record["engine_error"]["cpu_s"])
    return {"cpu_s": median(calls), "simulated_s": median(own)}


def apart(runs: int, place: str) -> dict[str, float]:
    """The same in a process of its own."""
    found = said("--measure", str(runs), place)
    assert found["runs"] == runs, found
    return found


def said(*arguments: str) -> dict[str, float]:
    """What this file says when started with these arguments."""
    command = [sys.executable, __file__, *arguments]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: dict[str, float] = json.loads(text)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench-sweep", description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs=2, metavar=("RUNS", "PLACE"), help=argparse.SUPPRESS)
    parser.add_argument("--memory", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.memory:
        print(json.dumps(in_memory()))
        return 0
    if asked.measure:
        print(json.dumps(measured(int(asked.measure[0]), asked.measure[1])))
        return 0
    print(f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}\n")
    found = said("--memory")
    print(
        f"60 s of GEO in memory: {found['cpu_s'] * 1e3:.1f} ms of CPU, "
        f"{found['simulated_s'] * 1e3:.1f} of them in the simulator (aim: under {MOST_IN_MEMORY_MS})\n"
    )
    print(
        f"{'':14} {'runs':>5} {'wall s':>7} {'CPU s':>7} {'simulation':>11} {'peak MB':>8} {'at the end':>11}"
    )
    costs = []
    for place, (at_once, _) in PLACES.items():
        found = {runs: apart(runs, place) for runs in (100, 300, 1000)}
        for runs, of in found.items():
            print(
                f"{place:14} {runs:5} {of['wall_s']:7.1f} {of['cpu_s']:7.1f} {of['simulated_s']:11.1f} "
                f"{of['peak_mb']:8.0f} {of['end_mb']:11.0f}",
                flush=True,
            )
        add = {key: (found[1000][key] - found[100][key]) / 900 for key in ("wall_s", "cpu_s", "simulated_s")}
        costs.append((place, add["cpu_s"], add["cpu_s"] - add["simulated_s"], add["wall_s"] * at_once))
    print(f"\nA run beyond the hundredth, in milliseconds (aim without simulation: under {MOST_BEYOND_MS}):")
    print(f"{'':14} {'CPU':>7} {'without simulation':>19} {'wall x at once':>15} {'CPU h for 100,000':>18}")
    for place, cpu_s, beyond_s, held_s in costs:
        print(
            f"{place:14} {cpu_s * 1e3:7.1f} {beyond_s * 1e3:19.1f} {held_s * 1e3:15.1f} "
            f"{cpu_s * 1e5 / 3600:18.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
