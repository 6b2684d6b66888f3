"""A page's objects in the order in which they were asked for: connect, wait for the first byte, receive."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from bentpipe.charts.description import Axis, Chart, Mark, Panel, Role, Series
from bentpipe.runs.asked import workload_spec
from bentpipe.runs.store import Results
from bentpipe.words.wording import duration, plural, size

_VISITS = 2
"""Of each page, the first ones: with a cache, the first fills it and the second is served by it."""
_OBJECTS = 120


def build(results: Results, record: Mapping[str, Any]) -> Chart | None:
    """None for a run without a page of objects."""
    panels = []
    for name, entry in record.get("workloads", {}).items():
        if entry.get("kind") == "http" and workload_spec(record, name).get("objects_bytes"):
            flows = results.of_run(record["run"], "flows").filter(pl.col("workload") == name)
            visits = entry.get("per_fetch") or []
            panels += [_visit(name, flows, visits, number) for number in range(min(len(visits), _VISITS))]
    drawn = tuple(panel for panel in panels if panel is not None)
    if not drawn:
        return None
    title = "A page's objects, one after another"
    return Chart(f"waterfall-{record['run']}", title, "", Axis("since the visit began", "s"), drawn)


def _visit(name: str, flows: pl.DataFrame, visits: list[Mapping[str, Any]], number: int) -> Panel | None:
    began = visits[number]["start_s"]
    until = visits[number + 1]["start_s"] if number + 1 < len(visits) else float("inf")
    asked = flows.filter((pl.col("start_s") >= began) & (pl.col("start_s") < until)).sort("start_s", "flow")
    rows = asked.head(_OBJECTS).to_dicts()
    if not rows:
        return None
    ports = list(dict.fromkeys(row["local_port"] for row in rows))
    labels = tuple(
        f"{size(row['size_bytes'] or row['bytes'])}, connection {ports.index(row['local_port']) + 1}"
        for row in rows
    )
    role = Role(rows[0]["direction"])
    connect = _Phase(rows, began, "start_s", "connected_s")
    wait = _Phase(rows, began, "connected_s", "first_byte_s")
    receive = _Phase(rows, began, "first_byte_s", "end_s")
    series = (
        Series(
            "connect",
            connect.starts,
            connect.rows,
            role,
            Mark.SPANS,
            low=connect.starts,
            high=connect.ends,
            hollow=True,
        ),
        Series("wait", wait.starts, wait.rows, role, Mark.SPANS, low=wait.starts, high=wait.ends, faint=True),
        Series(
            "receive", receive.starts, receive.rows, role, Mark.SPANS, low=receive.starts, high=receive.ends
        ),
    )
    visit = f"visit {number + 1}" if len(visits) > 1 else "the visit"
    return Panel(
        f"{name}-{number + 1}",
        f"{name}, {visit}",
        _sentence(rows, began, len(ports)),
        Axis("", "", categories=labels),
        tuple(each for each in series if each.x),
    )


class _Phase:
    """The spans from one moment of each object to another; those that did not come to it are left out."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], began: float, start: str, end: str) -> None:
        spans = [
            (number, (row["start_s"] if row[start] is None else row[start]) - began, row[end] - began)
            for number, row in enumerate(rows)
            if row[end] is not None
        ]
        self.rows = [number for number, _, _ in spans]
        self.starts = [low for _, low, _ in spans]
        """On a connection that was kept, the wait begins with the request."""
        self.ends = [high for _, _, high in spans]


def _sentence(rows: list[dict[str, Any]], began: float, connections: int) -> str:
    ends = [row["end_s"] for row in rows if row["end_s"] is not None]
    waits = [
        row["first_byte_s"] - (row["connected_s"] or row["start_s"])
        for row in rows
        if row["first_byte_s"] is not None
    ]
    text = f"{plural(len(rows), 'object')} over {plural(connections, 'connection')}"
    if ends:
        text += f", the last byte after {duration(max(ends) - began)}"
    if waits and ends:
        received = sum(
            row["end_s"] - row["first_byte_s"] for row in rows if row["end_s"] and row["first_byte_s"]
        )
        share = sum(waits) / (sum(waits) + received) if received + sum(waits) else 0.0
        text += f"; of the objects' own time {share * 100:.0f} % is waiting for a first byte"
    return f"{text}."
