"""How many flows of a sweep were done after how long (their empirical distribution), of all seeds together: a
line for each value of one axis, small panels for whatever else varies.

Shares are of the flows that were begun. What had not ended when its run did is among them, so a line may end
below 100 %. Small flows are those that fit in an initial window (runs/figures/flow_times.py says why).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from bentpipe.analysis.cells import counts
from bentpipe.analysis.swept import coordinates, swept_axes
from bentpipe.charts.build.sweep_layout import Layout, laid_out, panel_words
from bentpipe.charts.description import Axis, Chart, Mark, Panel, Series
from bentpipe.charts.ranges import apart, log_ticks
from bentpipe.runs.asked import workload_spec
from bentpipe.runs.store import Results
from bentpipe.words.digits import digits
from bentpipe.words.wording import duration, percent, plural, size, slug

_FEWEST = 20
"""Finished flows that make a distribution worth drawing."""
_SHARES = (0.005, *(percent / 100 for percent in range(2, 100, 2)), 0.99, 0.995, 0.999)
"""Of the flows that were done: where a line has its points."""


@dataclass(frozen=True)
class _Times:
    """Of the flows of one line."""

    begun: int
    done: int
    took_s: tuple[float, ...]
    """By `_SHARES`, of those that were done."""
    runs: tuple[str, ...]


def build(results: Results) -> dict[str, Chart]:
    """By the flows that they show; empty where no work had enough of them, or nothing varies."""
    found: dict[str, Chart] = {}
    every = [run for run in results.records if counts(run)]
    for workload, small_bytes in _workloads(every).items():
        runs = [run for run in every if workload in run.get("workloads", {})]
        axes = swept_axes(_at(run) for run in runs)
        if not axes:
            continue
        layout = laid_out(None, axes, workload)
        members = _members(runs, layout, [axis.key for axis in axes])
        classes: dict[str, pl.Expr] = {f"{workload}, all flows": pl.lit(True)}
        if small_bytes:
            is_small = pl.col("size_bytes") <= small_bytes
            classes |= {f"{workload}, small flows, up to {size(small_bytes)}": is_small}
            classes |= {f"{workload}, longer flows": ~is_small}
        for words, chosen in classes.items():
            times = _times(results, workload, members, chosen)
            if any(each.done >= _FEWEST for each in times.values()):
                found[words] = _chart(words, layout, times)
    return found


def _members(
    runs: Sequence[Mapping[str, Any]], layout: Layout, keys: Sequence[str]
) -> dict[tuple[int, int], list[str]]:
    """The runs of each line, by the numbers of its panel and of the line."""
    lines = {
        tuple({**panel, **line.at}.get(key) for key in keys): (at, n)
        for at, panel in enumerate(layout.panels)
        for n, line in enumerate(layout.lines)
    }
    found: dict[tuple[int, int], list[str]] = {}
    for run in runs:
        here = lines.get(tuple(_at(run).get(key) for key in keys))
        if here:
            found.setdefault(here, []).append(run["run"])
    return found


def _at(run: Mapping[str, Any]) -> dict[str, Any]:
    return coordinates(run.get("point", {}), run.get("variant", "as is"))


def _workloads(runs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Of those that have many flows, the largest size of a small one, where the record says it."""
    return {
        name: (entry.get("small_flows") or {}).get("up_to_bytes")
        for run in runs
        for name, entry in run.get("workloads", {}).items()
        if entry.get("kind") == "channels" or (entry.get("kind") == "http" and _of_many(run, name))
    }


def _of_many(run: Mapping[str, Any], workload: str) -> bool:
    """Whether what is fetched is many things, not one file or its ranges."""
    spec = workload_spec(run, workload)
    many = len(spec.get("objects_bytes") or ()) > 1 or bool(spec.get("popularity"))
    return many or (spec.get("fetches") or 1) >= _FEWEST


def _flows(
    flows: pl.LazyFrame, workload: str, members: Mapping[tuple[int, int], Sequence[str]]
) -> pl.LazyFrame:
    """Size and time of each flow, null where it did not end, and in which line it is. A time that no engine
    writes (none or less, or no number) is null too: the axis is logarithmic."""
    places = pl.LazyFrame(
        [
            {"run": run, "panel": panel, "line": line}
            for (panel, line), runs in members.items()
            for run in runs
        ],
        schema={"run": pl.String, "panel": pl.Int64, "line": pl.Int64},
    )
    from_start_s = pl.col("end_s") - pl.col("start_s")
    is_done = (pl.col("outcome") == "finished") & from_start_s.is_finite() & (from_start_s > 0)
    took_s = pl.when(is_done).then(from_start_s)
    return (
        flows.filter(pl.col("workload") == workload)
        .select("run", pl.coalesce("size_bytes", "bytes").alias("size_bytes"), took_s.alias("took_s"))
        .join(places, on="run")
    )


def _times(
    results: Results, workload: str, members: Mapping[tuple[int, int], Sequence[str]], chosen: pl.Expr
) -> dict[tuple[int, int], _Times]:
    """Of the flows that are chosen, by panel and line."""
    quantiles = [pl.col("took_s").quantile(share, "nearest").alias(f"at_{share}") for share in _SHARES]

    def asked(flows: pl.LazyFrame) -> pl.LazyFrame:
        return (
            _flows(flows, workload, members)
            .filter(chosen)
            .group_by("panel", "line")
            .agg(pl.len().alias("begun"), pl.col("took_s").count().alias("done"), *quantiles)
            .sort("panel", "line")
        )

    return {
        (panel, line): _Times(begun, done, tuple(took_s), tuple(members[panel, line]))
        for panel, line, begun, done, *took_s in results.collect("flows", asked).iter_rows()
    }


def _chart(words: str, layout: Layout, times: Mapping[tuple[int, int], _Times]) -> Chart:
    enough = {where for where, each in times.items() if each.done >= _FEWEST}
    panels = [at for at in range(len(layout.panels)) if any(at == panel for panel, _ in enough)]
    y = Axis("done", "% of flows")
    return Chart(
        name=slug(f"completion-shares-{words}"),
        title=f"How long flows took: {words}",
        sentence=" ".join(filter(None, (_sentence(times), layout.left_out))),
        x=_x_axis(times),
        panels=tuple(
            Panel(
                slug(panel_words(layout.panels[at]) or "flows"),
                panel_words(layout.panels[at]),
                "",
                y,
                tuple(
                    Series(
                        line.label,
                        times[at, n].took_s,
                        [100 * share * times[at, n].done / times[at, n].begun for share in _SHARES],
                        line.role,
                        Mark.LINE,
                        dash=line.dash,
                        words=_words(times[at, n]),
                        runs=[times[at, n].runs] * len(_SHARES),
                    )
                    for n, line in enumerate(layout.lines)
                    if (at, n) in enough
                ),
            )
            for at in panels
        ),
        side_by_side=True,
    )


def _x_axis(times: Mapping[tuple[int, int], _Times]) -> Axis:
    took_s = [s for each in times.values() if each.done >= _FEWEST for s in each.took_s]
    axis = Axis("time", "s", log=True)
    ticks = log_ticks((min(took_s), max(took_s)), axis)
    shown = tuple(ticks[at] for at in apart(axis, ticks, 0.15)) if len(ticks) > 1 else tuple(ticks)
    return replace(axis, ticks=shown, tick_words=tuple(map(digits, shown)))


def _words(times: _Times) -> list[str]:
    shares = [percent(share * times.done / times.begun) for share in _SHARES]
    return [f"{share} within {duration(s)}" for share, s in zip(shares, times.took_s, strict=True)]


def _sentence(times: Mapping[tuple[int, int], _Times]) -> str:
    begun, done = (sum(getattr(each, name) for each in times.values()) for name in ("begun", "done"))
    left = begun - done
    return (
        f"The share of flows that were done within a time, of {plural(begun, 'flow')} of all seeds together. "
        + (
            f"{digits(left, 12)} had not ended when their run did, and count as begun."
            if left
            else "All of them ended."
        )
    )
