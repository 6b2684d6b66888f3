"""The charts over all runs of a folder, in the order in which a page shows them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bentpipe.charts import by_variant, heat_map, speed_up, throughput_rtt
from bentpipe.charts.description import Chart
from bentpipe.results.store import Results


@dataclass(frozen=True)
class Overview:
    """Charts of which a page shows one at a time."""

    charts: Mapping[str, Chart]
    """By what the reader chooses between; at least one."""
    choice: str = ""
    """What it is that is chosen."""
    is_finding: bool = False
    """Whether the first one's sentence is what the runs say together: a page's headline."""

    @property
    def first(self) -> Chart:
        return next(iter(self.charts.values()))


def overviews(results: Results) -> Iterator[Overview]:
    log, linear = (throughput_rtt.build(results, log=choice) for choice in (True, False))
    if log and linear:
        yield Overview({"logarithmic": log, "linear": linear}, "Scale of the axes", is_finding=True)
    for chart in (*by_variant.build(results), speed_up.build(results), heat_map.build(results)):
        if chart:
            yield Overview({"": chart})
