"""The charts over all runs of a folder, in the order in which a page shows them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bentpipe.analysis.kinds.measure import GOODPUT
from bentpipe.charts.build import by_variant, completion_shares, heat_map, lines, speed_up, throughput_rtt
from bentpipe.charts.description import Chart
from bentpipe.runs.store import Results

_ROUND_TRIP = (".rtt", ".delay")
"""Ends of the keys over which goodput has a chart of its own."""


@dataclass(frozen=True)
class Overview:
    """Charts that a page shows one at a time."""

    charts: Mapping[str, Chart]
    """By what the reader chooses between; at least one."""
    choice: str = ""
    """What it is that is chosen."""
    title: str = ""
    """Where it is not the first one's."""
    finding: str = ""
    """What the runs say together: a page's headline."""

    @property
    def first(self) -> Chart:
        return next(iter(self.charts.values()))


def overviews(results: Results) -> Iterator[Overview]:
    log, linear = (throughput_rtt.build(results, log=choice) for choice in (True, False))
    if log and linear:
        yield Overview({"logarithmic": log, "linear": linear}, "Scale of the axes", finding=log.sentence)
    for over in lines.build(results):
        shown = {
            title: chart
            for title, chart in over.charts.items()
            if not (log and over.key.endswith(_ROUND_TRIP) and chart.panels[0].y.label == GOODPUT.header)
        }
        if shown:
            yield Overview(shown, "Figure", f"Over {over.name}", over.finding)
    for chart in (*by_variant.build(results), speed_up.build(results)):
        if chart:
            yield Overview({"": chart})
    if maps := heat_map.build(results):
        first = next(iter(maps.values()))
        yield Overview(maps, "Figure", f"Heat map over {first.title.partition(' over ')[2]}")
    if shares := completion_shares.build(results):
        yield Overview(shares, "Flows", "How long flows took")
