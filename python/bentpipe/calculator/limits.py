"""What each thing on the way would let through by itself, as rates of payload.

1. A window counts against the base round trip: a queue that it fills adds delay, not rate.
2. A buffer is not a window: Linux counts memory, not payload. The two shares below were measured on 6.18 with
   an MTU of 1500. Of a send buffer 0.67 is payload where bursts are small, up to 0.80 where segmentation
   offload fills them to 64 kB (as `live` and `sim` show); the lower one is taken. An application's own
   SO_RCVBUF of n bytes is a buffer of 2 n (socket(7)).
3. The formulas of loss are for losses at equal distances and a window that nothing else holds; beyond some
   losses in a hundred timeouts take over, which they leave out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bentpipe.calculator.question import MSS_BYTES, MTU_BYTES, Question

WINDOW_OF_RCVBUF = 0.62
PAYLOAD_OF_SNDBUF = 0.67
MANY_LOSSES = 0.02
"""Above it timeouts are about as frequent as halved windows (Padhye et al., SIGCOMM 1998, figure 7)."""
_HYBLA_RTT_S = 0.025


@dataclass(frozen=True)
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


def limits(asked: Question) -> list[Limit]:
    """Every limit, in the order in which a reader meets them."""
    found = [
        Limit(
            "capacity",
            asked.rate_bit_s * MSS_BYTES / MTU_BYTES,
            "rate x MSS / MTU",
            f"{MSS_BYTES} of {MTU_BYTES} bytes: IPv4, TCP, timestamps (RFC 9293, 7323)",
        ),
        Limit(
            "receive window",
            _windowed(asked, WINDOW_OF_RCVBUF * asked.rcvbuf_bytes),
            f"n x {WINDOW_OF_RCVBUF} x rcvbuf / RTT",
            "RFC 9293, 3.8.6; tcp_win_from_space, its share measured on Linux 6.18",
        ),
        Limit(
            "send buffer",
            _windowed(asked, PAYLOAD_OF_SNDBUF * asked.sndbuf_bytes),
            f"n x {PAYLOAD_OF_SNDBUF} x sndbuf / RTT",
            "tcp_sndbuf_expand; share measured on Linux 6.18: 0.67, with full bursts 0.80",
        ),
    ]
    return found + (_losses(asked) if asked.loss else [])


def binding(found: list[Limit]) -> tuple[Limit, Limit]:
    """The limit that binds, and the next one."""
    ordered = sorted((each for each in found if each.applies), key=lambda each: each.goodput_bit_s)
    return ordered[0], ordered[1]


def without_loss(found: list[Limit]) -> float:
    """What the path would carry, in bit/s, if only full queues lost packets."""
    return min(each.goodput_bit_s for each in found if not each.is_of_loss)


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
            _windowed(asked, mathis_segments * MSS_BYTES),
            "n x MSS / RTT x sqrt(1.5 / p)",
            "Mathis et al., CCR 27(3), 1997; b = 1 fits Linux",
            applies=control == "reno" or is_reno_like,
            is_of_loss=True,
        ),
        Limit(
            "loss (CUBIC)",
            _windowed(asked, cubic_segments * MSS_BYTES),
            "n x MSS / RTT x 1.054 (RTT / p)^0.75",
            "RFC 9438, 5.1; above Mathis where p < 0.55 RTT^3",
            applies=control == "cubic" and not is_reno_like,
            is_of_loss=True,
        ),
    ]
    if control == "hybla":
        shortest_s = min(asked.rtt_s, _HYBLA_RTT_S)
        found.append(
            Limit(
                "loss (Hybla)",
                asked.streams * mathis_segments * MSS_BYTES * 8 / shortest_s,
                "n x MSS / 25 ms x sqrt(1.5 / p)",
                "Caini, Firrincieli, IJSCN 22(5), 2004: as Reno over 25 ms",
                is_of_loss=True,
            )
        )
    return found
