"""What a transfer takes from others: capacity for what is sent again, queueing delay, a rival's share."""

from bentpipe.analysis.kinds.measure import Measure, Record
from bentpipe.runs.asked import base_rtt_s, capacity_bit_s, direction_of, workload_spec
from bentpipe.words.direction import Direction

_HEADERS_BYTES = 52
"""IPv4 and TCP with timestamps; what IPv6 adds changes the share by less than 2 % of itself."""

_TUNNEL_BYTES = 38
"""Outer IPv4 and UDP, and a repair's header."""


def is_rival(record: Record, workload: str) -> bool:
    """A rival flow: it has its own congestion control, and runs beside work that has none."""
    return _has_its_own(record, workload) and any(
        entry.get("kind") != "ping" and not _has_its_own(record, name)
        for name, entry in record["workloads"].items()
    )


def _has_its_own(record: Record, workload: str) -> bool:
    return bool(workload_spec(record, workload).get("congestion_control"))


def _sent_again(record: Record, workload: str) -> list[float]:
    """Payload sent again over payload carried, in percent; segments are taken to be full."""
    entry = record["workloads"].get(workload, {})
    again, carried = entry.get("retransmits"), entry.get("bytes")
    if again is None or not carried:
        return []
    spec = record.get("spec", {})
    tunnel = _TUNNEL_BYTES if spec.get("tunnel") else 0
    segment = (spec.get("path", {}).get("mtu") or 1500) - tunnel - _HEADERS_BYTES
    return [100 * again * segment / carried]


def _queue_delay(record: Record, workload: str) -> list[float]:
    """What the pings meanwhile waited beyond the base round trip, their median.

    Without pings, the loaded pipe's mean queue over its rate.
    """
    base_s = base_rtt_s(record)
    for name, entry in record["workloads"].items():
        meanwhile = entry.get("kind") == "ping" and (workload_spec(record, name).get("start_ns") or 0) >= 0
        if meanwhile and entry.get("median_ms") is not None and base_s is not None:
            return [max(entry["median_ms"] - base_s * 1000, 0.0)]
    direction = direction_of(record, workload) or Direction.DOWN
    rate_bit_s = capacity_bit_s(record, direction)
    waiting = record.get("pipes", {}).get(direction, {}).get("queue_bytes_mean")
    return [waiting * 8000 / rate_bit_s] if rate_bit_s and waiting is not None else []


def _left(record: Record, workload: str) -> list[float]:
    """The rivals' share of what all transfers carried, in percent. Nothing where there is no rival, nor of a
    page: what it carried while it was fetched is not a rate beside theirs."""
    rates = {
        name: entry.get("goodput_mbit_s") or 0.0
        for name, entry in record["workloads"].items()
        if entry.get("kind") == "bulk" and direction_of(record, name) == direction_of(record, workload)
    }
    rivals = [rate for name, rate in rates.items() if name != workload and is_rival(record, name)]
    together = sum(rates.values())
    beside = workload in rates and bool(rivals) and not is_rival(record, workload)
    return [100 * sum(rivals) / together] if beside and together else []


SENT_AGAIN = Measure(
    "sent again",
    "sent\nagain %",
    "",
    _sent_again,
    more_is_better=False,
    digits=2,
    key="sent_again_percent",
)
QUEUE_DELAY = Measure(
    "queue delay", "queue\nms", "", _queue_delay, more_is_better=False, key="queue_delay_ms"
)
LEFT = Measure("left", "rival's\nshare %", "", _left, digits=2, key="rival_share_percent")
COSTS = (SENT_AGAIN, QUEUE_DELAY, LEFT)
