"""Times of one kind of work in one run: their number, percentiles and largest; and how long a server thought.

A percentile is given only where the values can show it: at least one of them has to lie beyond it. So p95
takes 20 values and p99 takes 100. With fewer it is null, and `max_s` says how bad the worst was.

**Transfer time** is total time without the server's thinking. As the client sees it, a request waits for a
server that thinks during the last `think` before its first byte comes (of an upload: before its answer). A
fetch's `think_s` is the time in which all of its open requests waited so. Where another of its requests was
on its way meanwhile, that time is transfer time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bentpipe import _core

PERCENTILES = (50, 95, 99)
_LISTED = 1000
"""Fetches that the record lists; the flows table has all."""


def percentile(values: Sequence[float], percent: float) -> float | None:
    """By linear interpolation. None: too few values."""
    return _core.percentile(values, percent)


def times(seconds: Sequence[float], not_finished: int = 0) -> dict[str, Any]:
    """The percentiles are of what finished; what did not is counted beside them."""
    return {
        "count": len(seconds),
        "not_finished": not_finished,
        **{f"p{percent}_s": percentile(seconds, percent) for percent in PERCENTILES},
        "max_s": max(seconds, default=None),
    }


def seconds_goodput(per_second_mbit_s: Sequence[float]) -> dict[str, Any]:
    """Of a transfer's goodput second by second. Its tail is that of the slow seconds."""
    rates = per_second_mbit_s
    return {
        "count": len(rates),
        **{f"p{percent}_mbit_s": percentile(rates, percent) for percent in (50, 5, 1)},
        "min_mbit_s": min(rates, default=None),
        "max_mbit_s": max(rates, default=None),
    }


@dataclass(frozen=True)
class Request:
    """One request of a fetch, seen from the client; on any clock, in seconds."""

    start_s: float
    answered_s: float | None
    """When the answer's first byte came. None: not known."""
    end_s: float | None
    think_s: float
    """How long the server thinks before it answers it."""


def think_s(requests: Sequence[Request]) -> float | None:
    """For how long all requests that were open waited for a server that thought. None: not known."""
    changes: list[tuple[float, int, int]] = []
    for each in requests:
        if each.end_s is None or (each.think_s and each.answered_s is None):
            return None
        changes += [(each.start_s, 1, 0), (each.end_s, -1, 0)]
        if each.think_s and each.answered_s is not None:
            changes += [(max(each.answered_s - each.think_s, each.start_s), 0, 1), (each.answered_s, 0, -1)]
    total, before_s, is_open, thinking = 0.0, 0.0, 0, 0
    for at_s, opens, thinks in sorted(changes):
        if thinking and thinking == is_open:
            total += at_s - before_s
        before_s, is_open, thinking = at_s, is_open + opens, thinking + thinks
    return total


def of_spans(spans: Iterable[tuple[float, float | None]]) -> dict[str, Any]:
    """The same of beginnings and ends; None: not finished."""
    listed = list(spans)
    took = [end_s - start_s for start_s, end_s in listed if end_s is not None]
    return times(took, len(listed) - len(took))


def of_fetches(fetches: Sequence[dict[str, Any]], start_s: float, duration_s: float) -> dict[str, Any]:
    """What an entry of fetches says of their times. `fetches` is its `per_fetch` with all of them."""
    total = [each["total_s"] for each in fetches if each["total_s"] is not None]
    transfer = [each["transfer_s"] for each in fetches if each["transfer_s"] is not None]
    known = len(transfer) == len(total)
    return {
        "fetches": len(fetches),
        "finished": len(total),
        "median_fetch_s": float(median(total)) if total else None,
        "fetch_times": times(total, len(fetches) - len(total)),
        "transfer_times": times(transfer, len(fetches) - len(total)) if known else None,
        "think_s": sum(each["think_s"] for each in fetches if each["transfer_s"] is not None)
        if known
        else None,
        "pause_s": _pause_s(fetches, start_s, duration_s),
        "per_fetch": fetches[:_LISTED],
    }


def _pause_s(fetches: Sequence[dict[str, Any]], start_s: float, duration_s: float) -> float | None:
    """For how much of the duration no fetch was under way. None: when one ended is not known."""
    took = [each["total_s"] for each in fetches]
    if took and took[-1] is None:  # the run's end cut it off
        took[-1] = start_s + duration_s - fetches[-1]["start_s"]
    return max(0.0, duration_s - sum(took)) if took and None not in took else None
