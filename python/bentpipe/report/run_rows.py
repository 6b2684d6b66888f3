"""The table of runs: a row for each, with the swept values and the figures of comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bentpipe.analysis.cells import counts, swept_keys
from bentpipe.analysis.kinds import KINDS, Measure
from bentpipe.report.columns import figure
from bentpipe.report.run_part import badge
from bentpipe.runs.store import Results
from bentpipe.words.wording import short_names, value

_FIGURES = 6
"""Columns of figures at most."""


@dataclass(frozen=True)
class Row:
    name: str
    values: tuple[str, ...]
    """By column: what was swept, then figures."""
    badge: str
    counts: bool


@dataclass(frozen=True)
class RunRows:
    headers: tuple[str, ...]
    """Of `values`; with a line feed before the unit."""
    texts: int
    """How many of them, from the left, are no figures."""
    rows: tuple[Row, ...]
    counted: str
    """Over which interval and where the figures were counted."""


def run_rows(results: Results) -> RunRows:
    runs = results.records
    keys = swept_keys(runs)
    variants = len({run.get("variant", "as is") for run in runs}) > 1
    figures = _figures(runs)
    names = short_names(keys)
    texts = (*(names[key] for key in keys), *(["variant"] if variants else []), "seed")
    subjects = len({subject for subject, _ in figures})
    return RunRows(
        (*texts, *(_header(subject, measure, subjects > 1) for subject, measure in figures)),
        len(texts),
        tuple(
            Row(run["run"], (*_swept(run, keys, variants), *_measured(run, figures)), badge(run), counts(run))
            for run in runs
        ),
        _counted(runs),
    )


def _counted(runs: Sequence[Mapping[str, Any]]) -> str:
    there = [kind for kind in KINDS if any(kind.subjects(run) for run in runs)]
    if len(there) == 1:
        return there[0].counted
    return " ".join(f"{kind.title}: {kind.counted}" for kind in there if kind.counted)


def _figures(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, Measure]]:
    """Work or pipe and measure that a run has a value of: the first of each kind, then the others."""
    subjects = {
        (kind.name, subject): kind for run in runs for kind in KINDS for subject in kind.subjects(run)
    }
    by_rank = [
        (rank, subject, measure)
        for (_, subject), kind in subjects.items()
        for rank, measure in enumerate(kind.measures)
        if any(_has(run, subject) and measure.values(run, subject) for run in runs)
    ]
    by_rank.sort(key=lambda found: found[0])
    kept = by_rank[:_FIGURES]
    order = [subject for _, subject in subjects]
    return sorted(((s, m) for _, s, m in kept), key=lambda found: order.index(found[0]))


def _header(subject: str, measure: Measure, several: bool) -> str:
    words = measure.header.replace("\n", " ")
    words = f"{subject}, {words}" if several else words
    return f"{words}\n{measure.unit}" if measure.unit else words


def _swept(run: Mapping[str, Any], keys: Sequence[str], variants: bool) -> list[str]:
    point = run.get("point", {})
    values = [value(point[key]) if key in point else "" for key in keys]
    return [*values, *([run.get("variant", "as is")] if variants else []), str(run.get("seed", 1))]


def _measured(run: Mapping[str, Any], figures: Sequence[tuple[str, Measure]]) -> list[str]:
    found = []
    for subject, measure in figures:
        values = measure.values(run, subject) if _has(run, subject) else []
        found.append(figure(median(values), measure.digits) if values else "")
    return found


def _has(run: Mapping[str, Any], subject: str) -> bool:
    return subject in run.get("workloads", {}) or subject in run.get("pipes", {})
