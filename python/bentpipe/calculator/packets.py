"""The same point packet by packet, in the `sim` engine, beside what the formulas say.

1. The rate is that of a long transfer whose start is left out; the completion that of one fetch. The
   bottleneck's queue is one BDP, the default of a lab.
2. Without loss there is no chance in it, and one run tells all. With loss the median of several seeds is
   compared.
3. They agree within 15 %: what `sim` itself is meant to keep to beside a real kernel (docs/accuracy.md).
"""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.calculator.question import MSS_BYTES, Question
from bentpipe.calculator.transfer import slow_start_s
from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim import SimEngine
from bentpipe.engines.sim_spec import DEFAULT_RMEM, DEFAULT_WMEM
from bentpipe.lab.models.lab import LabFile
from bentpipe.lab.point import Point
from bentpipe.lab.resolve import resolve
from bentpipe.lab.traces import Traces
from bentpipe.results import RunFolder
from bentpipe.results.statistics import Estimate, estimate

AGREES_WITHIN = 0.15
SEEDS = 7
"""Their range holds the true median with 98 %."""
_PACKETS = 2_000_000
"""In all runs together: a second or two of computing."""
_PACKETS_OF_A_SIZE = 10_000_000
"""The same where a size is asked about: 15 GB without loss, 2 GB in each of seven runs with it."""
_DAY_S = 86_400.0
_LEAST_S, _MOST_S = 20.0, 3600.0
_ROUND_TRIPS = 150
_LOSSES = 150
"""So many in each run, where that can be afforded."""
_SETTLED_AFTER_LOSSES = 15
"""A window of which 0.7 is left at each is then 1/200 of what slow start made it."""


@dataclass(frozen=True)
class PacketLevel:
    """What the packets did."""

    goodput_bit_s: Estimate
    completion_s: Estimate | None
    simulated_s: float
    seeds: int


def agrees(said: float, found: Estimate) -> bool:
    return abs(found.median / said - 1) <= AGREES_WITHIN


def packet_level(asked: Question, bound_bit_s: float) -> PacketLevel:
    """Simulates the point; `bound_bit_s` is what the formulas say, and only decides for how long."""
    seeds = SEEDS if asked.loss else 1
    time_s, omit_s = _length_s(asked, bound_bit_s, seeds)
    long = {"kind": "bulk", "streams": asked.streams, "time": f"{time_s} s", "omit": f"{omit_s} s"}
    # None where nothing arrived in the time that is measured, at a loss or a rate at which TCP fails.
    rates = [(_run(asked, long, seed)["goodput_mbit_s"] or 0.0) * 1e6 for seed in range(1, seeds + 1)]
    goodput = estimate(rates)
    assert goodput is not None
    completion = None
    if asked.size_bytes is not None and _can_be_fetched(asked.size_bytes, goodput.median, seeds):
        fetch = {"kind": "http", "connections": asked.streams, "size": f"{asked.size_bytes} B"}
        completion = estimate([_run(asked, fetch, seed)["completion_s"] for seed in range(1, seeds + 1)])
    return PacketLevel(goodput, completion, time_s + omit_s, seeds)


def _can_be_fetched(size_bytes: int, rate_bit_s: float, seeds: int) -> bool:
    """Whether a fetch of it ends within a few seconds of computing, and within a day of the path's clock."""
    if size_bytes / MSS_BYTES * seeds > _PACKETS_OF_A_SIZE:
        return False
    return size_bytes * 8 < rate_bit_s * _DAY_S


def _length_s(asked: Question, bound_bit_s: float, seeds: int) -> tuple[int, int]:
    """Seconds measured, and the seconds left out before: slow start twice over, and CUBIC's first period."""
    packets_a_second = bound_bit_s / 8 / MSS_BYTES
    segments = max(packets_a_second * asked.rtt_s / asked.streams, 1.0)
    period_s = (0.75 * segments) ** (1 / 3)  # RFC 9438, 4.2: K = cbrt(W (1 - 0.7) / 0.4)
    omit_s = math.ceil(2 * slow_start_s(asked, bound_bit_s) + 5 * asked.rtt_s + period_s)
    wanted_s = max(_LEAST_S, _ROUND_TRIPS * asked.rtt_s, 5 * period_s)
    if asked.loss:
        between_losses_s = asked.streams / asked.loss / packets_a_second
        omit_s = math.ceil(max(omit_s, min(_SETTLED_AFTER_LOSSES * between_losses_s, _MOST_S / 4)))
        wanted_s = max(wanted_s, _LOSSES * between_losses_s / asked.streams)
    affordable_s = max(_PACKETS / seeds / packets_a_second - omit_s, 30 * asked.rtt_s, 1.0)
    return math.ceil(min(wanted_s, affordable_s, _MOST_S)), omit_s


def _run(asked: Question, work: dict[str, Any], seed: int) -> dict[str, Any]:
    """The workload's entry of one simulated run."""
    with tempfile.TemporaryDirectory(prefix="bentpipe-calc-") as folder:
        point = Point("calc", "calc", None, "as is", {}, seed, 0, resolve(_lab(asked, work), Traces(Path())))
        options = EngineOptions(sample_interval_ns=10**9)
        record = SimEngine(options).run(point, RunFolder.create(Path(folder), "run"), lambda *_: None)
    found: dict[str, Any] = record["workloads"]["transfer"]
    return found


def _lab(asked: Question, work: dict[str, Any]) -> LabFile:
    return LabFile.model_validate(
        {
            "path": {
                "rtt": f"{round(asked.rtt_s * 1e9)} ns",
                "rate": f"{asked.rate_bit_s} bit/s",
                "down": {"loss": asked.loss},
            },
            "host": {
                "congestion_control": asked.congestion_control,
                "tcp_rmem": _triple(DEFAULT_RMEM, asked.rcvbuf_bytes),
                "tcp_wmem": _triple(DEFAULT_WMEM, asked.sndbuf_bytes),
            },
            "workload": [{"name": "transfer", **work}],
        }
    )


def _triple(default: tuple[int, int, int], most: int) -> list[int]:
    least, first, _ = default
    return [least, min(first, most), most]
