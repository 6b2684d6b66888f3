"""How long things take: what a queue can hold, in seconds, and what a run will last: timeouts, the bar."""

from typing import Any

from bentpipe.lab.spec import BulkSpec, CallSpec, InteractiveSpec, RunSpec, WorkloadSpec
from bentpipe.words.direction import Direction

_FULL_PACKET_BYTES = 1500
_UNKNOWN_QUEUE_S = 10.0
_MOST_QUEUE_S = 60.0
_SETUP_S = 1.5
_GUESSED_RATE_BIT_S = 1e8
_SYN_BYTES = 60
_GIVES_UP_S = 131.0
"""Without an answer, connect(2) fails: tcp_syn_linear_timeouts and tcp_syn_retries of Linux 6.18."""


def queueing_s(pipe: dict[str, Any]) -> float:
    """The longest wait in this pipe's queue; bounded, since a lab may ask for no limit at all."""
    rate_bit_s = _lowest_rate(pipe["shaper"])
    if rate_bit_s is None:
        return 0.0
    limit = pipe["queue"]["limit"]
    match limit["unit"]:
        case "bytes":
            seconds = limit["bytes"] * 8 / rate_bit_s
        case "packets":
            seconds = limit["packets"] * _FULL_PACKET_BYTES * 8 / rate_bit_s
        case "delay":
            seconds = limit["delay_ns"] / 1e9
        case "bdp":
            seconds = limit["multiple"] * limit["base_rtt_ns"] / 1e9
        case _:
            seconds = _UNKNOWN_QUEUE_S
    return float(min(seconds, _MOST_QUEUE_S))


def full_round_trip_s(spec: RunSpec) -> float:
    """A round trip when the queues of all pipes are full."""
    links = [each for each in (spec.path, spec.near) if each]
    return spec.base_rtt_ns / 1e9 + sum(queueing_s(link.down) + queueing_s(link.up) for link in links)


def connects(spec: RunSpec) -> bool:
    """Whether an answer to a first SYN comes before the client gives up."""
    rates = [_lowest_rate(pipe["shaper"]) for pipe in (spec.path.down, spec.path.up)]
    sent_s = sum(_SYN_BYTES * 8 / rate_bit_s for rate_bit_s in rates if rate_bit_s)
    return sent_s + spec.base_rtt_ns / 1e9 < _GIVES_UP_S


def run_length_s(spec: RunSpec) -> float:
    """Of a live run: its set-up, and from the earliest start to the run's end, as far as the lab tells."""
    return _SETUP_S - spec.earliest_start_ns / 1e9 + run_end_s(spec)


def run_end_s(spec: RunSpec) -> float:
    """When the run ends on its own clock, as far as the lab tells."""
    last_s = max([0.0, *(work.start_ns / 1e9 + _work_s(work, spec) for work in spec.workloads)])
    if spec.duration_s is not None:
        last_s = spec.duration_s if spec.until == "duration" else min(last_s, spec.duration_s)
    return last_s


def _work_s(work: WorkloadSpec, spec: RunSpec) -> float:
    if work.kind in {"bulk", "http"} and not connects(spec):
        return _GIVES_UP_S
    match work.kind:
        case "ping":
            return (work.count * work.interval_ns + spec.base_rtt_ns) / 1e9
        case "interactive" | "call":
            return _sending_s(work) + 2 * spec.base_rtt_ns / 1e9
        case "bulk":
            return _bulk_s(work, spec)
        case "http":
            # A round trip to connect and one to ask, and for a page one to ask for each object.
            objects = work.objects_bytes or (work.size_bytes or 0,)
            asked_s = (1 + len(objects) / work.connections) * spec.base_rtt_ns / 1e9
            return work.fetches * (asked_s + _carried_s(sum(objects), work.direction, spec))
        case _:
            return 0.0


def _sending_s(work: InteractiveSpec | CallSpec) -> float:
    """For how long messages or packets are sent."""
    if work.kind == "interactive" and work.count is not None:
        return work.count * work.interval_ns / 1e9
    return (work.time_ns or 0) / 1e9


def _bulk_s(work: BulkSpec, spec: RunSpec) -> float:
    # iperf3 takes about eight round trips to set itself up and to exchange its results.
    around_s = 8 * spec.base_rtt_ns / 1e9
    if work.time_ns is not None:
        return (work.omit_ns + work.time_ns) / 1e9 + around_s
    return around_s + _carried_s(work.size_bytes or 0, work.direction, spec)


def _carried_s(size_bytes: int, direction: Direction, spec: RunSpec) -> float:
    pipe = spec.path.up if direction is Direction.UP else spec.path.down
    return size_bytes * 8 / (_lowest_rate(pipe["shaper"]) or _GUESSED_RATE_BIT_S)


def _lowest_rate(shaper: dict[str, Any]) -> float | None:
    match shaper["kind"]:
        case "fixed" | "token_bucket":
            return float(shaper["rate_bit_s"])
        case "steps":
            rates = [step["rate_bit_s"] for step in shaper["steps"] if step["rate_bit_s"]]
            return float(min(rates)) if rates else None
        case "trace":
            times = shaper["opportunities_ns"]
            return len(times) * _FULL_PACKET_BYTES * 8 * 1e9 / times[-1] if times and times[-1] > 0 else None
        case _:
            return None
