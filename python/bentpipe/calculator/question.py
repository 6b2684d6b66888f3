"""What is asked of the calculator: one path, its hosts and perhaps a size, checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from bentpipe.engines.sim_spec import CONTROLS, DEFAULT_RMEM, DEFAULT_WMEM
from bentpipe.lab.errors import FaultError, LabError, did_you_mean, shown
from bentpipe.lab.units import parse_probability, parse_rate, parse_size, parse_time

MTU_BYTES = 1500
MSS_BYTES = 1448
"""Payload of a packet of 1500 bytes over IPv4 with timestamps (RFC 7323)."""
INITIAL_WINDOW_SEGMENTS = 10
"""RFC 6928, and Linux's TCP_INIT_CWND."""
MOST_STREAMS = 128
"""As a lab's `bulk`."""
LEAST_BUFFER_BYTES = 4096
"""Linux's own least for tcp_rmem and tcp_wmem."""
_LONGEST_RTT_NS = 60 * 10**9
T = TypeVar("T")


@dataclass(frozen=True)
class Question:
    """One path in plain numbers."""

    rate_bit_s: int
    """All IP bytes, as the link carries them."""
    rtt_s: float
    """Base round trip: with empty queues."""
    loss: float
    """Of each packet on its way to the receiver."""
    rcvbuf_bytes: int
    """Largest receive buffer of each connection."""
    sndbuf_bytes: int
    streams: int
    congestion_control: str
    size_bytes: int | None

    @property
    def bdp_bytes(self) -> float:
        return self.rate_bit_s / 8 * self.rtt_s


def ask(
    rate: str,
    rtt: str,
    *,
    loss: float | str = 0.0,
    rcvbuf: str | None = None,
    sndbuf: str | None = None,
    streams: int = 1,
    cc: str = "cubic",
    size: str | None = None,
) -> Question:
    """The question in plain numbers. Raises `LabError`, naming the option, for what is none or impossible."""
    rtt_ns = _read("rtt", rtt, parse_time)
    if not 0 < rtt_ns <= _LONGEST_RTT_NS:
        _refuse("rtt", shown(rtt), "a round trip above zero and of at most 60 s would do")
    probability = _read("loss", loss, _probability)
    if probability == 1:
        _refuse("loss", shown(loss), "a probability below 1 would do: at 1 nothing arrives")
    if isinstance(streams, bool) or not isinstance(streams, int) or not 1 <= streams <= MOST_STREAMS:
        _refuse("streams", shown(streams), f"a whole number from 1 to {MOST_STREAMS} would do")
    if cc not in CONTROLS:
        asked = did_you_mean(str(cc), CONTROLS)
        _refuse("cc", shown(cc), f"{asked}one of {', '.join(CONTROLS)} would do")
    size_bytes = None if size is None else _read("size", size, parse_size)
    if size_bytes == 0:
        _refuse("size", shown(size), "a size above zero would do")
    return Question(
        rate_bit_s=_read("rate", rate, _rate),
        rtt_s=rtt_ns / 1e9,
        loss=probability,
        rcvbuf_bytes=_buffer("rcvbuf", rcvbuf, DEFAULT_RMEM[2]),
        sndbuf_bytes=_buffer("sndbuf", sndbuf, DEFAULT_WMEM[2]),
        streams=streams,
        congestion_control=cc,
        size_bytes=size_bytes,
    )


def _buffer(option: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    size_bytes = _read(option, text, parse_size)
    if size_bytes < LEAST_BUFFER_BYTES:
        _refuse(option, shown(text), f"{LEAST_BUFFER_BYTES} B or more would do, which is Linux's own least")
    if size_bytes >= 2**31:
        _refuse(option, shown(text), "less than 2 GiB would do, which is Linux's own most")
    return size_bytes


def _rate(text: object) -> int:
    try:
        return parse_rate(text)
    except FaultError as fault:
        if "above zero" in fault.remedy:
            raise FaultError("a rate above zero would do", found=fault.found) from None
        raise


def _probability(value: object) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise FaultError(
                "a probability from 0 to below 1 would do, such as 0.001 for one packet in a thousand"
            ) from None
    return parse_probability(value)


def _read(option: str, value: object, parse: Callable[[object], T]) -> T:
    try:
        return parse(value)
    except FaultError as fault:
        _refuse(option, fault.found or shown(value), fault.remedy)


def _refuse(option: str, found: str, remedy: str) -> NoReturn:
    raise LabError("calc", f"--{option}", found, remedy)
