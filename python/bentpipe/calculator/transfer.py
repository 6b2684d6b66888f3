"""How long a transfer takes: slow start, then round trip by round trip what the windows allow.

1. The window doubles each round trip from ten segments (RFC 6928) until a loss, or until what binds besides
   losses is reached. HyStart may leave slow start before, and a full queue does so by loss; the packets have
   both.
2. Losses come at equal distances, every 1/p segments of a stream, as in the formulas of the rate. Between two
   the window grows as its congestion control says: by a segment a round trip (Reno), by RFC 9438, section 4
   (CUBIC), by (RTT / 25 ms)^2 segments (Hybla). BBR does not answer them.
3. A transfer is one request: a round trip to connect, half of one for the request, half for the first byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bentpipe.calculator.question import INITIAL_WINDOW_SEGMENTS, MSS_BYTES, Question

SLOW_START_FORMULA = "RTT x log2(W / (n x 10 MSS)), W = what binds x RTT"
COMPLETION_FORMULA = "2 RTT + round by round: slow start to the first loss or the path's BDP, then the window"
_HYBLA_RTT_S = 0.025
_CUBIC_C, _CUBIC_BETA = 0.4, 0.7
_CUBIC_ALPHA = 3 * (1 - _CUBIC_BETA) / (1 + _CUBIC_BETA)


@dataclass(frozen=True)
class Transfer:
    """A size carried, from the connection's first packet to the last byte's arrival."""

    completion_s: float
    in_slow_start_bytes: float
    """What slow start carries of it."""


def slow_start_s(asked: Question, goodput_bit_s: float) -> float:
    """From the first data to a window that carries `goodput_bit_s`."""
    window_bytes = goodput_bit_s / 8 * asked.rtt_s
    first_bytes = asked.streams * INITIAL_WINDOW_SEGMENTS * MSS_BYTES
    return asked.rtt_s * max(math.log2(window_bytes / first_bytes), 0.0)


def transfer(asked: Question, size_bytes: int, lossless_bit_s: float) -> Transfer:
    """`lossless_bit_s` is what the path would carry if only full queues lost packets."""
    to_send = size_bytes / MSS_BYTES / asked.streams
    most_segments = lossless_bit_s / 8 * asked.rtt_s / MSS_BYTES / asked.streams
    window = _Window(asked)
    sent, in_slow_start, rounds = 0.0, 0.0, 0
    while True:
        was_slow_start = window.is_slow_start
        this_round = window.segments if was_slow_start else min(window.segments, most_segments)
        if window.segments >= most_segments and not window.will_lose:
            # Nothing changes any more: the rest at the path's own rate.
            rest_s = (to_send - sent) / most_segments * asked.rtt_s
            break
        if sent + this_round >= to_send:
            rest_s = (to_send - sent) / most_segments * asked.rtt_s
            in_slow_start += (to_send - sent) * was_slow_start
            break
        carried = min(this_round, most_segments)
        sent += carried
        in_slow_start += carried * was_slow_start
        window.after_a_round(carried, most_segments)
        rounds += 1
    return Transfer((2 + rounds) * asked.rtt_s + rest_s, in_slow_start * MSS_BYTES * asked.streams)


class _Window:
    """One stream's congestion window in segments, with a loss every 1/p segments."""

    def __init__(self, asked: Question) -> None:
        self._control = asked.congestion_control
        self._rtt_s = asked.rtt_s
        self.will_lose = bool(asked.loss) and not self._control.startswith("bbr")
        self._distance = 1 / asked.loss if self.will_lose else math.inf
        self._until_loss = self._distance
        self.segments = float(INITIAL_WINDOW_SEGMENTS)
        self.is_slow_start = True
        self._before_loss = self._reno_segments = 0.0
        self._since_loss_s = 0.0

    def after_a_round(self, carried: float, most_segments: float) -> None:
        self._until_loss -= carried
        if self._until_loss <= 0:
            self._lose(min(self.segments, most_segments))
        elif self.is_slow_start:
            self.segments *= 2
            if self.segments >= most_segments:
                self.is_slow_start = False
                self._before_loss = self._reno_segments = self.segments = most_segments
        elif self.segments < most_segments:
            self._grow()

    def _lose(self, segments: float) -> None:
        self._until_loss += max(self._distance, 1.0)
        keeps = _CUBIC_BETA if self._control == "cubic" else 0.5
        self._before_loss, self._since_loss_s, self.is_slow_start = segments, 0.0, False
        self.segments = self._reno_segments = max(segments * keeps, 2.0)

    def _grow(self) -> None:
        if self._control == "hybla":
            self.segments += max(self._rtt_s / _HYBLA_RTT_S, 1.0) ** 2
        elif self._control == "cubic":
            self._since_loss_s += self._rtt_s
            # RFC 9438, 4.2 and 4.3: the cubic window, or Reno's estimate where that is more.
            k_s = (self._before_loss * (1 - _CUBIC_BETA) / _CUBIC_C) ** (1 / 3)
            cubic = _CUBIC_C * (self._since_loss_s - k_s) ** 3 + self._before_loss
            self._reno_segments += _CUBIC_ALPHA if self._reno_segments < self._before_loss else 1.0
            self.segments = max(cubic, self._reno_segments)
        else:
            self.segments += 1
