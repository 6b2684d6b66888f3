"""What a lab is, in a few lines: its path, its work and how many runs it has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bentpipe.lab.models.lab import AS_IS
from bentpipe.lab.spec import PathSpec, RunSpec, WorkloadSpec
from bentpipe.lab.units import format_rate, format_size, format_time
from bentpipe.words.printable import printable
from bentpipe.words.written import written

_NAMED = 6


def facts(
    spec: RunSpec, points: Sequence[Mapping[str, Any]], variants: Sequence[str], repeat: int
) -> list[tuple[str, str]]:
    """Lines of a name and words. `spec` is the first point's, `points` has the swept values of each cell."""
    lines = [("path", _path(spec.path)), ("workloads", "; ".join(map(_work, spec.workloads)))]
    swept = dict.fromkeys(key for point in points for key in point)
    for key in swept:
        values = dict.fromkeys(written(point[key]) for point in points if key in point)
        lines.append(("sweep", f"{key} = {_some(values)}"))
    if tuple(variants) != (AS_IS,):
        lines.append(("variants", _some(variants)))
    each = f", {repeat} runs each" if repeat > 1 else ""
    lines.append(("points", f"{len(points)}{each}"))
    return [(name, printable(words)) for name, words in lines]


def _path(path: PathSpec) -> str:
    """Of the first point."""
    down, up = (
        "unlimited" if rate is None else format_rate(rate)
        for rate in (path.rate_down_bit_s, path.rate_up_bit_s)
    )
    rate = f"rate {down}" if down == up else f"rate {down} down, {up} up"
    return f"base round trip {format_time(path.base_rtt_ns)}, {rate}{_queues(path)}, MTU {path.mtu} B"


def _queues(path: PathSpec) -> str:
    """Nothing where both are unlimited."""
    down, up = _queue(path.down["queue"]), _queue(path.up["queue"])
    if down == up:
        return f", queue {down}" if path.down["queue"]["limit"]["unit"] != "unlimited" else ""
    return f", queue {down} down, {up} up"


def _queue(queue: Mapping[str, Any]) -> str:
    """As one would write it: the limit, and the discipline where it is not `fifo`."""
    limit = queue["limit"]
    match limit["unit"]:
        case "bytes":
            size = format_size(limit["bytes"])
        case "packets":
            size = f"{limit['packets']} packets"
        case "delay":
            size = format_time(limit["delay_ns"])
        case "bdp":
            size = f"{limit['multiple']:g} bdp"
        case _:
            size = "unlimited"
    discipline = queue["discipline"]["name"].replace("head_drop", "head-drop")
    return size if discipline == "fifo" else f"{size} ({discipline})"


def _work(work: WorkloadSpec) -> str:
    words: list[str] = [] if work.name == work.kind else [work.kind]
    direction = getattr(work, "direction", None)
    if direction is not None:
        words.append(str(direction.value))
    size_bytes = getattr(work, "size_bytes", None)
    if size_bytes is not None and work.kind not in ("ping", "interactive", "call"):
        words.append(format_size(size_bytes))
    time_ns = getattr(work, "time_ns", None)
    if time_ns is not None:
        words.append(format_time(time_ns))
    return f"{work.name} ({', '.join(words)})" if words else work.name


def _some(values: Iterable[str]) -> str:
    every = list(values)
    more = f" and {len(every) - _NAMED} more" if len(every) > _NAMED else ""
    return f"{', '.join(every[:_NAMED])}{more}"
