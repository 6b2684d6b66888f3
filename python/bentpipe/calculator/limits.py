"""The rate of payload that each limit alone would allow.

1. A window counts against the base round trip: a queue that it fills adds delay, not rate.
2. A buffer is not a window. Linux counts memory: of a receive buffer as much becomes window as a full
   packet has payload beside what it takes in memory. A send buffer: send_buffer.py. An application's own
   SO_RCVBUF of n bytes is a buffer of 2 n (socket(7)).
3. The formulas of loss are for losses at equal distances and a window that nothing else holds; beyond some
   losses in a hundred timeouts take over, which they leave out.
4. A queue: the long run of window.py, where nothing else holds the window.
"""

from __future__ import annotations

import math

from bentpipe.calculator import send_buffer
from bentpipe.calculator.question import HEADER_BYTES, Question
from bentpipe.calculator.transfer import sawtooth_bit_s
from bentpipe.calculator.window import HYBLA_RTT_S
from bentpipe.frozen import frozen

CAPACITY = "capacity"
RECEIVE_WINDOW = "receive window"
SEND_BUFFER = "send buffer"
ACK_PATH = "ACK path"
QUEUE = "queue"
FEW_PACKETS = 10
"""No formula holds for a queue of fewer: single bursts overflow it. An initial window is ten packets."""
MANY_LOSSES = 0.02
"""Above it timeouts are about as frequent as halved windows (Padhye et al., SIGCOMM 1998, figure 7)."""
_LEAST_MEASURED_BYTES = 536
"""TCP_MSS_DEFAULT."""
_LARGEST_SLAB_BYTES, _PAGE_BYTES = 8192, 4096
_JUST = 1 - 1e-9
SEGMENTS_PER_ACK = 2
"""RFC 9293, 3.8.6.3: an ACK for every second full segment."""


@frozen
class Limit:
    """One thing that bounds the rate."""

    name: str
    goodput_bit_s: float
    """Payload, all streams together."""
    formula: str
    source: str
    applies: bool = True
    """False: printed for comparison; the congestion control asked for is not bound by it."""
    is_of_loss: bool = False
    note: str = ""
    """Beside a limit that does not bind, instead of "not here"."""


def limits(asked: Question) -> list[Limit]:
    """Every limit, in the order in which a reader meets them."""
    found = link_and_buffers(asked)
    if asked.rate_up_bit_s is not None:
        found.append(_ack_path(asked, asked.rate_up_bit_s))
    if asked.queue_bytes is not None:
        found.append(_queue(asked))
    return found + (_losses(asked) if asked.loss else [])


def link_and_buffers(asked: Question) -> list[Limit]:
    """What the link and the hosts' buffers allow, without the congestion control."""
    share = window_share(asked.mtu_bytes)
    return [
        Limit(
            CAPACITY,
            asked.capacity_bit_s,
            "rate x MSS / MTU",
            f"{asked.mss_bytes} of {asked.mtu_bytes} bytes: IPv4, TCP, timestamps (RFC 9293, 7323)",
        ),
        Limit(
            RECEIVE_WINDOW,
            _windowed(asked, share * asked.rcvbuf_bytes),
            f"n x {share:.3g} x rcvbuf / RTT",
            "RFC 9293, 3.8.6; tcp_win_from_space: a packet's payload beside its memory, Linux 6.18",
        ),
        Limit(
            SEND_BUFFER,
            send_buffer.goodput_bit_s(asked) * asked.streams,
            "n x k B / (RTT + (B - r) / C), B: " + send_buffer.WRITES[asked.program],
            "tcp_sendmsg, sk_stream_is_writeable; docs/calc.md derives it",
        ),
    ]


def window_share(mtu_bytes: int) -> float:
    """Of a receive buffer's memory, what is offered as window (`tcp_measure_rcv_mss`, in 256ths).

    A payload below 536 bytes is never measured. The kernel then takes half of the memory as window, and lets
    it grow to half of that, because such a packet takes more memory than payload (`__tcp_grow_window`).
    """
    if mtu_bytes - HEADER_BYTES < _LEAST_MEASURED_BYTES:
        return 0.25
    needed = mtu_bytes + 64 + 320
    if needed <= _LARGEST_SLAB_BYTES:
        memory = max(1 << (needed - 1).bit_length(), 512) + 256
    else:
        memory = 1024 + 256 + math.ceil(mtu_bytes / _PAGE_BYTES) * _PAGE_BYTES
    return int((mtu_bytes - HEADER_BYTES) * 256 // memory) / 256


def window_bytes(asked: Question) -> float:
    """The largest window of a connection that its buffers allow."""
    received = window_share(asked.mtu_bytes) * asked.rcvbuf_bytes
    sent_bit_s = send_buffer.goodput_bit_s(asked)
    if sent_bit_s * asked.streams < asked.capacity_bit_s * _JUST:
        received = min(received, sent_bit_s / 8 * asked.rtt_s)
    return received


def binding(found: list[Limit]) -> tuple[Limit, Limit]:
    """The limit that binds, and the next one."""
    ordered = sorted((each for each in found if each.applies), key=lambda each: each.goodput_bit_s)
    return ordered[0], ordered[1]


@frozen
class BeyondFormulas:
    """What no formula here answers, so that only a simulation does."""

    limit: str
    """The name of the limit that it comes from."""
    why: str
    remedy: str


def beyond_formulas(asked: Question, found: list[Limit]) -> BeyondFormulas | None:
    """What the formulas leave out on this path; None where they hold."""
    bound, _ = binding(found)
    for each in found:
        if each.name == ACK_PATH and each.goodput_bit_s < bound.goodput_bit_s:
            needed_bit_s = bound.goodput_bit_s / (SEGMENTS_PER_ACK * asked.mss_bytes) * HEADER_BYTES
            return BeyondFormulas(
                ACK_PATH,
                "ACKs wait and drop above the rate of the row ACK path",
                f"a link of {math.ceil(needed_bit_s / 1000)} kbit/s or more for the ACKs",
            )
    few = asked.queue_bytes is not None and asked.queue_segments < FEW_PACKETS
    if few and window_bytes(asked) * asked.streams > asked.full_window_bytes:
        why = f"single bursts overflow a queue of fewer than {FEW_PACKETS} packets"
        return BeyondFormulas(QUEUE, why, f"a queue of one BDP, and {FEW_PACKETS} packets at least")
    return None


def _ack_path(asked: Question, rate_up_bit_s: int) -> Limit:
    """No bound, since ACKs are cumulative: above it they wait and drop, and data come in bursts."""
    every_ack_bit_s = rate_up_bit_s / HEADER_BYTES * SEGMENTS_PER_ACK * asked.mss_bytes
    return Limit(
        ACK_PATH,
        every_ack_bit_s,
        f"rate-up / {HEADER_BYTES} B x {SEGMENTS_PER_ACK} MSS",
        "an ACK for every second segment (RFC 9293, 3.8.6.3); above it ACKs drop, but data go on",
        applies=False,
        note="ACKs drop above" if every_ack_bit_s < asked.capacity_bit_s else "enough",
    )


def _queue(asked: Question) -> Limit:
    control = asked.congestion_control
    kept = {"reno": "0.5", "cubic": "0.7"}.get(control)
    return Limit(
        QUEUE,
        sawtooth_bit_s(asked, math.inf) if kept else asked.capacity_bit_s,
        f"mean of a window from {kept} (BDP + Q) to BDP + Q, at RTT" if kept else f"none for {control}",
        "RFC 5681 and 9438, in the long run; docs/calc.md",
        applies=kept is not None and window_bytes(asked) * asked.streams > asked.full_window_bytes,
    )


def _windowed(asked: Question, window_bytes: float) -> float:
    return asked.streams * window_bytes * 8 / asked.rtt_s


def _losses(asked: Question) -> list[Limit]:
    mathis_segments = math.sqrt(1.5 / asked.loss)
    cubic_segments = 1.054 * (asked.rtt_s / asked.loss) ** 0.75
    control = asked.congestion_control
    is_reno_like = control == "cubic" and cubic_segments <= mathis_segments
    found = [
        Limit(
            "loss (Mathis)",
            _windowed(asked, mathis_segments * asked.mss_bytes),
            "n x MSS / RTT x sqrt(1.5 / p)",
            "Mathis et al., CCR 27(3), 1997; b = 1 fits Linux",
            applies=control == "reno" or is_reno_like,
            is_of_loss=True,
        ),
        Limit(
            "loss (CUBIC)",
            _windowed(asked, cubic_segments * asked.mss_bytes),
            "n x MSS / RTT x 1.054 (RTT / p)^0.75",
            "RFC 9438, 5.1; above Mathis where p < 0.55 RTT^3",
            applies=control == "cubic" and not is_reno_like,
            is_of_loss=True,
        ),
    ]
    if control == "hybla":
        shortest_s = min(asked.rtt_s, HYBLA_RTT_S)
        found.append(
            Limit(
                "loss (Hybla)",
                asked.streams * mathis_segments * asked.mss_bytes * 8 / shortest_s,
                "n x MSS / 25 ms x sqrt(1.5 / p)",
                "Caini, Firrincieli, IJSCN 22(5), 2004: as Reno over 25 ms",
                is_of_loss=True,
            )
        )
    return found
