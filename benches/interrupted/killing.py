"""A sweep from the command line that is killed at random moments, and what it must end with."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.runs.schema import TABLES
from bentpipe.runs.store import Results

OWN_OF_A_RUN = ("started", "wall_s", "cpu_s", "folder")
"""What differs between two runs of the same: times, and where it lies."""


@dataclass(frozen=True)
class Sweep:
    """A command whose sweep is to survive."""

    lab: Path
    repeat: int
    out: Path

    def begin(self, *where: str) -> subprocess.Popen[bytes]:
        """In a process group of its own, so that it can be killed with or without its workers."""
        command = [sys.executable, "-m", "bentpipe", "run", str(self.lab), "--engine", "sim", "--quiet"]
        command += ["--json", "--repeat", str(self.repeat), "--out", str(self.out), *where]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)

    def ended(self, *where: str) -> None:
        """The sweep to its end. Raises where it does not end well."""
        status = self.begin(*where).wait()
        if status:
            raise RuntimeError(f"bentpipe ended with status {status}")

    @property
    def whole(self) -> int:
        """Runs that are in the folder."""
        return sum(1 for _ in self.out.glob("[!.]*/run.json"))


def killed(
    sweep: Sweep, whole: int, rng: random.Random, *where: str, group: bool, within_s: float = 0.1
) -> int:
    """Begin the sweep, and end it by kill -9 at a random moment within `within_s` after it has so many runs;
    with `group` its workers at the same time, else it alone. Returns the runs that there were then."""
    process = sweep.begin(*where)
    wait_for(sweep, whole, process)
    time.sleep(rng.uniform(0, within_s))
    if group:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
    return sweep.whole


def wait_for(sweep: Sweep, whole: int, process: subprocess.Popen[bytes]) -> None:
    while True:
        over = process.poll() is not None  # asked first: it may end with all its runs in between
        if sweep.whole >= whole:
            return
        if over:
            raise RuntimeError("the sweep was over before it could be killed")
        time.sleep(0.01)


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and workers on loopback: its address and the workers."""
    file = folder / "scheduler.json"
    every = [_dask(folder, "scheduler", "--port", "0", "--scheduler-file", str(file))]
    try:
        while not file.exists() or not file.read_text().rstrip().endswith("}"):  # it is written in parts
            time.sleep(0.02)
        more = ("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-nanny")
        every += [_dask(folder, *more) for _ in range(workers)]
        yield json.loads(file.read_text())["address"], every[1:]
    finally:
        for process in every:
            process.kill()
        for process in every:
            process.wait()


def _dask(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    own = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", "dask", *arguments, *own], cwd=folder, **quiet)


def fingerprints(folder: Path) -> dict[str, dict[str, str]]:
    """Of every run in a folder: its record without what is its own, and every table, each as a digest."""
    results = Results.open(folder)
    return {record["run"]: _fingerprints(folder, record) for record in results.records}


def _fingerprints(folder: Path, record: dict[str, Any]) -> dict[str, str]:
    record = record | {"engine_error": _shared(record["engine_error"])}
    found = {"record": json.dumps(_shared(record), sort_keys=True)}
    for table in TABLES:
        rows = pl.read_parquet(folder / record["run"] / f"{table}.parquet", glob=False)
        found[table] = f"{rows.height} rows {rows.write_json()}"
    return {part: hashlib.sha256(text.encode()).hexdigest() for part, text in found.items()}


def _shared(part: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in OWN_OF_A_RUN}


def difference(one: Path, other: Path) -> Sequence[str]:
    """What the two folders' runs do not have in common, a line each; none where their rows are the same."""
    ours, theirs = fingerprints(one), fingerprints(other)
    lines = [f"{run} is in one only" for run in sorted(ours.keys() ^ theirs.keys())]
    for run in sorted(ours.keys() & theirs.keys()):
        parts = [part for part in ours[run] if ours[run][part] != theirs[run][part]]
        lines += [f"{run}: {', '.join(parts)}"] if parts else []
    left = [path.name for path in one.iterdir() if path.name.startswith(".")]
    return [*lines, *(f"{name} is left over" for name in left)]
