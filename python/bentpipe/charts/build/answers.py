"""The table `pings` of a run as points over time: pings, and the messages of `interactive`."""

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

import polars as pl

from bentpipe.analysis.kinds.interactive import INTERACTIVE
from bentpipe.charts.description import Mark, Role, Series, Symbol
from bentpipe.runs.called import called
from bentpipe.runs.figures.times import percentile
from bentpipe.words.wording import duration


def drawn(record: Mapping[str, Any], table: pl.DataFrame) -> Iterator[tuple[Series, str]]:
    """Each with a sentence on it. All pings are one series; each workload `interactive` has its own."""
    messages = list(INTERACTIVE.subjects(record))
    pings = table.filter(~pl.col("workload").is_in(messages).fill_null(False))
    if (answered := pings.drop_nulls("rtt_s")).height:
        points, delays_ms = _points("ping", answered, Role.PING)
        lost = pings.height - answered.height
        yield (
            points,
            f"The pings' median is {duration(median(delays_ms) / 1e3)}; "
            f"of {pings.height}, {lost or 'none'} got lost.",
        )
    for name in messages:
        own = table.filter(pl.col("workload") == name)
        if (answered := own.drop_nulls("rtt_s")).height:
            points, delays_ms = _points(called(record, name), answered, Role.KEYSTROKE)
            missing = own.height - answered.height
            slow_ms = percentile(delays_ms, 99)
            p99 = "" if slow_ms is None else f", p99 {duration(slow_ms / 1e3)}"
            yield (
                points,
                f"Of {own.height} messages of {called(record, name)}, {missing or 'none'} had no answer; the "
                f"median delay is {duration(median(delays_ms) / 1e3)}{p99}.",
            )


def _points(label: str, answered: pl.DataFrame, role: Role) -> tuple[Series, list[float]]:
    delays_ms: list[float] = (answered["rtt_s"] * 1000).to_list()
    symbol = Symbol.DIAMOND if role is Role.KEYSTROKE else Symbol.CIRCLE
    return Series(label, answered["time_s"].to_list(), delays_ms, role, Mark.POINTS, symbol=symbol), delays_ms
