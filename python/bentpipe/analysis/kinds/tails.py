"""The slow tail of a kind's times: percentiles that are compared besides the median."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from bentpipe.analysis.kinds.measure import Measure, Record

Times = Callable[[Record, str], Mapping[str, Any]]
"""A run's percentiles of one subject (runs/figures/times.py); empty: none."""


def tail(words: str, header: str, times: Times, key: str, percent: int) -> Measure:
    """A percentile in seconds; infinite where so many were not finished that it is one of theirs."""

    def values(record: Record, subject: str) -> list[float]:
        found = times(record, subject)
        took_s, late = found.get(f"p{percent}_s"), found.get("not_finished") or 0
        if late * 100 > (100 - percent) * ((found.get("count") or 0) + late):
            return [math.inf]
        return [] if took_s is None else [float(took_s)]

    return Measure(
        f"{words} p{percent}",
        f"{header}p{percent}",
        "s",
        values,
        more_is_better=False,
        key=f"{key}.p{percent}_s",
        tail=percent > 50,
    )
