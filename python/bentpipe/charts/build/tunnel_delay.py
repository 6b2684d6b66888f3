"""The delay that a tunnel's decoder adds to packets, second by second."""

from collections.abc import Mapping
from typing import Any

from bentpipe.charts.description import Axis, Dash, Level, Mark, Panel, Role, Series
from bentpipe.words.direction import Direction
from bentpipe.words.wording import duration


def panel(record: Mapping[str, Any]) -> Panel | None:
    """None for a run without a tunnel, and where no packet waited in one."""
    series, parts = [], []
    for direction in Direction:
        figures = (record.get("tunnel") or {}).get(direction) or {}
        found = figures.get("per_second") or {}
        start_s, mean_s, max_s = (
            found.get(key) or [] for key in ("start_s", "added_delay_s_mean", "added_delay_s_max")
        )
        if not len(start_s) == len(mean_s) == len(max_s) or not max(max_s, default=0):
            continue
        for label, values_s, dash, faint in (
            ("mean", mean_s, Dash.SOLID, False),
            ("longest", max_s, Dash.DOTTED, True),
        ):
            y = [value_s * 1e3 for value_s in values_s]
            series.append(
                Series(f"{label} {direction}", start_s, y, Role(direction), Mark.STEPS, dash, faint=faint)
            )
        longest_s = max(max_s)
        at_s = start_s[max_s.index(longest_s)]
        mean = figures.get("added_delay_s_mean")
        whole = "" if mean is None else f" {duration(mean)} in the mean of all packets, and"
        parts.append(
            f"Waiting for lost packets added{whole} at most {duration(longest_s)} {direction}, in the second "
            f"from {duration(at_s)}."
        )
    if not series:
        return None
    levels = _hold(record)
    if levels and any((value or 0) > levels[0].value for each in series for value in each.y):
        parts.append("A packet that comes later than the hold leaves at once, out of order.")
    return Panel(
        "tunnel-delay",
        "Delay that the tunnel's decoder adds, per second",
        " ".join(parts),
        Axis("added delay", "ms"),
        tuple(series),
        levels,
    )


def _hold(record: Mapping[str, Any]) -> tuple[Level, ...]:
    spec = record.get("spec", {}).get("tunnel")
    hold_ns = spec.get("hold_ns") if isinstance(spec, Mapping) else None
    if not isinstance(hold_ns, int | float) or hold_ns <= 0:
        return ()
    return (Level(hold_ns / 1e6, f"hold set, {duration(hold_ns / 1e9)}", Role.CAPACITY),)
