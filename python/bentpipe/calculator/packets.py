"""Simulates the same point in the `sim` engine, and compares it with the formulas.

1. The rate is that of a long transfer whose start is left out, sent by the program asked for: iperf3,
   nginx (`long`) or curl's upload (`short`). The completion is that of one fetch; of several streams each
   carries its share. Without `--queue` the bottleneck's queue is one BDP, the default of a lab.
2. Without loss there is no chance in it, and one run tells all. With loss the median of several seeds is
   compared.
3. They agree within 15 %: what `sim` itself is meant to keep to beside a real kernel (docs/accuracy.md).
"""

from __future__ import annotations

import math

from bentpipe.analysis.statistics import Estimate, estimate
from bentpipe.calculator.question import Question
from bentpipe.calculator.sim_point import LEAST_QUEUE_PACKETS, Work, bulk, data_pipe, fetch, simulate
from bentpipe.calculator.transfer import slow_start_s
from bentpipe.frozen import frozen

AGREES_WITHIN = 0.15
"""Of what the formulas say."""
SEEDS = 7
"""Their range holds the true median with 98 %."""
_PACKETS = 2_000_000
"""In all runs together: a second or two of computing."""
_PACKETS_OF_A_SIZE = 10_000_000
"""The same where a size is asked about: 15 GB without loss, 2 GB in each of seven runs with it."""
_MOST_BYTES = 15e9
_DAY_S = 86_400.0
_LEAST_S, _MOST_S = 20.0, 3600.0
_ROUND_TRIPS = 150
_LOSSES = 150
"""So many in each run, where that can be afforded."""
_SETTLED_AFTER_LOSSES = 15
"""A window of which 0.7 is left at each is then 1/200 of what slow start made it."""


@frozen
class PacketLevel:
    """What the packets did."""

    goodput_bit_s: Estimate
    completion_s: Estimate | None
    average_bit_s: Estimate | None
    """From the start on, over the time asked for; None where none was."""
    time_s: float
    """Measured, after `omit_s`."""
    omit_s: float
    seeds: int

    @property
    def simulated_s(self) -> float:
        return self.time_s + self.omit_s


def agrees(said: float, found: Estimate) -> bool:
    return abs(found.median / said - 1) <= AGREES_WITHIN


def packet_level(asked: Question, bound_bit_s: float, *, acks_drop: bool = False) -> PacketLevel:
    """Simulates the point; `bound_bit_s` is what the formulas say, and only decides for how long. With
    `acks_drop` the ACKs' queue is full, and a round trip lasts longer by what it holds."""
    seeds = range(1, (SEEDS if asked.loss else 1) + 1)
    acks_wait_s = _full_ack_queue_s(asked) if acks_drop else 0.0
    time_s, omit_s = _length_s(asked, bound_bit_s, len(seeds), acks_wait_s)
    goodput = _estimate([_goodput_bit_s(asked, bound_bit_s, time_s, omit_s, seed) for seed in seeds])
    average = completion = None
    if asked.time_s is not None and bound_bit_s * asked.time_s / 8 <= _MOST_BYTES / len(seeds):
        from_start = [_goodput_bit_s(asked, bound_bit_s, asked.time_s, 0, seed) for seed in seeds]
        average = _estimate(from_start)
    if asked.size_bytes is not None and _can_be_fetched(asked, asked.size_bytes, goodput.median, len(seeds)):
        fetches = _fetches(asked, asked.size_bytes)
        completion = estimate([_last_s(asked, fetches, seed) for seed in seeds])
    return PacketLevel(goodput, completion, average, time_s, omit_s, len(seeds))


def _estimate(rates: list[float]) -> Estimate:
    found = estimate(rates)
    assert found is not None
    return found


def _goodput_bit_s(asked: Question, bound_bit_s: float, time_s: float, omit_s: float, seed: int) -> float:
    """Of one run; 0 where nothing arrived in the time that is measured."""
    if asked.program == "iperf3":
        # iperf3 takes whole seconds.
        work = bulk(asked.streams, math.ceil(time_s), math.ceil(omit_s))
        (found,) = simulate(asked, [work], seed)
        return float(found["bytes"] * 8e9 / found["measured_ns"]) if found["measured_ns"] else 0.0
    # A fetch has no `omit`; the same run cut short says what it carried until then.
    size = round(max(bound_bit_s, asked.rate_bit_s) / 8 * (time_s + omit_s)) + 1
    until_end, until_omit = (
        sum(found["bytes"] for found in simulate(asked, _fetches(asked, size), seed, duration_s=end_s))
        if end_s
        else 0
        for end_s in (time_s + omit_s, omit_s)
    )
    return float((until_end - until_omit) * 8 / time_s)


def _fetches(asked: Question, size_bytes: int) -> list[Work]:
    """The workloads that carry the size over all streams: an upload has one connection for each."""
    if data_pipe(asked) == "down":
        return [fetch("down", size_bytes, connections=asked.streams)]
    share_bytes = max(1, math.ceil(size_bytes / asked.streams))
    return [fetch("up", share_bytes)] * asked.streams


def _last_s(asked: Question, fetches: list[Work], seed: int) -> float:
    """When the last of them was complete. All begin at time zero."""
    return max(float(found["last_byte_ns"]) for found in simulate(asked, fetches, seed)) / 1e9


def _can_be_fetched(asked: Question, size_bytes: int, rate_bit_s: float, seeds: int) -> bool:
    """Whether a fetch of it ends within a few seconds of computing, and within a day of the path's clock."""
    if size_bytes / asked.mss_bytes * seeds > _PACKETS_OF_A_SIZE:
        return False
    return size_bytes * 8 < rate_bit_s * _DAY_S


def _length_s(asked: Question, bound_bit_s: float, seeds: int, acks_wait_s: float = 0.0) -> tuple[int, int]:
    """Seconds measured, and the seconds left out before: slow start twice over, and CUBIC's first period."""
    packets_a_second = bound_bit_s / 8 / asked.mss_bytes
    segments = max(packets_a_second * asked.rtt_s / asked.streams, 1.0)
    period_s = (0.75 * segments) ** (1 / 3)  # RFC 9438, 4.2: K = cbrt(W (1 - 0.7) / 0.4)
    rtt_s = asked.rtt_s + acks_wait_s
    omit_s = math.ceil(2 * slow_start_s(asked, bound_bit_s) + 5 * rtt_s + period_s)
    wanted_s = max(_LEAST_S, _ROUND_TRIPS * rtt_s, 5 * period_s)
    if asked.loss:
        between_losses_s = asked.streams / asked.loss / packets_a_second
        omit_s = math.ceil(max(omit_s, min(_SETTLED_AFTER_LOSSES * between_losses_s, _MOST_S / 4)))
        wanted_s = max(wanted_s, _LOSSES * between_losses_s / asked.streams)
    affordable_s = max(_PACKETS / seeds / packets_a_second - omit_s, 30 * asked.rtt_s, 1.0)
    return math.ceil(min(wanted_s, affordable_s, _MOST_S)), omit_s


def _full_ack_queue_s(asked: Question) -> float:
    """How long an ACK waits in a full queue of a lab's default: one BDP, and ten packets at least."""
    rate_bit_s = asked.rate_up_bit_s or asked.rate_bit_s
    return max(asked.rtt_s, LEAST_QUEUE_PACKETS * asked.mtu_bytes * 8 / rate_bit_s)
