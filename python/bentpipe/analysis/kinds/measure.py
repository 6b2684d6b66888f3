"""A figure that a kind of work has in every run, and the kind that has several."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]
"""A run's record (run.json)."""


@dataclass(frozen=True)
class Measure:
    """One figure.

    `values` gives what a run holds of it for one subject (a workload's name): one value, one per fetch, or
    none where it is not known.
    """

    name: str
    header: str
    """Of its column in a table; a line feed where it may be broken."""
    unit: str
    values: Callable[[Record, str], Sequence[float]]
    more_is_better: bool = True
    each: str = "run"
    """What has one value: a run, a fetch."""
    digits: int = 3
    """How many of them are worth showing."""
    tail: bool = False
    """Whether it is a percentile of the slowest: compared by its ratio, together with its kind's others."""
    key: str = ""
    """The last part of its dotted name (`workload.download.goodput_mbit_s`), in the record if it is there."""


@dataclass(frozen=True)
class Kind:
    """What a report says of a kind of work. The first measure is the one by which runs are compared."""

    name: str
    title: str
    measures: tuple[Measure, ...]
    subjects: Callable[[Record], Sequence[str]]
    """Of a run, what has cells of this kind: names of workloads, or of pipes."""
    if_published: tuple[Measure, ...] = ()
    """Measures that a table shows only if a published figure is one of them."""
    costs: tuple[Measure, ...] = ()
    """Costs for others, which a table shows if it compares variants."""
    views: Callable[[Record, str], Sequence[tuple[str, Record]]] = lambda record, _subject: [("", record)]
    """A run as one or several, each with what its variant is to be called beyond its name."""
    counted: str = ""
    """Over which interval and where its figures are counted: a legend of the columns' heads."""
    also_compared: Callable[[Record], Sequence[str]] = lambda _record: ()
    """Subjects that `bentpipe compare` includes although reports have no cells for them."""

    @property
    def every_measure(self) -> tuple[Measure, ...]:
        return (*self.measures, *self.if_published, *self.costs)

    def measure(self, name: str) -> Measure:
        """Raises LookupError where the kind has none of that name."""
        for measure in self.every_measure:
            if measure.name == name:
                return measure
        raise LookupError(f"{self.name} has no measure {name!r}")


def workloads_of(kind: str) -> Callable[[Record], list[str]]:
    """The names of a run's workloads of that kind."""
    return lambda record: [
        name for name, figures in record.get("workloads", {}).items() if figures.get("kind") == kind
    ]


def entry(key: str) -> Callable[[Record, str], list[float]]:
    """The figure under `key` of the workload's entry in the record."""

    def values(record: Record, workload: str) -> list[float]:
        value = record["workloads"].get(workload, {}).get(key)
        return [] if value is None else [float(value)]

    return values


GOODPUT = Measure("goodput", "goodput", "Mbit/s", entry("goodput_mbit_s"), key="goodput_mbit_s")
RETRANSMITS = Measure(
    "retransmits", "retr.", "segm.", entry("retransmits"), more_is_better=False, key="retransmits"
)
