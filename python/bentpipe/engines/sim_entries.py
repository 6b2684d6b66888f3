"""What a simulated workload did, as its entry in the record: the keys are `live`'s."""

from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

from bentpipe.errors import EngineError
from bentpipe.lab.spec import BulkSpec, CallSpec, ChannelsSpec, HttpSpec, WorkloadSpec
from bentpipe.runs.figures.answers import answers
from bentpipe.runs.figures.calls import Packet, call_figures
from bentpipe.runs.figures.times import Request, of_fetches, percentile, seconds_goodput, think_s
from bentpipe.words.direction import Direction

_OF_FLOWS = ("flows", "finished", "failed", "flow_times", "small_flows", "fct_by_size", "pause_s")
_TOO_SHORT_S = 0.05
"""A rate over less says nothing."""


def entry(work: WorkloadSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    """`found` is the workload's `Work` (crates/sim/src/record/results.rs)."""
    match work.kind:
        case "ping":
            return _ping(found)
        case "interactive":
            return _interactive(found)
        case "call":
            return _call(work, found)
        case "bulk":
            return _bulk(work, found)
        case "http":
            return _http(work, found)
        case "channels":
            return _channels(work, found)
        case _:
            raise EngineError(
                f"workload {work.name}: the sim engine has no kind {work.kind!r}", what=work.kind
            )


def _bulk(work: BulkSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    seconds = found["measured_ns"] / 1e9
    last_byte_ns = found["last_byte_ns"]
    intervals = [(each["length_ns"] / 1e9, each["bytes"]) for each in found["intervals"]]
    per_second_mbit_s = [size * 8e-6 / length for length, size in intervals if length >= _TOO_SHORT_S]
    result = {
        "kind": "bulk",
        "direction": work.direction.value,
        "streams": work.streams,
        "goodput_mbit_s": found["bytes"] * 8e-6 / seconds if seconds > 0 else None,
        "bytes": found["bytes"],
        "duration_s": seconds,
        "completion_s": (last_byte_ns - work.start_ns) / 1e9 if last_byte_ns is not None else None,
        "retransmits": found["retransmits"],
        "per_second": seconds_goodput(per_second_mbit_s),
        "per_second_mbit_s": per_second_mbit_s,
    }
    return result | {"why": found["why"]} if found["why"] else result


def _http(work: HttpSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    carried = _carried(work, found)
    fetches = [_fetch(each, work.direction) for each in found["visits"]]
    result = {
        "kind": "http",
        "direction": work.direction.value,
        "connections": work.connections,
        **carried,
        "cache": {key: found[key] for key in ("hits", "misses")} if found["hits"] + found["misses"] else None,
        **of_fetches(fetches, work.start_ns / 1e9, carried["duration_s"]),
        "object_times": found["object_times"],
    }
    return result | {"why": found["why"]} if found["why"] else result


def _fetch(visit: Mapping[str, Any], direction: Direction) -> dict[str, Any]:
    """Seconds from the fetch's start, as curl counts them."""
    start_ns = visit["start_ns"]
    total_s = _seconds(visit["end_ns"], start_ns)
    thought_s = think_s([_request(each, direction) for each in visit["requests"]])
    return {
        "start_s": start_ns / 1e9,
        "connect_s": _seconds(visit["connected_ns"], start_ns),
        "first_byte_s": _seconds(visit["first_byte_ns"], start_ns),
        "total_s": total_s,
        "think_s": thought_s,
        "transfer_s": None if total_s is None or thought_s is None else total_s - thought_s,
        "bytes": visit["bytes"],
        "retransmits": visit["retransmits"],
        "cache": visit["cache"],
    }


def _request(of: Mapping[str, Any], direction: Direction) -> Request:
    end_s = _seconds(of["end_ns"], 0)
    answered_s = end_s if direction is Direction.UP else _seconds(of["first_byte_ns"], 0)
    return Request(of["start_ns"] / 1e9, answered_s, end_s, of["think_ns"] / 1e9)


def _channels(work: ChannelsSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    """One connection that failed among thousands is a figure, not the run's fault."""
    return {
        "kind": "channels",
        "channels": work.channels,
        **_carried(work, found),
        **{key: found[key] for key in _OF_FLOWS},
    }


def _carried(work: HttpSpec | ChannelsSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    seconds = found["measured_ns"] / 1e9
    return {
        "goodput_mbit_s": found["bytes"] * 8e-6 / seconds if seconds > 0 else None,
        "bytes": found["bytes"],
        "duration_s": seconds,
        "completion_s": _seconds(found["last_byte_ns"], work.start_ns),
        "retransmits": found["retransmits"],
    }


def _seconds(at_ns: int | None, since_ns: int) -> float | None:
    return None if at_ns is None else (at_ns - since_ns) / 1e9


def _ping(found: Mapping[str, Any]) -> dict[str, Any]:
    times_ms = [each / 1e6 for each in found["round_trips_ns"]]
    result: dict[str, Any] = {
        "kind": "ping",
        "sent": len(times_ms) + found["lost"],
        "lost": found["lost"],
        "min_ms": None,
        "median_ms": None,
        "p95_ms": percentile(times_ms, 95),
        "p99_ms": percentile(times_ms, 99),
        "max_ms": None,
    }
    if times_ms:
        result |= {
            "min_ms": min(times_ms),
            "median_ms": median(times_ms),
            "max_ms": max(times_ms),
            "mean_ms": fmean(times_ms),
        }
    return result


def _interactive(found: Mapping[str, Any]) -> dict[str, Any]:
    result = {
        "kind": "interactive",
        **answers([each / 1e6 for each in found["round_trips_ns"]], found["lost"]),
    }
    return result | {"why": found["why"]} if found["why"] else result


def _call(work: CallSpec, found: Mapping[str, Any]) -> dict[str, Any]:
    def packets(way: str) -> list[Packet]:
        return [(each["sent_ns"] / 1e9, _seconds(each["delay_ns"], 0)) for each in found[way]]

    figures = call_figures(
        packets("down"),
        packets("up"),
        playout_s=work.playout_ns / 1e9,
        interval_s=work.interval_ns / 1e9,
        concealed=work.concealment,
    )
    return {"kind": "call", **figures}
