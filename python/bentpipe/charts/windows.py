"""What may be in flight and what is, on one axis: the receive window, as advertised and as the sender has it,
the congestion window, the send buffer, and the payload that TCP holds to be under way.

Where a transfer has several connections, each line is their sum.
"""

from collections.abc import Sequence

import polars as pl

from bentpipe.charts.description import Axis, Dash, Mark, Panel, Role, Series, Symbol
from bentpipe.charts.wording import listed, percent, plural, size

_FULL = 0.9
"""Share of a window at which it counts as full."""
_BUFFER_FULL = 0.6
"""Of a send buffer, whose memory holds headers too: payload filled 0.67 of it, as measured on kernel 6.18."""
_OPENING = ("SYN-SENT", "SYN-RECV", "TIME-WAIT", "CLOSE", "LISTEN")
_SENT = {
    "in_flight": "in_flight_bytes",
    "cwnd": "cwnd_bytes",
    "believed": "snd_wnd_bytes",
    "send_buffer": "sndbuf_bytes",
}


def panel(senders: Sequence[pl.DataFrame], receivers: Sequence[pl.DataFrame], direction: str) -> Panel | None:
    """`senders` and `receivers` are one frame of samples per socket. None where nobody sampled."""
    if not senders:
        return None
    step_s = _step_s(senders[0])
    sent = _summed([_with_cwnd(socket) for socket in senders], _SENT, step_s)
    received = _summed(receivers, {"advertised": "rcv_wnd_bytes"}, step_s)
    again = _sent_again(senders)
    lines = (
        _line("send buffer", sent, "send_buffer", Role.SEND_BUFFER, Dash.DASH_DOT),
        _line("receive window, advertised", received, "advertised", Role.RECEIVE_WINDOW, Dash.SOLID),
        _line("receive window, as the sender has it", sent, "believed", Role.RECEIVE_WINDOW, Dash.DOTTED),
        _line(f"in flight {direction}", sent, "in_flight", Role(direction), Dash.SOLID),
        _line("cwnd", sent, "cwnd", Role.CWND, Dash.DASHED),
        _marks(again, sent),
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


def _with_cwnd(socket: pl.DataFrame) -> pl.DataFrame:
    return socket.with_columns(cwnd_bytes=pl.col("cwnd_segments") * pl.col("mss_bytes"))


def _step_s(socket: pl.DataFrame) -> float:
    steps = socket["time_s"].diff().drop_nulls()
    median = steps.median() if steps.len() else None
    return median if isinstance(median, float) and median > 0 else 0.1


def _summed(sockets: Sequence[pl.DataFrame], columns: dict[str, str], step_s: float) -> pl.DataFrame:
    """Over the sockets sampled at about the same time; null where none of them knows."""
    if not sockets:
        return pl.DataFrame(schema={"time_s": pl.Float64, **dict.fromkeys(columns, pl.Float64)})
    wanted = [pl.col(column).cast(pl.Float64).alias(name) for name, column in columns.items()]
    every = pl.concat(
        [
            socket.filter(~_opening()).select("time_s", *wanted, socket=pl.lit(number))
            for number, socket in enumerate(sockets)
        ]
    )
    sample = (
        (pl.col("time_s") / step_s).round().alias("sample")
    )  # of two in one, since the clock drifts, the later
    one_each = every.group_by(sample, "socket", maintain_order=True).last()
    sums = [pl.when(pl.col(name).count() > 0).then(pl.col(name).sum()).alias(name) for name in columns]
    return one_each.group_by("sample").agg(pl.col("time_s").mean(), *sums).sort("time_s")


def _opening() -> pl.Expr:
    """No connection yet, or none any more: its windows mean nothing."""
    return pl.col("state").is_in(_OPENING)


def _line(label: str, frame: pl.DataFrame, column: str, role: Role, dash: Dash) -> Series:
    """In kB; a logarithmic axis has no zero, so that what is zero is a gap."""
    y = [value / 1000 if value else None for value in frame[column].to_list()]
    return Series(label, frame["time_s"].to_list(), y, role, dash=dash, faint=dash is Dash.DOTTED)


def _sent_again(sockets: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """When a socket is first seen to have retransmitted more."""
    found = [
        socket.select("time_s", again=pl.col("retransmits").diff().fill_null(pl.col("retransmits")))
        for socket in sockets
    ]
    return pl.concat(found).filter(pl.col("again") > 0).sort("time_s")


def _marks(again: pl.DataFrame, sent: pl.DataFrame) -> Series:
    """On the line of what is in flight."""
    x = again["time_s"].to_list()
    at = again.join_asof(sent.select("time_s", "in_flight"), on="time_s", strategy="nearest")
    y = [value / 1000 if value else None for value in at["in_flight"].to_list()]
    return Series("sent again", x, y, Role.DROPS, Mark.POINTS, symbol=Symbol.CROSS)


def _sentence(sent: pl.DataFrame, direction: str) -> str:
    known = sent.filter((pl.col("in_flight") > 0) & (pl.col("cwnd") > 0))
    if known.is_empty():
        return ""
    full = {
        "the congestion window": pl.col("in_flight") >= _FULL * pl.col("cwnd"),
        "the receive window": pl.col("in_flight") >= _FULL * pl.col("believed"),
        "the send buffer": pl.col("in_flight") >= _BUFFER_FULL * pl.col("send_buffer"),
    }
    shares = {
        name: float(known.select(is_full.fill_null(False).mean()).item()) for name, is_full in full.items()
    }
    peak = float(known["in_flight"].to_numpy().max())
    parts = [f"{name} {_often(share)}" for name, share in shares.items()]
    return (
        f"At most {size(peak)} are in flight {direction}. While something is, {listed(parts)} "
        "(as full counts 90 % of a window, 60 % of the buffer)."
    )


def _often(share: float) -> str:
    return "is never full" if share == 0 else f"is full {percent(share)} of the time"
