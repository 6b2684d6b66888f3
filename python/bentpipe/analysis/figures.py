"""Every figure of a run by its dotted name: `workload.download.goodput_mbit_s`, `pipe.down.drops.tail`.

The record's own under its own keys, and besides them what is reckoned of each kind of work (kinds): costs as
`workload.download.queue_delay_ms`. A null is a figure that the run does not have; one that would take
longer than the run, as a transfer cut off, is infinite.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from bentpipe.analysis.kinds import KINDS, Kind, Measure, Record

_UNITS = {
    "mbit_s": "Mbit/s",
    "percent": "%",
    "bytes": "bytes",
    "kb": "kB",
    "ms": "ms",
    "us": "µs",
    "ns": "ns",
    "s": "s",
}
_STATISTIC = re.compile(r"_(mean|min|max|median|p\d+)$")
_MORE = re.compile(
    r"(goodput|throughput|mos|rival_share|delivered|cpu_headroom|mbit_s)|^(bytes|finished|hits|flows|fetches|sent)$"
)
_LESS = re.compile(
    r"(retransmits|drops|lost|loss|failed|misses|queue|delay|again|lateness|error|not_finished|unanswered|_share)|_(s|ms|us)$"
)


def figures(record: Record) -> dict[str, float | None]:
    """By dotted name, in the order of the record."""
    found: dict[str, float | None] = {}
    for part, key in (
        ("workload", "workloads"),
        ("pipe", "pipes"),
        ("queue", "queue"),
        ("engine_error", "engine_error"),
    ):
        found.update(_scalars(part, record.get(key) or {}))
    found["wall_s"] = record.get("wall_s")
    for kind in KINDS:
        for subject in kind.subjects(record):
            for measure in kind.every_measure:
                name, value = dotted(kind, subject, measure), figure_of(measure, record, subject)
                if value is not None and (name not in found or math.isinf(value)):
                    found[name] = value
    return found


def dotted(kind: Kind, subject: str, measure: Measure) -> str:
    """The name of a kind's measure of one subject, a workload or a pipe."""
    return f"{'pipe' if kind.name == 'pipe' else 'workload'}.{subject}.{measure.key}"


def figure_of(measure: Measure, record: Record, subject: str) -> float | None:
    """A run's one figure, of fetches the median: those that were not done took longest. None: not known."""
    values: Sequence[float] = measure.values(record, subject)
    if measure.each == "fetch":
        listed = record["workloads"].get(subject, {}).get("per_fetch") or []
        values = [*values, *(math.inf for fetch in listed if fetch.get("total_s") is None)]
    return median(values) if values else None


def unit(name: str) -> str:
    """Of a dotted name, by its end; empty where it is a number of things."""
    last = _STATISTIC.sub("", name.rpartition(".")[2])
    return next((words for end, words in _UNITS.items() if last == end or last.endswith(f"_{end}")), "")


def more_is_better(name: str) -> bool | None:
    """Of a dotted name; None where neither is."""
    words = name.partition(".")[2] or name
    last = name.rpartition(".")[2]
    if _MORE.search(last):
        return True
    return False if _LESS.search(last) or ".drops." in words else None


def _scalars(prefix: str, of: Mapping[str, Any]) -> Iterator[tuple[str, float | None]]:
    for key, value in of.items():
        if isinstance(value, Mapping):
            yield from _scalars(f"{prefix}.{key}", value)
        elif value is None:
            yield f"{prefix}.{key}", None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}.{key}", float(value)
