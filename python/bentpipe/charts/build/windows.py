"""What may be in flight and what is, on one axis: the receive window, as advertised and as the sender has it,
the congestion window, the send buffer, and the payload that TCP holds to be under way.

Where a transfer has several connections, each line is their sum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bentpipe.analysis import send_memory
from bentpipe.analysis.windows import full_windows
from bentpipe.charts.build.socket_samples import Floats, Socket, listed
from bentpipe.charts.description import Axis, Dash, Mark, Panel, Role, Series, Symbol
from bentpipe.words.wording import listed as in_words
from bentpipe.words.wording import percent, plural, size

_WOKEN_AT = "woken_at_bytes"
"""What is in flight when the program may write again (analysis/send_memory.py). While more is, it waits."""


@dataclass(frozen=True)
class _Sum:
    """Samples of several sockets, added up where taken at about the same time; NaN where none is known."""

    time_s: Floats
    columns: Mapping[str, Floats]

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column]


def panel(senders: Sequence[Socket], receivers: Sequence[Socket], direction: str) -> Panel | None:
    """None without samples."""
    if not senders:
        return None
    step_s = _step_s(senders[0])
    sent = _summed(
        senders, step_s, ("in_flight_bytes", "cwnd_bytes", "snd_wnd_bytes", "sndbuf_bytes", _WOKEN_AT)
    )
    received = _summed(receivers, step_s, ("rcv_wnd_bytes",))
    again_s = _sent_again_s(senders)
    lines = (
        _line("send buffer", sent, "sndbuf_bytes", Role.SEND_BUFFER, Dash.DASH_DOT),
        _line("receive window, advertised", received, "rcv_wnd_bytes", Role.RECEIVE_WINDOW, Dash.SOLID),
        _line(
            "receive window, as the sender has it", sent, "snd_wnd_bytes", Role.RECEIVE_WINDOW, Dash.DOTTED
        ),
        _line(f"in flight {direction}", sent, "in_flight_bytes", Role(direction), Dash.SOLID),
        _line("cwnd", sent, "cwnd_bytes", Role.CWND, Dash.DASHED),
        _marks(again_s, sent),
    )
    series = tuple(line for line in lines if any(value is not None for value in line.y))
    if not series:
        return None
    several = f", the sum of {plural(len(senders), 'connection')}" if len(senders) > 1 else ""
    return Panel(
        f"windows-{direction}",
        f"Windows {direction}{several}",
        _sentence(sent, direction),
        Axis("payload", "kB", log=True),
        series,
    )


def _step_s(socket: Socket) -> float:
    steps = np.diff(socket["time_s"])
    median = float(np.median(steps)) if steps.size else 0.0
    return median if median > 0 else 0.1


def _summed(sockets: Sequence[Socket], step_s: float, columns: Sequence[str]) -> _Sum:
    times: list[Floats] = []
    numbers: list[Floats] = []
    values: list[list[Floats]] = [[] for _ in columns]
    for socket in sockets:
        rows = np.flatnonzero(socket.connected)
        time_s = socket["time_s"][rows]
        number = np.rint(time_s / step_s)
        # Of two samples with one number, since the clock drifts, the later.
        last = np.flatnonzero(np.append(number[1:] != number[:-1], True)) if rows.size else rows
        times.append(time_s[last])
        numbers.append(number[last])
        for column, found in zip(columns, values, strict=True):
            found.append(_column(socket, column)[rows[last]])
    if not times:
        return _Sum(np.empty(0), {column: np.empty(0) for column in columns})
    _, sample = np.unique(np.concatenate(numbers), return_inverse=True)
    counts = np.bincount(sample)
    return _Sum(
        np.bincount(sample, np.concatenate(times)) / counts,
        {
            column: _known_sum(sample, np.concatenate(found))
            for column, found in zip(columns, values, strict=True)
        },
    )


def _known_sum(sample: np.ndarray, values: Floats) -> Floats:
    known = ~np.isnan(values)
    sums = np.bincount(sample, np.where(known, values, 0.0))
    return np.where(np.bincount(sample, known) > 0, sums, np.nan)


def _column(socket: Socket, name: str) -> Floats:
    if name not in {"cwnd_bytes", _WOKEN_AT}:
        return socket[name]
    cwnd_bytes = socket["cwnd_segments"] * socket["mss_bytes"]
    if name == "cwnd_bytes":
        return cwnd_bytes
    with np.errstate(all="ignore"):
        found: Floats = send_memory.in_flight_at_wake(
            socket["sndbuf_bytes"],
            cwnd_bytes,
            socket["srtt_s"],
            socket["mss_bytes"],
            smaller=np.minimum,
            larger=np.maximum,
        )
    return found


def _line(label: str, of: _Sum, column: str, role: Role, dash: Dash) -> Series:
    time_s: list[float] = of.time_s.tolist()
    return Series(label, time_s, _kilobytes(of[column]), role, dash=dash, faint=dash is Dash.DOTTED)


def _kilobytes(values: Floats) -> list[float | None]:
    """A logarithmic axis has no zero, so that what is zero is a gap."""
    return listed(np.where(values == 0, np.nan, values / 1000))


def _sent_again_s(sockets: Sequence[Socket]) -> Floats:
    """When a socket is first seen to have retransmitted more."""
    return np.sort(np.concatenate([socket["time_s"][_grew(socket["retransmits"])] for socket in sockets]))


def _grew(counted: Floats) -> np.ndarray:
    more = np.diff(counted, prepend=np.nan)
    return np.where(np.isnan(more), counted, more) > 0


def _marks(again_s: Floats, sent: _Sum) -> Series:
    """On the line of what is in flight."""
    found = sent["in_flight_bytes"][_nearest(sent.time_s, again_s)] if sent.time_s.size else again_s * np.nan
    times: list[float] = again_s.tolist()
    return Series("sent again", times, _kilobytes(found), Role.DROPS, Mark.POINTS, symbol=Symbol.CROSS)


def _nearest(times: Floats, wanted: Floats) -> np.ndarray:
    """Of each wanted time, the number of the nearest one; of two as near, the later."""
    after = np.searchsorted(times, wanted).clip(1, max(times.size - 1, 1))
    before = after - 1
    nearer = wanted - times[before] < times[np.minimum(after, times.size - 1)] - wanted
    return np.minimum(np.where(nearer, before, after), times.size - 1)


def _sentence(sent: _Sum, direction: str) -> str:
    in_flight, cwnd = sent["in_flight_bytes"], sent["cwnd_bytes"]
    known = (in_flight > 0) & (cwnd > 0)
    if not known.any():
        return ""
    full = full_windows(in_flight, cwnd, sent["snd_wnd_bytes"], sent[_WOKEN_AT])
    parts = [f"the {name} {_often(float(is_full[known].mean()))}" for name, is_full in full.items()]
    return (
        f"At most {size(float(in_flight[known].max()))} are in flight {direction}. While something is, "
        f"{in_words(parts)} (as full counts 90 % of a window, and a buffer while its program waits to write)."
    )


def _often(share: float) -> str:
    return "is never full" if share == 0 else f"is full {percent(share)} of the time"
