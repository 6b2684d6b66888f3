"""Whether something nearer than the receiver answered a handshake, by a capture at the sender.

The first data after a handshake find no queue of their own. On one path their round trip is the handshake's
and the time that the first segments take to pass the bottleneck. Where even the shortest round trip of data
is much longer than that, the two were answered at different places.

Only the sender's side tells: its data are acknowledged by the other end's TCP at once. At a receiver, a round
trip holds what the sending program waits for. If the first data come late, others may have filled a queue
since the handshake, and it cannot be told, either. Nor by a socket, whose `min_rtt` has the handshake's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_LEAST_TIMES = 2.0
_LEAST_S = 0.002
_SOON_S = 0.2
_SOON_ROUND_TRIPS = 3
_FIRST_WINDOW_SEGMENTS = 10


def rtt_behind_s(flow: Mapping[str, Any], flows: Sequence[Mapping[str, Any]]) -> float | None:
    """The shortest round trip of data, if something nearer answered the handshake. None: it did not, or that
    cannot be told. `flows`: all of the capture, as `CaptureReading` tells them."""
    handshake_s, data_s = flow["handshake_rtt_s"], _of_data_s(flow)
    if handshake_s is None or data_s is None or flow["first_data_s"] is None:
        return None
    if flow["first_data_s"] - flow["start_s"] > handshake_s + max(_SOON_S, _SOON_ROUND_TRIPS * data_s):
        return None
    same_path = [each for each in flows if _ends(each) == _ends(flow)]
    shortest_s = min(found for each in same_path if (found := _of_data_s(each)) is not None)
    unqueued_s = shortest_s - _first_window_s(flow)
    is_apart = unqueued_s >= _LEAST_TIMES * handshake_s and unqueued_s - handshake_s >= _LEAST_S
    return data_s if is_apart else None


def _of_data_s(flow: Mapping[str, Any]) -> float | None:
    far_s = flow.get("far_rtt_of_data_s")
    if flow["vantage"] != "sender" or far_s is None:
        return None
    return float(far_s + (flow["near_rtt_s"] or 0.0))


def _first_window_s(flow: Mapping[str, Any]) -> float:
    """How long a first window may take to pass the bottleneck, at the rate that the flow got in the mean: of
    several that begin at once each gets its part."""
    lasted_s = flow["last_data_s"] - flow["first_data_s"]
    first = max(_FIRST_WINDOW_SEGMENTS * flow["mss_bytes"], flow["largest_payload_bytes"])
    return float(first * lasted_s / max(flow["delivered_bytes"], 1))


def _ends(flow: Mapping[str, Any]) -> frozenset[str]:
    return frozenset({flow["sender"], flow["receiver"]})
