"""One stream's congestion window, round trip by round trip: slow start, losses, and growth between them.

A round lasts a base round trip, or as long as the link takes for the window. Losses come from two sources:

* A full queue. In slow start each ACK releases two packets, so a round of W packets puts W / 2 into the
  queue, or W less the BDP where that is more. In congestion avoidance the queue overflows where the
  window is more than BDP and queue together. The sender learns of it a round trip later: slow start has
  then doubled the window.
* The path's own loss, at equal distances of 1/p segments, as in the formulas of the rate.

After a loss cwnd is 0.5 (Reno) or 0.7 (CUBIC) of what it was; one round repairs what was lost. It then
grows by a segment each round trip (Reno), by RFC 9438, section 4 (CUBIC), or by (RTT / 25 ms)^2 segments
(Hybla).

CUBIC leaves slow start by HyStart (RFC 9406's predecessor, tcp_cubic.c) where a round's ACKs have come
for half a round trip, if they are at most 2 ms apart; else where a round begins with more queueing delay
than an eighth of the round trip (4 to 16 ms).

1. Several streams lose at the same time, and each has an equal share of link and queue.
2. Repairs are not lost, so there are no timeouts. Where slow start's overflow loses repairs too, it takes
   longer.
3. BBR answers to neither kind of loss; its window is what the path holds.
"""

from __future__ import annotations

import math

from bentpipe.calculator.question import INITIAL_WINDOW_SEGMENTS, Question
from bentpipe.frozen import frozen

HYBLA_RTT_S = 0.025
_CUBIC_C, _CUBIC_BETA = 0.4, 0.7
_CUBIC_ALPHA = 8 / 15
"""Segments per round trip in the Reno-friendly region, as tcp_cubic.c rounds 3 (1 - beta) / (1 + beta)."""
_LEAST_GROWTH = 0.05
"""Of cwnd per round trip, until a first loss tells CUBIC of a maximum."""
_HYSTART_ACKS_APART_S = 0.002
_HYSTART_DELAY_S = (0.004, 0.016)


@frozen
class Round:
    """What one round carries, of one stream."""

    duration_s: float
    segments: float
    """Delivered for the first time."""
    is_slow_start: bool
    ends_in_loss: bool


class Window:
    """One stream's congestion window in segments. `most` is what its buffers allow."""

    def __init__(self, asked: Question, most: float) -> None:
        self._control = asked.congestion_control
        self._rtt_s = asked.rtt_s
        self._most = most
        self._bdp = asked.bdp_segments / asked.streams
        # The queue holds its limit, and the link the packet that it sends.
        self._queue = asked.queue_segments / asked.streams + 1
        answers = not self._control.startswith("bbr")
        self._will_lose_by_chance = bool(asked.loss) and answers
        self._distance = 1 / asked.loss if self._will_lose_by_chance else math.inf
        self._until_loss = self._distance
        self._may_overflow = answers and asked.queue_bytes is not None
        acks_apart_s = 2 * asked.mtu_bytes * 8 * asked.streams / asked.rate_bit_s
        self._acks_are_close = acks_apart_s <= _HYSTART_ACKS_APART_S
        self.segments = float(INITIAL_WINDOW_SEGMENTS)
        self.is_slow_start = True
        self._to_repair = 0.0
        self._before_loss: float | None = None
        """None until a first loss."""
        self._epoch_segments = self._reno_segments = 0.0
        self._since_loss_s = 0.0

    @property
    def will_lose(self) -> bool:
        return self._will_lose_by_chance or (self._may_overflow and self._most > self._bdp + self._queue)

    @property
    def is_settled(self) -> bool:
        """Whether nothing changes any more."""
        return self.segments >= self._most and not self.will_lose and not self._to_repair

    def round(self) -> Round:
        """Sends a window, and goes on to the next."""
        in_flight = min(self.segments, self._most)
        duration_s = self._rtt_s * max(in_flight / self._bdp, 1.0)
        repaired = min(self._to_repair, in_flight)
        self._to_repair -= repaired
        was_slow_start = self.is_slow_start
        self._until_loss -= in_flight
        lost = False
        if self._until_loss <= 0:
            self._until_loss += max(self._distance, 1.0)
            self._lose(in_flight, 1.0)
            lost = True
        elif self.is_slow_start:
            lost = self._slow_start()
        elif not self._to_repair:
            lost = self._grow(duration_s)
        return Round(duration_s, in_flight - repaired, was_slow_start, lost)

    def _slow_start(self) -> bool:
        acked = self.segments
        queued = max(acked - self._bdp, 0.0)
        # The window when the queue overflows, and when HyStart leaves, both in the round to come.
        overflows_at = min(acked, self._bdp) + self._queue
        leaves_at = self._hystart_leaves_at(acked, queued)
        if self._may_overflow and overflows_at <= min(2 * acked, leaves_at, self._most):
            drained = min(self._queue, max(self._bdp - acked, 0.0))
            found_at = min(2 * overflows_at, leaves_at, self._most)
            self._lose(found_at, min(found_at - overflows_at, overflows_at - drained))
            return True
        self.segments = min(2 * acked, leaves_at)
        if self.segments >= min(leaves_at, self._most):
            self.is_slow_start = False
            self._begin_epoch(min(self.segments, self._most))
        return False

    def _hystart_leaves_at(self, acked: float, queued: float) -> float:
        if self._control != "cubic":
            return math.inf
        if self._acks_are_close and acked >= self._bdp / 2:
            return acked + self._bdp / 2
        low, high = _HYSTART_DELAY_S
        if queued / self._bdp * self._rtt_s > min(max(self._rtt_s / 8, low), high):
            return acked
        return math.inf

    def _lose(self, segments: float, lost: float) -> None:
        keeps = _CUBIC_BETA if self._control == "cubic" else 0.5
        fell_short = self._before_loss is not None and segments < self._before_loss - 1
        # RFC 9438, 4.7: fast convergence.
        self._before_loss = segments * (1 + _CUBIC_BETA) / 2 if fell_short else segments
        self.is_slow_start = False
        self._begin_epoch(max(segments * keeps, 2.0))
        self._to_repair = max(lost, 1.0)

    def _begin_epoch(self, segments: float) -> None:
        self.segments = self._epoch_segments = self._reno_segments = segments
        self._since_loss_s = 0.0

    def _grow(self, duration_s: float) -> bool:
        overflows = self._may_overflow and self.segments > self._bdp + self._queue
        before = self.segments
        if self.segments < self._most:
            self._grow_by(duration_s)
        if overflows:
            self._lose(self.segments, self.segments - before)
        return overflows

    def _grow_by(self, duration_s: float) -> None:
        if self._control == "hybla":
            self.segments += max(self._rtt_s / HYBLA_RTT_S, 1.0) ** 2
        elif self._control == "cubic":
            self._since_loss_s += duration_s
            # RFC 9438, 4.2 and 4.3: the cubic window, or Reno's estimate where that is more.
            top = max(self._before_loss or 0.0, self._epoch_segments)
            k_s = ((top - self._epoch_segments) / _CUBIC_C) ** (1 / 3)
            cubic = _CUBIC_C * (self._since_loss_s - k_s) ** 3 + top
            if self._before_loss is None:
                cubic = max(cubic, (1 + _LEAST_GROWTH) * self.segments)
            self._reno_segments += _CUBIC_ALPHA
            self.segments = max(min(cubic, 1.5 * self.segments), self._reno_segments, self.segments)
        else:
            self.segments += 1
