"""Runs of a lab of a path as it was seen."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import polars as pl

from bentpipe.engines.base import EngineOptions
from bentpipe.engines.sim import SimEngine, simulated
from bentpipe.lab.load import Lab
from bentpipe.lab.point import Point
from bentpipe.runs.record import Record

_MOST_BYTES = 200e6
"""Payload of a simulated run: longer ones are cut, and still hold this."""
_MOST_OF_A_FILE = 500e6
"""Its start counts, too: what is cut has to be long beside it."""
_LEAST_S = 10.0
_ROUND_TRIPS = 40
_MOST_KEPT = 512


def shortened(document: dict[str, Any], rate_bit_s: float, rtt_s: float) -> dict[str, Any]:
    """The lab with a shorter run or a smaller file, if it carries much at that rate."""
    length_s = max(_MOST_BYTES * 8 / rate_bit_s, _LEAST_S, _ROUND_TRIPS * rtt_s)
    if document.get("until") == "done":
        transfer, *others = document["workload"]
        most_bytes = max(rate_bit_s * length_s / 8, _MOST_OF_A_FILE)
        file_bytes = min(int(transfer["size"].split()[0]), round(most_bytes))
        return {**document, "workload": [{**transfer, "size": f"{file_bytes} B"}, *others]}
    asked_s = float(document["duration"].split()[0])
    return {**document, "duration": f"{min(length_s, asked_s):.1f} s"}


@dataclass(frozen=True)
class Outcome:
    """Of one run."""

    goodput_bit_s: float
    """Of the workload `transfer`."""
    others_bit_s: float | None
    """Of the workload `neighbours`, if the lab has it."""
    queue_bytes: float
    """In the mean, of the pipe that carries the transfer."""


def outcomes(document: Mapping[str, Any], change: Mapping[str, Any], seeds: Sequence[int]) -> list[Outcome]:
    """With each seed. `change`: dotted keys with their values. Raises BentpipeError."""
    return [_outcome(json.dumps([document, dict(change)]), seed) for seed in seeds]


def goodputs(document: Mapping[str, Any], change: Mapping[str, Any], seeds: Sequence[int]) -> list[float]:
    """Of the workload `transfer` with each seed, in bit/s. Raises BentpipeError."""
    return [each.goodput_bit_s for each in outcomes(document, change, seeds)]


def run_of(
    document: Mapping[str, Any], options: EngineOptions | None = None
) -> tuple[Record, Mapping[str, pl.DataFrame]]:
    """The record and the tables of both ends, with the lab's own seed. Raises BentpipeError."""
    record, tables = _simulated(_point(document, {}), options)
    return record, {name: pl.read_parquet(io.BytesIO(tables[name])) for name in ("sockets", "flows", "pings")}


@lru_cache(maxsize=_MOST_KEPT)
def _outcome(asked: str, seed: int) -> Outcome:
    """`asked`: the lab and the change, as JSON."""
    document, change = json.loads(asked)
    record, _ = _simulated(_point(document, change).with_seed(seed))
    works = record["workloads"]
    others = _carried_bit_s(works["neighbours"]) if "neighbours" in works else None
    way = works["transfer"].get("direction") or "down"
    return Outcome(_carried_bit_s(works["transfer"]), others, record["pipes"][way]["queue_bytes_mean"])


def _point(document: Mapping[str, Any], change: Mapping[str, Any]) -> Point:
    lab = Lab(**document)
    for key, value in change.items():
        lab = lab.replace(key, value)
    return next(iter(lab.cells())).first


def _simulated(point: Point, options: EngineOptions | None = None) -> tuple[Record, dict[str, bytes]]:
    SimEngine().check(point.spec)
    return simulated(point, options or EngineOptions(), lambda *_told: None, into=None, length_s=1.0)


def _carried_bit_s(work: Mapping[str, Any]) -> float:
    lasted_s = work.get("completion_s") or work.get("duration_s") or 0.0
    return work["bytes"] * 8 / lasted_s if lasted_s else 0.0
