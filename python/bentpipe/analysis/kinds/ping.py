"""Pings, where they are all that a run has; else their median stands beside the work that they went with.

`bentpipe compare` also speaks of pings beside other work if they are enough for a percentile.
"""

from bentpipe.analysis.kinds.measure import Kind, Measure, Record, entry, workloads_of
from bentpipe.runs.asked import workload_spec

_pings = workloads_of("ping")


def _alone(record: Record) -> list[str]:
    found = _pings(record)
    return found if len(found) == len(record.get("workloads", {})) else []


def _enough(record: Record) -> list[str]:
    """Pings beside other work that are so many that they have a tail."""
    return [
        name
        for name in _pings(record)
        if record["workloads"][name].get("p95_ms") is not None
        and (workload_spec(record, name).get("start_ns") or 0) >= 0
    ]


def _tail(percent: int) -> Measure:
    key = f"p{percent}_ms"
    return Measure(
        f"p{percent}", f"p{percent}", "ms", entry(key), more_is_better=False, digits=4, tail=True, key=key
    )


PING = Kind(
    "ping",
    "Pings",
    (
        Measure(
            "median", "median", "ms", entry("median_ms"), more_is_better=False, digits=4, key="median_ms"
        ),
        _tail(95),
        Measure("min", "min", "ms", entry("min_ms"), more_is_better=False, digits=4, key="min_ms"),
        Measure("max", "max", "ms", entry("max_ms"), more_is_better=False, digits=4, key="max_ms"),
        Measure("sent", "sent", "", entry("sent"), key="sent"),
        Measure("lost", "lost", "", entry("lost"), more_is_better=False, key="lost"),
    ),
    _alone,
    (_tail(99),),
    also_compared=_enough,
)
