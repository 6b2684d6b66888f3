"""A tunnel in plain numbers, and what of it cannot work as it is meant."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.tunnel import Tunnel
from bentpipe.lab.point import CellRuns
from bentpipe.lab.spec import NearSpec, PathSpec, RoomSpec, RunSpec, TunnelSpec
from bentpipe.lab.units import format_time

_HOLD_SHARE = 4
"""RACK waits for a late packet for a quarter of the round trip (RFC 8985, section 6.2)."""
_RTO_MARGIN_NS = 200_000_000
"""Linux's least (TCP_RTO_MIN)."""
_ROOM_SHARE = 2
"""A titrated repair enters while the queue is at most half full."""


def tunnel_spec(tunnel: Tunnel, path: PathSpec, near: NearSpec | None) -> TunnelSpec:
    """Raises `FaultError`."""
    titrated = tunnel.redundancy == "titrated"
    down, up = (
        (_room(path, path.down, path.rate_down_bit_s), _room(path, path.up, path.rate_up_bit_s))
        if titrated
        else (None, None)
    )
    if titrated and down is None and up is None:
        raise FaultError(
            'expected a number or "adaptive", or a path with a rate: without one there is no queue',
            key="tunnel.redundancy",
        )
    round_trip_ns = path.base_rtt_ns + (near.rtt_ns if near else 0)
    return TunnelSpec(
        kind=tunnel.kind,
        redundancy=tunnel.redundancy,
        window_packets=tunnel.window,
        hold_ns=round_trip_ns // _HOLD_SHARE if tunnel.hold is None else tunnel.hold,
        down=down,
        up=up,
    )


def _room(path: PathSpec, pipe: dict[str, Any], rate_bit_s: int | None) -> RoomSpec | None:
    """None: the pipe has no rate."""
    if rate_bit_s is None:
        return None
    limit = pipe["queue"]["limit"]
    match limit["unit"]:
        case "bytes":
            limit_bytes = limit["bytes"]
        case "packets":
            limit_bytes = limit["packets"] * path.mtu
        case "delay":
            limit_bytes = limit["delay_ns"] * rate_bit_s / 8e9
        case "bdp":
            limit_bytes = prod((limit["multiple"], limit["base_rtt_ns"], rate_bit_s)) / 8e9
        case _:  # unlimited: as if it held a BDP
            limit_bytes = path.base_rtt_ns * rate_bit_s / 8e9
    return RoomSpec(rate_bit_s=rate_bit_s, queue_bytes=int(limit_bytes / _ROOM_SHARE))


def warning(cells: Sequence[CellRuns]) -> str | None:
    """A sentence on holds that are longer than what TCP waits for. None: there are none."""
    found = dict.fromkeys(words for cell in cells if (words := held_too_long(cell.first.spec)))
    if not found:
        return None
    first = next(iter(found))
    return first if len(found) == 1 else f"{first} (and {len(found) - 1} more points)"


def held_too_long(spec: RunSpec) -> str | None:
    if spec.tunnel is None:
        return None
    waits_ns = min(2 * spec.base_rtt_ns, spec.base_rtt_ns + _RTO_MARGIN_NS)
    if spec.tunnel.hold_ns <= waits_ns:
        return None
    return (
        f"tunnel.hold: packets wait for earlier ones up to {format_time(spec.tunnel.hold_ns)}, but TCP waits "
        f"for an ACK for about {format_time(waits_ns)} on this path (RACK-TLP: two round trips; RTO: a round "
        "trip and 200 ms): it may resend packets that were not lost"
    )
