"""The time of a transfer, and the goodput with a given queue: round by round (window.py).

A transfer is one request: a round trip to connect, half of one for the request, half for the first byte.
"""

from __future__ import annotations

import math

from bentpipe.calculator.question import INITIAL_WINDOW_SEGMENTS, Question
from bentpipe.calculator.window import Window
from bentpipe.frozen import frozen

SLOW_START_FORMULA = "RTT x log2(W / (n x 10 MSS)), W = what binds x RTT"
COMPLETION_FORMULA = "2 RTT + round by round: slow start to a loss or the path's BDP, then the window"
_LOSSES_TO_SETTLE, _LOSSES_TO_COUNT = 10, 20
_MOST_ROUNDS = 200_000


@frozen
class Transfer:
    """A size carried, from the connection's first packet to the last byte's arrival."""

    completion_s: float
    in_slow_start_bytes: float
    """What slow start carries of it."""


def slow_start_s(asked: Question, goodput_bit_s: float) -> float:
    """From the first data to a window that carries `goodput_bit_s`."""
    window_bytes = goodput_bit_s / 8 * asked.rtt_s
    first_bytes = asked.streams * INITIAL_WINDOW_SEGMENTS * asked.mss_bytes
    return asked.rtt_s * max(math.log2(window_bytes / first_bytes), 0.0)


def largest_window_bytes(asked: Question, allowed_bytes: float) -> float:
    """Of a stream. Where nothing was said of a queue nothing overflows: the window ends at the BDP."""
    if asked.queue_bytes is not None:
        return allowed_bytes
    return min(allowed_bytes, asked.bdp_segments * asked.mss_bytes / asked.streams)


def transfer(asked: Question, size_bytes: int, most_bytes: float) -> Transfer:
    """`most_bytes` is the largest window of a stream that buffers allow."""
    to_send = size_bytes / asked.mss_bytes / asked.streams
    window = Window(asked, most_bytes / asked.mss_bytes)
    sent, in_slow_start, spent_s = 0.0, 0.0, 0.0
    while True:
        is_settled = window.is_settled
        this = window.round()
        segments_s = this.segments / this.duration_s
        if is_settled or sent + this.segments >= to_send:
            break
        sent += this.segments
        in_slow_start += this.segments * this.is_slow_start
        spent_s += this.duration_s
    rest = to_send - sent
    in_slow_start += rest * this.is_slow_start
    # A last round's packets leave one by one, as the link takes them.
    rest_s = rest / (segments_s if is_settled else max(segments_s, _link_segments_s(asked)))
    return Transfer(2 * asked.rtt_s + spent_s + rest_s, in_slow_start * asked.mss_bytes * asked.streams)


def average_bit_s(asked: Question, from_s: float, to_s: float, most_bytes: float) -> float:
    """Payload between two times since the first data left, all streams together."""
    window = Window(asked, most_bytes / asked.mss_bytes)
    segments, now_s = 0.0, 0.0
    while now_s < to_s:
        is_settled = window.is_settled
        this = window.round()
        ends_s = to_s if is_settled else min(now_s + this.duration_s, to_s)
        counted_s = max(ends_s - max(now_s, from_s), 0.0)
        segments += this.segments * counted_s / this.duration_s
        now_s += max(this.duration_s, ends_s - now_s)
    return segments * asked.streams * asked.mss_bytes * 8 / (to_s - from_s)


@frozen
class Loss:
    """A loss in one stream's life."""

    after_s: float
    """Since the first data left."""
    is_in_slow_start: bool


def first_losses(asked: Question, most_bytes: float, within_s: float) -> list[Loss]:
    """The first two, of those within a time."""
    window = Window(asked, most_bytes / asked.mss_bytes)
    found: list[Loss] = []
    now_s = 0.0
    while now_s < within_s and len(found) < 2 and not window.is_settled:
        this = window.round()
        now_s += this.duration_s
        if this.ends_in_loss:
            found.append(Loss(now_s, this.is_slow_start))
    return found


def sawtooth_bit_s(asked: Question, most_bytes: float) -> float:
    """Payload in the long run, over whole cycles from loss to loss, all streams together."""
    window = Window(asked, most_bytes / asked.mss_bytes)
    losses, segments, spent_s = 0, 0.0, 0.0
    for _ in range(_MOST_ROUNDS):
        if window.is_settled or losses == _LOSSES_TO_SETTLE + _LOSSES_TO_COUNT:
            break
        this = window.round()
        if losses >= _LOSSES_TO_SETTLE:
            segments += this.segments
            spent_s += this.duration_s
        losses += this.ends_in_loss
    if not spent_s:
        this = window.round()
        segments, spent_s = this.segments, this.duration_s
    return min(segments * asked.streams * asked.mss_bytes * 8 / spent_s, asked.capacity_bit_s)


def _link_segments_s(asked: Question) -> float:
    return asked.capacity_bit_s / 8 / asked.mss_bytes / asked.streams
