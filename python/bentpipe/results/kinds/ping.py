"""Pings, where they are all that a run has; else their median stands beside the work that they went with."""

from bentpipe.results.kinds.measure import Kind, Measure, Record, entry, workloads_of

_pings = workloads_of("ping")


def _alone(record: Record) -> list[str]:
    found = _pings(record)
    return found if len(found) == len(record.get("workloads", {})) else []


PING = Kind(
    "ping",
    "Pings",
    (
        Measure("median", "median", "ms", entry("median_ms"), more_is_better=False, digits=4),
        Measure("min", "min", "ms", entry("min_ms"), more_is_better=False, digits=4),
        Measure("max", "max", "ms", entry("max_ms"), more_is_better=False, digits=4),
        Measure("sent", "sent", "", entry("sent")),
        Measure("lost", "lost", "", entry("lost"), more_is_better=False),
    ),
    _alone,
)
