"""Settings of a lab that a split does not pass on."""

from __future__ import annotations

from collections.abc import Sequence

from bentpipe.lab.point import CellRuns


def warning(cells: Sequence[CellRuns]) -> str | None:
    """A sentence on congestion controls of workloads, which end at the proxy beside the sender. None: there
    are none."""
    names = dict.fromkeys(
        f"workload.{work.name}.congestion_control"
        for cell in cells
        if cell.first.spec.split is not None
        for work in cell.first.spec.workloads
        if work.kind == "bulk" and work.congestion_control is not None
    )
    if not names:
        return None
    holds = "holds" if len(names) == 1 else "hold"
    return (
        f"{', '.join(names)}: {holds} only between the sender and the proxy beside it; across the path it is "
        "that of split.path"
    )
