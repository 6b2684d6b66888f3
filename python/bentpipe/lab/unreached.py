"""Events of the path that come only after the run's end: handovers, outages, rate steps.

How a run with `until = "done"` ends is known only where its work ends at a time, or its duration bounds it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from bentpipe.lab.point import CellRuns
from bentpipe.lab.spec import InteractiveSpec, RunSpec
from bentpipe.lab.units import format_time

_KEYS = {
    "handover": ("handover", "first handover"),
    "outages": ("outages", "first outage"),
    "steps": ("rate.steps", "first change of rate"),
}


def warning(cells: Sequence[CellRuns]) -> str | None:
    """A sentence on all that no run of some cells will meet. None: there is nothing of the kind."""
    counts: dict[str, int] = {}
    for cell in cells:
        for words in unreached(cell.first.spec):
            counts[words] = counts.get(words, 0) + 1
    if not counts:
        return None
    found = [f"{words}{_where(count, len(cells))}" for words, count in counts.items()]
    return f"{'; '.join(found)}. Nothing of it happens; a longer duration would reach it"


def unreached(spec: RunSpec) -> list[str]:
    """A clause for each: its key, its time and the run's end."""
    end_ns = _end_ns(spec)
    if end_ns is None:
        return []
    down, up = _first(spec.path.down), _first(spec.path.up)
    found = []
    for kind, (key, words) in _KEYS.items():
        pipes = (
            {"": down.get(kind)}
            if down.get(kind) == up.get(kind)
            else {"down.": down.get(kind), "up.": up.get(kind)}
        )
        found += [
            f"path.{pipe}{key}: the {words} is at {format_time(at_ns)}, the run ends at {format_time(end_ns)}"
            for pipe, at_ns in pipes.items()
            if at_ns is not None and at_ns >= end_ns
        ]
    return found


def _first(pipe: dict[str, Any]) -> dict[str, int]:
    """When each kind of event begins for the first time, in nanoseconds; of steps, when the rate changes."""
    found: dict[str, int] = {}
    if handover := pipe["propagation"].get("handover"):
        found["handover"] = handover["every_ns"]
    if outages := pipe["channel"].get("outages"):
        found["outages"] = outages[0]["start_ns"]
    if pipe["shaper"]["kind"] == "steps" and len(pipe["shaper"]["steps"]) > 1:
        found["steps"] = pipe["shaper"]["steps"][1]["at_ns"]
    return found


def _end_ns(spec: RunSpec) -> int | None:
    """When the run ends at the latest. None: not known before."""
    ends = [spec.duration_ns] if spec.duration_ns is not None else []
    if spec.until == "done":
        of_work = list(_ends_of_work(spec))
        if None not in of_work:
            ends.append(max((end for end in of_work if end is not None), default=0))
    return min(ends, default=None)


def _ends_of_work(spec: RunSpec) -> Iterator[int | None]:
    """Of each workload, when the last of it is begun. None: not known."""
    for work in spec.workloads:
        if work.kind == "bulk" and work.time_ns is not None:
            yield work.start_ns + work.omit_ns + work.time_ns
        elif work.kind == "ping":
            yield work.start_ns + work.count * work.interval_ns
        elif work.kind == "interactive" and (lasts_ns := _writing_ns(work)) is not None:
            yield work.start_ns + lasts_ns
        elif work.kind == "call" and work.time_ns is not None:
            yield work.start_ns + work.time_ns
        else:
            yield None


def _writing_ns(work: InteractiveSpec) -> int | None:
    """For how long messages are written. None: by chance, or to the run's end."""
    if work.count is None:
        return work.time_ns
    return work.count * work.interval_ns if work.gaps == "fixed" else None


def _where(count: int, cells: int) -> str:
    return f" (in {count} of {cells} points)" if count < cells else ""
