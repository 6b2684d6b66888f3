"""What it costs a run's figures that the hosts' programs wait for a processor: the table of docs/accuracy.md.

    python benches/hosts [--loops 0,4,16] [--work bulk16,http] [--repeat N]
    python benches/hosts --work channels --loops 4,8 --nice 0   as root: `channels` without real-time priority

Each kind of work runs on `live` beside so many busy loops, and once on `sim`, which waits for nothing. Run it
as an ordinary user for an ordinary user's table. What else the machine does counts too: each row has the load
average.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import bentpipe
from bentpipe.runs.figures.host_waits import programs

_PATH = """
duration = "{duration}"
until = "{until}"
[path]
rtt = "{rtt}"
rate = "{rate}"
[host]
congestion_control = "cubic"
[[workload]]
name = "work"
"""
_BULK = 'kind = "bulk"\ntime = "8 s"\n'
_FETCHES = 'kind = "http"\nsize = "200 kB"\nfetches = 20\n'
_SHORT = 'kind = "http"\nsize = "10 kB"\n'
_CHANNELS = """
kind = "channels"
channels = 1000
servers = 23
size = { distribution = "bounded-pareto", shape = 0.8, min = "500 B", max = "50 MB" }
terrestrial = { delay = { distribution = "lognormal", median = "60 ms", sigma = 0.8 }, jitter = "5 ms" }
"""
LABS = {
    "bulk16": _PATH.format(duration="60 s", until="done", rtt="100 ms", rate="16 Mbit/s") + _BULK,
    "bulk100": _PATH.format(duration="60 s", until="done", rtt="20 ms", rate="100 Mbit/s") + _BULK,
    "bulk200": _PATH.format(duration="60 s", until="done", rtt="5 ms", rate="200 Mbit/s") + _BULK,
    "bulk300": _PATH.format(duration="60 s", until="done", rtt="5 ms", rate="300 Mbit/s") + _BULK,
    "bulk500": _PATH.format(duration="60 s", until="done", rtt="5 ms", rate="500 Mbit/s") + _BULK,
    "http": _PATH.format(duration="60 s", until="done", rtt="40 ms", rate="20 Mbit/s") + _FETCHES,
    "short": _PATH.format(duration="60 s", until="done", rtt="2 ms", rate="100 Mbit/s") + _SHORT,
    "channels": _PATH.format(duration="8 s", until="duration", rtt="40 ms", rate="100 Mbit/s") + _CHANNELS,
}
COLUMNS = (
    "work", "loops", "load", "live", "sim", "error", "waited most", "share", "max_ms", "late_us_p99",
    "reliable",
)  # fmt: skip


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    asked.add_argument("--loops", default="0,4,16")
    asked.add_argument("--work", default=",".join(LABS))
    asked.add_argument("--repeat", type=int, default=1)
    asked.add_argument("--nice", type=int, help="takes real-time priority from the threads of `channels`")
    options = asked.parse_args()
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    print(f"Linux {os.uname().release}, {os.cpu_count()} processors, as {user}")
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for work in options.work.split(","):
        expected = _figure(_run(work, "sim"))
        for loops in map(int, options.loops.split(",")):
            for _ in range(options.repeat):
                with _busy(loops), _ordinary_channels(options.nice):
                    record = _run(work, "live")
                print("| " + " | ".join(_row(work, loops, record, expected)) + " |", flush=True)


@contextlib.contextmanager
def _busy(loops: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


@contextlib.contextmanager
def _ordinary_channels(nice: int | None) -> Iterator[None]:
    """Gives the two threads of `channels` that niceness as soon as they are there."""
    over = threading.Event()

    def demote() -> None:
        while not over.wait(0.02):
            threads = _channels_threads(os.getpid())
            if len(threads) == 2:
                for thread in threads:
                    os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
                    os.setpriority(os.PRIO_PROCESS, thread, nice or 0)
                return

    demoting = threading.Thread(target=demote)
    if nice is not None:
        demoting.start()
    try:
        yield
    finally:
        over.set()
        if nice is not None:
            demoting.join()


def _channels_threads(process: int) -> list[int]:
    """Of a process and all that it started."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*"):
        with contextlib.suppress(OSError):
            if (task / "comm").read_text().strip() in ("channels", "channel servers"):
                found.append(int(task.name))
            for child in (task / "children").read_text().split():
                found += _channels_threads(int(child))
    return found


def _run(work: str, engine: str) -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory(prefix="bentpipe-hosts-") as folder:
        (lab := Path(folder) / f"{work}.toml").write_text(LABS[work])
        return bentpipe.Lab.load(lab).run(engine=engine, out=Path(folder) / "out").records[0]


def _figure(record: Mapping[str, Any]) -> float:
    """Mbit/s, or of fetches the median in seconds."""
    entry = record["workloads"]["work"]
    return float(entry["median_fetch_s" if entry["kind"] == "http" else "goodput_mbit_s"])


def _row(work: str, loops: int, record: Mapping[str, Any], expected: float) -> list[str]:
    error, found = record["engine_error"], _figure(record)
    seen = list(programs(error["hosts"]))
    host, worst = max(seen, key=lambda each: each[1]["wait_share"] or 0)
    longest_ms = max(program["wait_max_ms"] or 0 for _, program in seen)
    return [
        work,
        str(loops),
        f"{os.getloadavg()[0]:.0f}",
        f"{found:.4g}",
        f"{expected:.4g}",
        f"{found / expected - 1:+.1%}",
        f"{worst['program']} on the {host}",
        f"{worst['wait_share'] or 0:.0%}",
        f"{longest_ms:.0f}",
        f"{error['lateness_us_p99']:.0f}",
        "yes" if record["reliable"] else "no",
    ]


if __name__ == "__main__":
    main()
