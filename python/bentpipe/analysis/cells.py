"""The runs of a sweep put together: one cell per variant, point and workload (or pipe), over its repeats.

Unreliable and failed runs are counted, and left out of the figures unless asked for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import median
from typing import Any

from bentpipe.analysis.kinds import KINDS, Kind, Measure
from bentpipe.analysis.published import Figure, figures_for
from bentpipe.analysis.statistics import Estimate, estimate
from bentpipe.analysis.units import per_unit
from bentpipe.lab.grid.meaning import PointMeaning, point_meaning
from bentpipe.runs.asked import base_rtt_s, direction_of
from bentpipe.words.direction import Direction

_Key = tuple[str, PointMeaning, str]
"""A variant, a point and a workload or pipe."""


@dataclass(frozen=True)
class Cell:
    variant: str
    point: Mapping[str, Any]
    workload: str
    kind: Kind
    direction: Direction
    rtt_s: float | None
    """Base round trip of the path."""
    figures: Mapping[str, Estimate]
    """By measure, over the runs that count; a measure that none of them has is not in it."""
    doubtful: Mapping[str, Estimate]
    """Of the runs left out: to be shown as such, never compared."""
    measure: Measure
    """By which the cells of this kind are compared: what was published, or else the kind's first."""
    unit: str
    """In which it is shown: as published, or else the measure's own."""
    ping_ms: Estimate | None
    """Median round trip of each run's pings."""
    published: Figure | None
    also_published: Mapping[str, Figure]
    """By measure, what else was published of the same."""
    runs: tuple[Mapping[str, Any], ...]
    left_out: tuple[Mapping[str, Any], ...]

    @property
    def ours(self) -> Estimate | None:
        """What is compared, in `unit`. None where no run of the cell counts, or none has it."""
        return self.shown(self.measure, self.unit)

    @property
    def ours_doubtful(self) -> Estimate | None:
        """The same of the runs left out."""
        return self.shown(self.measure, self.unit, doubtful=True)

    @property
    def ratio(self) -> float | None:
        """Ours over published. None too where ours has no end."""
        if self.published is None or self.ours is None or not isfinite(self.ours.median):
            return None
        return self.ours.median / self.published.median

    def shown(self, measure: Measure, unit: str, *, doubtful: bool = False) -> Estimate | None:
        """A measure of this cell's kind in a unit of its quantity."""
        found = (self.doubtful if doubtful else self.figures).get(measure.name)
        return None if found is None else found.scaled(per_unit(measure.unit, unit))


def counts(record: Mapping[str, Any]) -> bool:
    """Whether a run is done and reliable."""
    return record.get("status", "done") == "done" and bool(record.get("reliable", True))


def is_imported(record: Mapping[str, Any]) -> bool:
    """Whether another program measured it: it counts, but its measurement error is unknown."""
    return record.get("engine") == "imported"


def cells(records: Iterable[Mapping[str, Any]], include_unreliable: bool = False) -> list[Cell]:
    """Cells by kind, and in the order in which their first runs stand."""
    every = list(records)
    found = []
    for kind in KINDS:
        grouped: dict[_Key, list[Mapping[str, Any]]] = {}
        for record in every:
            for subject in kind.subjects(record):
                for part, view in kind.views(record, subject):
                    variant = ", ".join(filter(None, (record.get("variant", "as is"), part)))
                    key = (variant, point_meaning(record.get("point", {})), subject)
                    grouped.setdefault(key, []).append(view)
        published = {key: figures_for(runs[0], kind.name, key[2]) for key, runs in grouped.items()}
        first = next((every[0] for every in published.values() if every), None)
        measure = kind.measure(first.measure) if first else kind.measures[0]
        unit = first.unit if first else measure.unit
        found += [
            _cell(kind, key, runs, (measure, unit, published[key]), include_unreliable)
            for key, runs in grouped.items()
        ]
    return found


def typical_first(cell: Cell, measure: Measure) -> tuple[str, ...]:
    """The names of the cell's runs, from the one nearest to the median; those that do not count are last."""
    left_out = {run["run"] for run in cell.left_out}
    known = {run["run"]: measure.values(run, cell.workload) for run in cell.runs}
    middle = (cell.figures or cell.doubtful).get(measure.name)

    def away(name: str) -> tuple[bool, float]:
        if not known[name] or middle is None:
            return name in left_out, inf
        return name in left_out, abs(median(known[name]) - middle.median)

    return tuple(sorted(known, key=away))


def swept_keys(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """The dotted keys of the points, in the lab's order."""
    return list(dict.fromkeys(key for record in records for key in record.get("point", {})))


def _cell(
    kind: Kind,
    key: _Key,
    runs: Sequence[Mapping[str, Any]],
    compared: tuple[Measure, str, Sequence[Figure]],
    include_unreliable: bool,
) -> Cell:
    variant, _, subject = key
    measure, unit, published = compared
    used = [run for run in runs if include_unreliable or counts(run)]
    left_out = [run for run in runs if not (include_unreliable or counts(run))]
    return Cell(
        variant=variant,
        point=runs[0].get("point", {}),
        workload=subject,
        kind=kind,
        direction=direction_of(runs[0], subject) or Direction.DOWN,
        rtt_s=base_rtt_s(runs[0]),
        figures=_figures(kind, used, subject),
        doubtful=_figures(kind, left_out, subject),
        measure=measure,
        unit=unit,
        ping_ms=estimate([ms for run in used for ms in _pings_ms(run)]),
        published=next((figure for figure in published if figure.measure == measure.name), None),
        also_published={figure.measure: figure for figure in published if figure.measure != measure.name},
        runs=tuple(runs),
        left_out=tuple(left_out),
    )


def _figures(kind: Kind, runs: Sequence[Mapping[str, Any]], subject: str) -> dict[str, Estimate]:
    found = {
        measure.name: estimate([value for run in runs for value in measure.values(run, subject)])
        for measure in kind.every_measure
    }
    return {name: known for name, known in found.items() if known is not None}


def _pings_ms(run: Mapping[str, Any]) -> list[float]:
    figures = run.get("workloads", {}).values()
    medians = [f.get("median_ms") for f in figures if f.get("kind") == "ping"]
    return [ms for ms in medians if ms is not None]
