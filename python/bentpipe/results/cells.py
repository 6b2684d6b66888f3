"""The runs of a sweep put together: one cell per variant, point and bulk workload, over its repeats.

Unreliable and failed runs are counted, and left out of the figures unless asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bentpipe.results.asked import base_rtt_s, direction_of
from bentpipe.results.published import Figure, figure_for
from bentpipe.results.statistics import Estimate, estimate


@dataclass(frozen=True)
class Cell:
    variant: str
    point: Mapping[str, Any]
    workload: str
    direction: str
    rtt_s: float | None
    """Base round trip of the path."""
    goodput_mbit_s: Estimate | None
    """None where no run of the cell counts."""
    doubtful_mbit_s: Estimate | None
    """Goodput of the runs left out: to be shown as such, never compared."""
    retransmits: Estimate | None
    ping_ms: Estimate | None
    """Median round trip of each run's pings."""
    published: Figure | None
    runs: tuple[Mapping[str, Any], ...]
    left_out: tuple[Mapping[str, Any], ...]

    @property
    def ratio(self) -> float | None:
        """Ours over published."""
        if self.published is None or self.goodput_mbit_s is None:
            return None
        return self.goodput_mbit_s.median / self.published.goodput_mbit_s


def counts(record: Mapping[str, Any]) -> bool:
    """Whether a run is done and reliable."""
    return record.get("status", "done") == "done" and bool(record.get("reliable", True))


def cells(records: Iterable[Mapping[str, Any]], include_unreliable: bool = False) -> list[Cell]:
    """Cells in the order in which their first runs stand."""
    grouped: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for record in records:
        for name, figures in record.get("workloads", {}).items():
            if figures.get("kind") == "bulk":
                key = (record.get("variant", "as is"), repr(sorted(record.get("point", {}).items())), name)
                grouped.setdefault(key, []).append(record)
    return [_cell(key[0], key[2], runs, include_unreliable) for key, runs in grouped.items()]


def swept_keys(records: Iterable[Mapping[str, Any]]) -> list[str]:
    """The dotted keys of the points, in the lab's order."""
    return list(dict.fromkeys(key for record in records for key in record.get("point", {})))


def _cell(variant: str, workload: str, runs: list[Mapping[str, Any]], include_unreliable: bool) -> Cell:
    used = [run for run in runs if include_unreliable or counts(run)]
    first = runs[0]
    return Cell(
        variant=variant,
        point=first.get("point", {}),
        workload=workload,
        direction=direction_of(first, workload) or "down",
        rtt_s=base_rtt_s(first),
        goodput_mbit_s=_over(used, workload, "goodput_mbit_s"),
        doubtful_mbit_s=_over([run for run in runs if run not in used], workload, "goodput_mbit_s"),
        retransmits=_over(used, workload, "retransmits"),
        ping_ms=estimate([ms for run in used for ms in _pings_ms(run)]),
        published=figure_for(first, workload),
        runs=tuple(runs),
        left_out=tuple(run for run in runs if run not in used),
    )


def _over(runs: list[Mapping[str, Any]], workload: str, figure: str) -> Estimate | None:
    values = [run["workloads"][workload].get(figure) for run in runs]
    return estimate([value for value in values if value is not None])


def _pings_ms(run: Mapping[str, Any]) -> list[float]:
    figures = run.get("workloads", {}).values()
    medians = [f.get("median_ms") for f in figures if f.get("kind") == "ping"]
    return [ms for ms in medians if ms is not None]
