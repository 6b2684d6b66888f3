"""The sim engine: both hosts and the path in virtual time, on any machine and without privilege.

A run: the point becomes the simulator's specification (sim_spec.py); the simulator writes the tables as it
goes, into a folder or into memory, and computes the record's figures beside it; what each workload carried
becomes its entry in the record (sim_entries.py), with the same keys as `live`'s.
"""

import datetime
import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bentpipe.engines import machine
from bentpipe.engines.base import EngineOptions, Progress
from bentpipe.engines.lengths import connects, run_end_s
from bentpipe.engines.sim_core import computed
from bentpipe.engines.sim_entries import entry
from bentpipe.engines.sim_spec import refuse, sim_spec, sysctls
from bentpipe.errors import EngineError
from bentpipe.lab.point import Point
from bentpipe.lab.spec import RunSpec
from bentpipe.runs.figures.flow_times import initial_window_bytes
from bentpipe.runs.figures.queue_behaviour import queue_questions
from bentpipe.runs.figures.reliability import assess
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.record import Record, identity, new_record
from bentpipe.words.direction import Direction
from bentpipe.words.durations import spoken

_BYTES_A_CPU_SECOND = 1.5e9
"""About what the simulator carries (docs/performance.md); for the bar only."""
_WINDOW_BYTES = 2.5e6
_START_S = 0.02
_CPU_S_A_BIN = 0.4e-6
_CPU_S_A_SAMPLE = 2e-6
"""What a row of the tables `link` and `sockets` costs: of 10 h at 1 kbit/s, with nothing else to compute."""


class SimEngine:
    name = "sim"
    beside_others = True

    def __init__(self, options: EngineOptions | None = None) -> None:
        self._options = options or EngineOptions()

    def check(self, spec: RunSpec) -> None:
        refuse(spec)
        if not spec.has_near and "near" in self._options.pcap:
            raise EngineError("--pcap near: the lab has no near host; expected client or server", what="pcap")

    def check_machine(self, specs: Iterable[RunSpec]) -> None:
        """It needs nothing."""

    def length_s(self, spec: RunSpec) -> float:
        """How long the simulator computes: a guess from the bytes that the path can carry and the rows of the
        tables, of which there are some for each bin of time."""
        carried_s = sum(_bytes_to_carry(spec, work) for work in spec.workloads) / _BYTES_A_CPU_SECOND
        simulated_s = run_end_s(spec) - spec.earliest_start_ns / 1e9
        bins = 2 * simulated_s * 1e9 / self._options.bin_ns
        samples = _sockets(spec) * simulated_s * 1e9 / self._options.sample_interval_ns
        return _START_S + carried_s + bins * _CPU_S_A_BIN + samples * _CPU_S_A_SAMPLE

    def run(self, point: Point, folder: RunFolder, on_progress: Progress) -> Record:
        self.check(point.spec)
        raw = folder.path("raw", "link.csv").parent if self._options.watched else None
        record, _ = simulated(
            point, self._options, on_progress, into=folder.path(), length_s=self.length_s(point.spec)
        )
        if raw:
            shutil.rmtree(raw)
        record["folder"] = folder.called
        folder.finish(record)
        return record


def simulated(
    point: Point, options: EngineOptions, on_progress: Progress, *, into: Path | None, length_s: float
) -> tuple[Record, dict[str, bytes]]:
    """The run's record, and its tables as Parquet by their names; with `into` the tables are in that folder.

    `length_s` is what it is expected to take. Raises EngineError.
    """
    spec = point.spec
    started = datetime.datetime.now(datetime.UTC)
    begun_s, begun_cpu_s = time.monotonic(), time.process_time()
    document = spec.model_dump(mode="json")
    outcome, tables = computed(
        f"{point.lab} with seed {point.seed}",
        sim_spec(point, options),
        [work.name for work in spec.workloads],
        {**queue_questions(document), "small_bytes": initial_window_bytes(spec)},
        into=into,
        at=_told(spec, length_s, on_progress),
    )
    cpu_s, wall_s = time.process_time() - begun_cpu_s, time.monotonic() - begun_s
    engine_error = _no_error(cpu_s, wall_s)
    reliable, doubts = assess(engine_error, spec.limits.model_dump())
    workloads = {
        work.name: entry(work, found)
        for work, found in zip(spec.workloads, outcome["workloads"], strict=True)
    }
    failures = [f"{name}: {work['why']}" for name, work in workloads.items() if work.get("why")]
    record = new_record(
        identity(point),
        engine=SimEngine.name,
        failed=bool(failures),
        reliable=reliable,
        why=failures + doubts,
        folder=None,
        workloads=workloads,
        pipes=outcome["pipes"],
        queue=outcome["queue"],
        engine_error=engine_error,
        spec=document,
        machine=machine.facts(),
        versions=machine.versions(set()),
        sysctl={"client": sysctls(spec.client), "server": sysctls(spec.server)},
        started=started.isoformat(timespec="seconds"),
        wall_s=wall_s,
        more={
            "events": outcome["events"],
            "totals": outcome["totals"],
            **{name: outcome[name] for name in ("tunnel", "split", "gateway") if outcome[name]},
        },
    )
    return record, tables


def _told(spec: RunSpec, length_s: float, on_progress: Progress) -> Callable[[float], None]:
    """Tells how far the run is, given its own seconds."""
    begins_s = spec.earliest_start_ns / 1e9
    whole_s = max(run_end_s(spec) - begins_s, 1e-9)
    begun_s = time.monotonic()

    def at(run_s: float) -> None:
        # The bar is of the seconds that the computation takes; the run's own tell how far it is.
        simulated_s = run_s - begins_s
        speed = simulated_s / max(time.monotonic() - begun_s, 1e-3)
        grouped = f"{speed:,.{int(speed < 10)}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
        of = f"{spoken(simulated_s)} of {spoken(max(whole_s, simulated_s))} simulated"
        on_progress(length_s * min(simulated_s / whole_s, 1.0), f"{of}, {grouped} times real time")

    return at


def _sockets(spec: RunSpec) -> int:
    """About how many sockets are sampled at a time, at all ends."""
    ends = 6 if spec.split else 2
    return ends * sum(
        work.streams if work.kind == "bulk" else work.connections if work.kind == "http" else work.channels
        for work in spec.workloads
        if work.kind in ("bulk", "http", "channels")
    )


def _bytes_to_carry(spec: RunSpec, work: Any) -> float:
    if not connects(spec):
        return 0.0
    if work.kind == "http":
        return float(work.fetches * (sum(work.objects_bytes or ()) or work.size_bytes))
    if work.kind == "channels":
        return (spec.duration_s or 0.0) * _rate(spec, Direction.DOWN)
    if work.kind != "bulk":
        return 0.0
    length_s = ((work.omit_ns + work.time_ns) / 1e9) if work.time_ns is not None else 0.0
    if spec.duration_s is not None and length_s:
        length_s = min(length_s, spec.duration_s)
    return float(work.size_bytes or length_s * _rate(spec, work.direction))


def _rate(spec: RunSpec, direction: Direction) -> float:
    """Bytes per second: the pipe's rate, or where it has none what the buffers let through."""
    path = spec.path
    rate_bit_s = path.rate_up_bit_s if direction is Direction.UP else path.rate_down_bit_s
    by_window = _WINDOW_BYTES / max(path.base_rtt_ns / 1e9, 1e-4)
    return min(rate_bit_s / 8, by_window * 8) if rate_bit_s else by_window


def _no_error(cpu_s: float, wall_s: float) -> dict[str, Any]:
    """Virtual time is never late, and nothing is lost outside the model."""
    return {
        "lateness_us_p50": 0,
        "lateness_us_p99": 0,
        "lateness_us_max": 0,
        "lateness_count": 0,
        "lateness_histogram": [],
        "rate_error": 0,
        "unintended_loss": 0,
        "cpu_s": cpu_s,
        "wall_s": wall_s,
    }
