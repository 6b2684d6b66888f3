"""Published figures, matched to what a run is: one file per experiment, one line here.

The figures are data (published.toml); which runs they may be compared with is code, since every experiment
says in its own way what it measured. A run is compared only where it is one that was published, by what its
record says that it was; what its variant is called does not matter.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from bentpipe.analysis.published import (
    effects_of_latency,
    high_latency_lab,
    intercontinental_tuning,
    satellite_baselines,
)
from bentpipe.analysis.published.figure import Figure

_READERS: Mapping[str, Callable[[Mapping[str, Any]], Sequence[Figure]]] = {
    "effects-of-latency": effects_of_latency.read,
    "high-latency-lab": high_latency_lab.read,
    "intercontinental-tuning": intercontinental_tuning.read,
    "satellite-baselines": satellite_baselines.read,
}

__all__ = ["Figure", "experiment", "figures", "figures_for"]


@cache
def _published() -> Mapping[str, Any]:
    return tomllib.loads((resources.files("bentpipe") / "published.toml").read_text(encoding="utf-8"))


def experiment(key: str | None) -> Mapping[str, Any] | None:
    """Title, set-up and claims as published; None for an unknown key."""
    return None if key is None else _published().get(key)


@cache
def figures(key: str) -> Sequence[Figure]:
    """Every figure of an experiment, in the order published."""
    reader, table = _READERS.get(key), experiment(key)
    return tuple(reader(table)) if reader and table else ()


def figures_for(record: Mapping[str, Any], kind: str, subject: str) -> list[Figure]:
    """The published figures for a workload (or a pipe) of a run, the one that it is compared by first."""
    found = figures(record.get("published") or "")
    return [figure for figure in found if figure.kind == kind and figure.fits(record, subject)]
