"""A transfer as the doctor saw it, on one time axis: rate, data in flight and their limits, round trips."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bentpipe.charts.description import Axis, Chart, Dash, Level, Panel, Role, Series
from bentpipe.words.wording import duration, rate, size

Floats = NDArray[np.float64]
_SCALE_KB = 1e3
_HELD = (
    ("in flight", "outstanding_bytes", Role.FIRST, Dash.SOLID),
    ("congestion window", "cwnd_bytes", Role.CWND, Dash.DASHED),
    ("receive window", "rwnd_bytes", Role.RECEIVE_WINDOW, Dash.DOTTED),
    ("send buffer in use", "sndbuf_used_bytes", Role.SEND_BUFFER, Dash.DASH_DOT),
    ("not read yet", "unread_bytes", Role.SEND_BUFFER, Dash.DASH_DOT),
)


def build(name: str, time_s: Floats, columns: dict[str, Floats], of: "Known") -> Chart:
    """`columns` as the doctor's samples of one connection, with `total_bit_s`."""
    panels = [*_rate(time_s, columns, of), *_held(time_s, columns), *_round_trips(time_s, columns, of)]
    return Chart("diagnosed", name, "", Axis("time", "s", from_zero=False), tuple(panels))


class Known:
    """What the doctor knows of the path and the transfer."""

    def __init__(
        self,
        *,
        capacity_bit_s: float | None,
        base_rtt_s: float | None,
        is_down: bool,
        is_shared: bool = False,
    ) -> None:
        """`is_shared`: whether other transfers share its queue, whose rate is in `total_bit_s`, too."""
        self.capacity_bit_s = capacity_bit_s
        self.base_rtt_s = base_rtt_s
        self.is_shared = is_shared
        self.role = Role.DOWN if is_down else Role.UP


def _rate(time_s: Floats, columns: dict[str, Floats], of: Known) -> Iterator[Panel]:
    values = columns["total_bit_s"] / 1e6
    if not values.size:
        return
    whose = "The rate of it and its neighbours" if of.is_shared else "The rate"
    said = f"{whose} was {rate(float(np.median(values)) * 1e6)} at the median"
    levels = []
    if of.capacity_bit_s:
        levels = [Level(of.capacity_bit_s / 1e6, "the path's rate as seen", Role.CAPACITY)]
        said += f"; the path's, as seen, is {rate(of.capacity_bit_s)} of payload"
    line = _line("payload that arrived", time_s, values, of.role)
    yield Panel("rate", "Rate", f"{said}.", Axis("rate", "Mbit/s"), (line,), tuple(levels))


def _held(time_s: Floats, columns: dict[str, Floats]) -> Iterator[Panel]:
    lines = [
        _line(label, time_s, columns[name] / _SCALE_KB, role, dash)
        for label, name, role, dash in _HELD
        if np.isfinite(columns[name]).any()
    ]
    if lines:
        most = float(np.nanmax(columns["rwnd_bytes"])) if np.isfinite(columns["rwnd_bytes"]).any() else None
        said = f"The receive window was {size(most)} at most." if most is not None else ""
        yield Panel("held", "What is in flight, and its bounds", said, Axis("bytes", "kB"), tuple(lines))


def _round_trips(time_s: Floats, columns: dict[str, Floats], of: Known) -> Iterator[Panel]:
    values = columns["srtt_s"] * 1e3
    if not np.isfinite(values).any():
        return
    levels = []
    said = f"The round trip was {duration(float(np.nanmedian(values)) / 1e3)} at the median"
    if of.base_rtt_s:
        levels = [Level(of.base_rtt_s * 1e3, "base RTT", Role.CEILING)]
        said += f" and {duration(of.base_rtt_s)} at its shortest"
    line = _line("smoothed", time_s, values, Role.PING)
    yield Panel("rtt", "Round-trip time", f"{said}.", Axis("RTT", "ms"), (line,), tuple(levels))


def _line(label: str, x: Sequence[float] | Floats, y: Floats, role: Role, dash: Dash = Dash.SOLID) -> Series:
    known = [None if np.isnan(value) else float(value) for value in y]
    return Series(label, [float(at) for at in x], known, role, dash=dash)
