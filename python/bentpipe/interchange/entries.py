"""A workload's entry in a record, read from a file: known keys with checked types. Others are ignored."""

from collections.abc import Callable, Mapping
from typing import Any

from bentpipe.interchange.foreign import Found
from bentpipe.words.direction import Direction

_Take = Callable[[Found], Any]


def _numbers(of: Found) -> list[float]:
    return [number for each in of.elements() if (number := each.number()) is not None]


def _direction(of: Found) -> str | None:
    if of.value is not None and Direction.parse(of.value) is None:
        raise of.fault("expected down or up")
    return of.text()


def _all(keys: str, take: _Take) -> dict[str, _Take]:
    return dict.fromkeys(keys.split(), take)


def _object(keys: Mapping[str, _Take]) -> _Take:
    return lambda of: {key: take(of[key]) for key, take in keys.items()}


def _if_any(take: _Take) -> _Take:
    return lambda of: None if of.value is None else take(of)


_CARRIED = {
    **_all("direction", _direction),
    **_all("goodput_mbit_s duration_s completion_s", Found.positive),
    **_all("bytes retransmits", Found.count),
}
_FETCH = _object(
    {
        "start_s": lambda of: of.since(0.0, "0"),
        **_all("connect_s first_byte_s total_s think_s transfer_s", Found.positive),
        **_all("bytes retransmits", Found.count),
        "cache": Found.text,
    }
)
_CACHE = _object(_all("hits misses", Found.count))
_TIMES = {
    **_all("count not_finished", Found.count),
    **_all("p50_s p95_s p99_s max_s", Found.positive),
}
_SECONDS = {
    "count": Found.count,
    **_all("p50_mbit_s p5_mbit_s p1_mbit_s min_mbit_s max_mbit_s", Found.positive),
}
_SMALL_FLOWS = _object({"up_to_bytes": Found.count, **_TIMES})
_SIZES = _object({**_all("at_least_bytes below_bytes", Found.count), **_TIMES})
_CALL_WAY = {
    **_all("sent lost", Found.count),
    **_all("loss late_loss jitter_ms delay_ms delay_p99_ms r mos", Found.positive),
}
_KINDS: Mapping[str, Mapping[str, _Take]] = {
    "bulk": {
        **_CARRIED,
        "streams": Found.count,
        "per_second": _if_any(_object(_SECONDS)),
        "per_second_mbit_s": _numbers,
    },
    "ping": {
        **_all("sent lost", Found.count),
        **_all("min_ms median_ms p95_ms p99_ms max_ms mean_ms", Found.positive),
    },
    "interactive": {
        **_all("sent unanswered", Found.count),
        **_all("min_ms p50_ms p95_ms p99_ms max_ms mean_ms", Found.positive),
    },
    "call": {"mos": Found.positive, **_all("down up", _if_any(_object(_CALL_WAY)))},
    "http": {
        **_CARRIED,
        **_all("connections fetches finished", Found.count),
        "median_fetch_s": Found.positive,
        "cache": _if_any(_CACHE),
        **_all("fetch_times transfer_times object_times", _if_any(_object(_TIMES))),
        **_all("think_s pause_s", Found.positive),
        "per_fetch": lambda of: [_FETCH(each) for each in of.elements()],
    },
    "channels": {
        **{key: take for key, take in _CARRIED.items() if key != "direction"},
        **_all("channels flows finished failed", Found.count),
        "flow_times": _if_any(_object(_TIMES)),
        "pause_s": Found.positive,
        "small_flows": _if_any(_SMALL_FLOWS),
        "fct_by_size": lambda of: [_SIZES(each) for each in of.elements()],
    },
    "exec": {"duration_s": Found.positive, "status": Found.number},
}


def entry(of: Found) -> dict[str, Any]:
    """Raises ForeignFileError, with the place of what is wrong."""
    kind = of["kind"].text() or ""
    if kind not in _KINDS:
        raise of["kind"].fault(f"expected {', '.join(_KINDS)}")
    found = {"kind": kind, **{key: take(of[key]) for key, take in _KINDS[kind].items()}}
    return found | ({"why": of["why"].text()} if "why" in of else {})
