"""The figures of a record in words: meaning, interval, place of counting, and unit.

A key without words here is said by its own name: `hits_mean` is "hits mean". Its last word names the unit.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bentpipe.words.digits import digits
from bentpipe.words.wording import duration, percent, rate, size

_WORDS = {
    "goodput_mbit_s": "goodput, over the transfer's own time",
    "completion_s": "time to the last byte",
    "duration_s": "the transfer's own time",
    "bytes": "payload at the receiver",
    "retransmits": "segments sent again",
    "median_fetch_s": "median time of a fetch",
    "median_ms": "median round trip",
    "min_ms": "shortest round trip",
    "max_ms": "longest round trip",
    "lost": "pings lost",
    "sent": "pings sent",
}
_OF_KINDS: Mapping[str, Mapping[str, str]] = {
    "interactive": {
        "sent": "messages written",
        "unanswered": "messages without an answer",
        "min_ms": "shortest delay of an answer",
        "p50_ms": "median delay of an answer",
        "p95_ms": "delay of an answer, 95th percentile",
        "p99_ms": "delay of an answer, 99th percentile",
        "max_ms": "longest delay of an answer",
        "mean_ms": "mean delay of an answer",
    },
}
PIPE = {
    "throughput_mbit_s": "throughput, whole run, leaving the pipe",
    "goodput_mbit_s": "goodput, whole run, leaving the pipe",
    "drops, tail": "dropped by a full queue",
    "drops, aqm": "dropped by the queue discipline",
    "drops, policer": "dropped by the policer",
    "drops, ingress": "lost before the queue",
    "drops, line": "dropped by the delay line's limit",
    "drops, channel": "lost on the channel",
    "drops, outage": "lost in an outage",
    "queue_bytes_mean": "mean queue",
    "queue_bytes_max": "longest queue",
    "at_limit_share": "time with a full queue",
    "empty_share": "time with an empty queue",
    "lost_capacity_share": "capacity left unused",
    "delay_s_mean": "mean queueing delay",
    "delay_s_p95": "queueing delay, 95th percentile",
    "oscillation_period_s": "period of the queue's swings",
    "oscillation_strength": "strength of the swings (0 to 1)",
    "loss_episodes": "loss episodes",
    "flows_hit_mean": "flows hit by an episode, mean",
    "flows_hit_max": "flows hit by an episode, most",
}
TUNNEL = {
    "packets": "packets through the tunnel",
    "repairs": "repairs sent",
    "redundancy_sent": "repairs per packet, sent",
    "redundancy_used": "repairs per packet, used",
    "redundancy_useless": "repairs per packet, useless",
    "requested": "packets requested again",
    "exact_repairs": "packets sent again",
    "exact_used": "packets that came when sent again",
    "exact_useless": "packets sent again in vain",
    "overhead_bytes": "headers and repairs",
    "inner_bytes": "packets without them",
    "recovered": "packets recovered",
    "lost": "packets lost for good",
    "residual_loss": "share of packets lost for good",
    "too_long": "packets longer than the tunnel's MTU, dropped",
    "decoding_delay_s_p50": "delay of a recovered packet, median",
    "decoding_delay_s_p95": "delay of a recovered packet, 95th percentile",
    "decoding_delay_s_max": "delay of a recovered packet, longest",
    "exact_delay_s_p50": "delay of a packet sent again, median",
    "exact_delay_s_p95": "delay of a packet sent again, 95th percentile",
    "added_delay_s_mean": "delay of all packets in the tunnel's exit, mean",
    "added_delay_s_p50": "delay of all packets in the tunnel's exit, median",
    "added_delay_s_p95": "delay of all packets in the tunnel's exit, 95th percentile",
}
SPLIT = {
    "connections": "connections taken over",
    "resets": "connections that failed and were reset on the other side",
    "connect_failures": "connections that failed before both sides were connected",
    "down_bytes": "payload passed on, down",
    "up_bytes": "payload passed on, up",
    "buffered_bytes_max": "payload held at once, most",
    "retransmits": "segments sent again on the path",
    "open_at_once_max": "connections open at once, most",
    "open_at_once_limit": "connections open at once, limit",
}
GATEWAY = {
    "connections": "connections taken over",
    "resets": "connections that the other side reset",
    "sent_bytes": "payload taken from its hosts",
    "delivered_bytes": "payload given to its hosts",
    "packets": "packets sent for the first time",
    "repairs": "repairs sent",
    "exact_repairs": "packets sent again",
    "came_as_sent": "packets that came as they were sent",
    "came_by_repair": "packets that a repair recovered",
    "came_when_asked": "packets that came when sent again",
    "useless_repairs": "repairs that came for nothing",
    "useless_exact": "packets that came again for nothing",
    "reports": "reports sent",
    "probes": "probes sent, as nothing came back",
    "datagrams_sent": "UDP datagrams taken from its hosts",
    "datagrams_delivered": "UDP datagrams given to its hosts",
    "datagrams_dropped": "UDP datagrams dropped, as they waited too long or there was no room",
    "datagram_packets": "packets with UDP datagrams",
    "datagram_repairs": "repairs of packets with UDP datagrams",
    "channel_loss": "share that the path loses, as it estimates",
    "round_trip_s": "round trip between the gateways",
}
_UNITS: tuple[tuple[str, Callable[[float], str]], ...] = (
    ("mbit_s", lambda value: rate(value * 1e6)),
    ("bit_s", rate),
    ("bytes", lambda value: size(value) if value >= 1 or value == 0 else "below 1 B"),
    ("percent", lambda value: percent(value / 100)),
    ("share", percent),
    ("us", lambda value: duration(value / 1e6)),
    ("ms", lambda value: duration(value / 1e3)),
    ("s", duration),
)
"""By the words of a key, the longest first."""
_STATISTICS = {"mean", "max", "min", "p50", "p95", "p99", "median"}


@dataclass(frozen=True)
class Figure:
    words: str
    shown: str
    key: str
    """In the record."""


def figures(entry: Mapping[str, Any], *, of: Mapping[str, str] | None = None) -> list[Figure]:
    """Of a workload's, a pipe's or a tunnel's entry, what is one figure; a table in it (drops) by its parts.

    `of` has the words of some keys; a workload's by default.
    """
    words = {**_WORDS, **_OF_KINDS.get(entry.get("kind", ""), {})} if of is None else of
    return [
        Figure(words.get(key) or _plain(key), shown(key, value), key.replace(", ", "."))
        for key, value in _flat(entry)
    ]


def shown(key: str, value: Any) -> str:
    """In the unit that the key names, which is chosen by magnitude."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    unit = _unit(key)
    if unit:
        return unit(value)
    return digits(value, 12) if isinstance(value, int) else digits(value)


def _flat(entry: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield from (
                (f"{key}, {part}", inner) for part, inner in value.items() if not isinstance(inner, list)
            )
        elif not isinstance(value, list):
            yield key, value


def _split(key: str) -> tuple[list[str], Callable[[float], str] | None]:
    """A key's words without its unit, and how to say a value in it."""
    words = key.split("_")
    after = words[-1:] if len(words) > 1 and words[-1] in _STATISTICS else []
    before = words[: len(words) - len(after)]
    for name, unit in _UNITS:
        parts = name.split("_")
        if before[-len(parts) :] == parts:
            keeps = before if name in {"bytes", "share"} else before[: -len(parts)]
            return [*keeps, *after], unit
    return words, None


def _unit(key: str) -> Callable[[float], str] | None:
    return _split(key)[1]


def _plain(key: str) -> str:
    return " ".join(_split(key)[0]) or key
