"""A question to the calculator: one path, its hosts and an optional size, checked once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypedDict, TypeVar

from bentpipe.engines.linux import DEFAULT_RMEM, DEFAULT_WMEM
from bentpipe.errors import LabError
from bentpipe.frozen import frozen
from bentpipe.lab.errors import FaultError
from bentpipe.lab.quantities import UNLIMITED, parse_queue_amount
from bentpipe.lab.units import parse_probability, parse_rate, parse_size, parse_time
from bentpipe.words.faults import did_you_mean, shown

CONTROLS = ("reno", "cubic", "bbr", "bbr3", "hybla")
"""Those whose response to loss is known."""
DEFAULT_MTU_BYTES = 1500
HEADER_BYTES = 52
"""IPv4 and TCP with timestamps (RFC 9293, 7323): a packet without payload, which is also an ACK's size."""
INITIAL_WINDOW_SEGMENTS = 10
"""RFC 6928, and Linux's TCP_INIT_CWND."""
MOST_STREAMS = 128
"""As a lab's `bulk`."""
LEAST_BUFFER_BYTES = 4096
"""Linux's own least for tcp_rmem and tcp_wmem."""
PROGRAMS = ("iperf3", "long", "short")
"""How the program at the sender writes (send_buffer.py)."""
_LONGEST_RTT_NS = 60 * 10**9
_LONGEST_TIME_NS = 86_400 * 10**9
_LEAST_MTU, _MOST_MTU = 576, 65535
"""As a lab's `path.mtu`."""
T = TypeVar("T")


@frozen
class Question:
    """One path in plain numbers."""

    rate_bit_s: int
    """All IP bytes, as the link carries them from sender to receiver."""
    rate_up_bit_s: int | None
    """The same from receiver to sender, which carries the ACKs; None where both ways have one rate."""
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
    time_s: float | None
    """How long to send, for the mean rate from the start on."""
    queue_bytes: int | None
    """What the bottleneck's queue holds; None where nothing was said of it."""
    mtu_bytes: int = DEFAULT_MTU_BYTES
    program: str = "iperf3"
    """How it writes: one of `PROGRAMS`."""

    @property
    def mss_bytes(self) -> int:
        """Payload of a full packet."""
        return self.mtu_bytes - HEADER_BYTES

    @property
    def capacity_bit_s(self) -> float:
        """Payload that the link carries."""
        return self.rate_bit_s * self.mss_bytes / self.mtu_bytes

    @property
    def bdp_bytes(self) -> float:
        return self.rate_bit_s / 8 * self.rtt_s

    @property
    def full_window_bytes(self) -> float:
        """Payload that fills link and queue, all streams together."""
        return (self.bdp_segments + self.queue_segments) * self.mss_bytes

    @property
    def bdp_segments(self) -> float:
        return self.bdp_bytes / self.mtu_bytes

    @property
    def queue_segments(self) -> float:
        """Where nothing was said of the queue it is a lab's default: one BDP, and ten packets at least."""
        if self.queue_bytes is None:
            return max(self.bdp_segments, 10.0)
        return self.queue_bytes / self.mtu_bytes


class Options(TypedDict, total=False):
    """What of a question need not be given. `ask` has the defaults, `calc` says what each is."""

    loss: float | str
    rcvbuf: str | None
    sndbuf: str | None
    streams: int
    cc: str
    size: str | None
    time: str | None
    queue: str | None
    rate_up: str | None
    mtu: int
    program: str


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
    time: str | None = None,
    queue: str | None = None,
    rate_up: str | None = None,
    mtu: int = DEFAULT_MTU_BYTES,
    program: str = "iperf3",
) -> Question:
    """The question in plain numbers. Raises `LabError`, naming an option of which the value is impossible."""
    rtt_ns = _read("rtt", rtt, parse_time)
    if not 0 < rtt_ns <= _LONGEST_RTT_NS:
        _refuse("rtt", shown(rtt), "expected a round trip above zero and of at most 60 s")
    probability = _read("loss", loss, _probability)
    if probability == 1:
        _refuse("loss", shown(loss), "expected a probability below 1: at 1 nothing arrives")
    if isinstance(streams, bool) or not isinstance(streams, int) or not 1 <= streams <= MOST_STREAMS:
        _refuse("streams", shown(streams), f"expected a whole number from 1 to {MOST_STREAMS}")
    if cc not in CONTROLS:
        asked = did_you_mean(str(cc), CONTROLS)
        _refuse("cc", shown(cc), f"{asked}expected one of {', '.join(CONTROLS)}")
    if program not in PROGRAMS:
        asked = did_you_mean(str(program), PROGRAMS)
        _refuse("program", shown(program), f"{asked}expected one of {', '.join(PROGRAMS)}")
    size_bytes = None if size is None else _read("size", size, parse_size)
    if size_bytes == 0:
        _refuse("size", shown(size), "expected a size above zero")
    if isinstance(mtu, bool) or not isinstance(mtu, int) or not _LEAST_MTU <= mtu <= _MOST_MTU:
        _refuse("mtu", shown(mtu), f"expected a whole number of bytes from {_LEAST_MTU} to {_MOST_MTU}")
    rate_bit_s = _read("rate", rate, parse_rate)
    bdp_bytes = rate_bit_s / 8 * rtt_ns / 1e9
    return Question(
        rate_bit_s=rate_bit_s,
        rate_up_bit_s=None if rate_up is None else _read("rate-up", rate_up, parse_rate),
        rtt_s=rtt_ns / 1e9,
        loss=probability,
        rcvbuf_bytes=_buffer("rcvbuf", rcvbuf, DEFAULT_RMEM[2]),
        sndbuf_bytes=_buffer("sndbuf", sndbuf, DEFAULT_WMEM[2]),
        streams=streams,
        congestion_control=cc,
        size_bytes=size_bytes,
        time_s=None if time is None else _time_s(time),
        queue_bytes=None if queue is None else _queue(queue, rate_bit_s, bdp_bytes, mtu),
        mtu_bytes=mtu,
        program=program,
    )


def _time_s(text: str) -> float:
    time_ns = _read("time", text, parse_time)
    if not 0 < time_ns <= _LONGEST_TIME_NS:
        _refuse("time", shown(text), "expected a time above zero and of at most a day")
    return time_ns / 1e9


def _queue(text: str, rate_bit_s: int, bdp_bytes: float, mtu_bytes: int) -> int:
    """What a queue written as in a lab holds, in bytes."""
    read = _read("queue", text, parse_queue_amount)
    if read == UNLIMITED:
        _refuse("queue", shown(text), 'expected a limit such as "100 kB", "250 packets", "60 ms" or "1 bdp"')
    each_bytes = {"bytes": 1, "packets": mtu_bytes, "delay": rate_bit_s / 8e9, "bdp": bdp_bytes}
    queue_bytes = round(read.amount * each_bytes[read.unit])
    if queue_bytes < mtu_bytes:
        _refuse("queue", shown(text), f"expected at least one packet of {mtu_bytes} B")
    return queue_bytes


def _buffer(option: str, text: str | None, default: int) -> int:
    if text is None:
        return default
    size_bytes = _read(option, text, parse_size)
    if size_bytes < LEAST_BUFFER_BYTES:
        _refuse(option, shown(text), f"expected {LEAST_BUFFER_BYTES} B or more, which is Linux's own least")
    if size_bytes >= 2**31:
        _refuse(option, shown(text), "expected less than 2 GiB, which is Linux's own most")
    return size_bytes


def _probability(value: object) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise FaultError(
                "expected a probability from 0 to below 1, such as 0.001 for one packet in a thousand"
            ) from None
    return parse_probability(value)


def _read(option: str, value: object, parse: Callable[[object], T]) -> T:
    try:
        return parse(value)
    except FaultError as fault:
        _refuse(option, fault.found or shown(value), fault.remedy)


def _refuse(option: str, found: str, remedy: str) -> NoReturn:
    raise LabError("calc", f"--{option}", found, remedy)
