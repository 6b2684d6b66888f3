"""A tunnel in plain numbers, and checks of settings that cannot work."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any, NamedTuple

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.tunnel import Tunnel
from bentpipe.lab.point import CellRuns
from bentpipe.lab.spec import ExactSpec, NearSpec, PathSpec, RoomSpec, RunSpec, TunnelSpec
from bentpipe.lab.units import format_rate, format_time

WINDOW_PACKETS = 256
"""What a repair covers where the lab does not say."""
_HOLD_SHARE = 4
"""RACK waits for a late packet for a quarter of the round trip (RFC 8985, section 6.2)."""
_RTO_MARGIN_NS = 200_000_000
"""Linux's least (TCP_RTO_MIN)."""
_ROOM_SHARE = 2
"""A titrated repair enters while the queue is at most half full."""
_PATIENCE_SHARE = 8
"""A packet is taken for lost after an eighth of the round trip (RFC 9002, section 6.1.2)."""
_REPORT_NS = 50_000_000
"""A request waits for the next report at most so long (crates/sim/src/tunnel)."""
_MOST_KEPT = 65_535


def tunnel_spec(tunnel: Tunnel, path: PathSpec, near: NearSpec | None, beside: tuple[str, ...]) -> TunnelSpec:
    """`beside`: the workloads that it does not carry. Raises `FaultError`."""
    round_trip_ns = path.base_rtt_ns + (near.rtt_ns if near else 0)
    exact = None if tunnel.repair == "code" else _exact(tunnel, path, round_trip_ns)
    hold_ns = tunnel.hold
    if hold_ns is None:
        hold_ns = round_trip_ns // _HOLD_SHARE if exact is None else _tcp_waits_ns(round_trip_ns)
    down, up = _rooms(tunnel, path, hold_ns or round_trip_ns // _HOLD_SHARE)
    return TunnelSpec(
        kind=tunnel.kind,
        repair=tunnel.repair,
        redundancy=0.0 if tunnel.repair == "exact" else tunnel.redundancy,
        window_packets=tunnel.window or WINDOW_PACKETS,
        hold_ns=hold_ns,
        down=down,
        up=up,
        exact=exact,
        beside=beside,
    )


def titrated_pipes(tunnel: TunnelSpec | None, path: PathSpec) -> tuple[dict[str, Any], dict[str, Any]]:
    """The path's pipes, down and up, whose queues let the tunnel's repairs in when they have room."""
    rooms = (tunnel.down, tunnel.up) if tunnel else (None, None)
    down, up = (
        _titrated(pipe, room) if room else pipe
        for pipe, room in zip((path.down, path.up), rooms, strict=True)
    )
    return down, up


def _titrated(pipe: dict[str, Any], room: RoomSpec) -> dict[str, Any]:
    titration = {"room_bytes": room.queue_bytes, "max_age_ns": room.max_age_ns}
    return {**pipe, "queue": {**pipe["queue"], "titration": titration}}


def _rooms(tunnel: Tunnel, path: PathSpec, max_age_ns: int) -> tuple[RoomSpec | None, RoomSpec | None]:
    if tunnel.redundancy != "titrated" and not tunnel.titration:
        return None, None
    queues = _queues(path)
    rooms = [
        queue
        and RoomSpec(
            rate_bit_s=queue.rate_bit_s, queue_bytes=int(queue.bytes / _ROOM_SHARE), max_age_ns=max_age_ns
        )
        for queue in queues
    ]
    if rooms == [None, None]:
        if tunnel.titration:
            raise FaultError(
                "expected false, or a path with a rate: without one there is no queue", key="tunnel.titration"
            )
        raise FaultError(
            'expected a number or "adaptive", or a path with a rate: without one there is no queue',
            key="tunnel.redundancy",
        )
    return rooms[0], rooms[1]


class _Queue(NamedTuple):
    rate_bit_s: int
    bytes: float
    """What it may hold."""

    @property
    def full_ns(self) -> float:
        return self.bytes * 8e9 / self.rate_bit_s


def _queues(path: PathSpec) -> tuple[_Queue | None, _Queue | None]:
    """Of the pipes down and up; None: the pipe has no rate."""
    return _queue(path, path.down, path.rate_down_bit_s), _queue(path, path.up, path.rate_up_bit_s)


def _queue(path: PathSpec, pipe: dict[str, Any], rate_bit_s: int | None) -> _Queue | None:
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
    return _Queue(rate_bit_s, limit_bytes)


def _detected_ns(round_trip_ns: int) -> int:
    """From when a packet is missing to its request, at most."""
    return round_trip_ns // _PATIENCE_SHARE + _REPORT_NS


def _exact(tunnel: Tunnel, path: PathSpec, round_trip_ns: int) -> ExactSpec:
    """Raises `FaultError` where what is requested comes when it is no longer kept."""
    queues = [queue for queue in _queues(path) if queue]
    rate_bit_s = max((queue.rate_bit_s for queue in queues), default=None)
    answer_ns = round_trip_ns + _detected_ns(round_trip_ns)
    queues_ns = sum(queue.full_ns for queue in queues)

    def packets(length_ns: float) -> int:
        return _MOST_KEPT if rate_bit_s is None else ceil(length_ns * rate_bit_s / 8e9 / path.mtu)

    needed, kept = packets(answer_ns), min(2 * packets(answer_ns + queues_ns), _MOST_KEPT)
    if needed > _MOST_KEPT:
        raise FaultError(
            f'expected "code": a packet that is requested comes {format_time(answer_ns)} after it is missed. '
            f"In this time {needed} packets cross at {format_rate(rate_bit_s or 0)}, and at most "
            f"{_MOST_KEPT} are kept",
            key="tunnel.repair",
        )
    if tunnel.repair == "exact" and tunnel.window is not None:
        if tunnel.window < needed and rate_bit_s is not None:
            window_ns = round(tunnel.window * path.mtu * 8e9 / rate_bit_s)
            raise FaultError(
                f"expected {needed} or more: {tunnel.window} packets cross in {format_time(window_ns)} at "
                f"{format_rate(rate_bit_s)}. A packet that is requested comes {format_time(answer_ns)} after "
                f"it is missed: a round trip of {format_time(round_trip_ns)}, and up to "
                f"{format_time(_detected_ns(round_trip_ns))} until it is requested",
                key="tunnel.window",
            )
        kept = tunnel.window
    return ExactSpec(
        patience_ns=round_trip_ns // _PATIENCE_SHARE,
        again_ns=round(round_trip_ns + queues_ns) + 2 * _REPORT_NS,
        kept_packets=kept,
    )


def warning(cells: Sequence[CellRuns]) -> str | None:
    """A sentence on holds with which a tunnel does not do what it is meant for. None: there are none."""
    found = dict.fromkeys(words for cell in cells if (words := doubtful_hold(cell.first.spec)))
    if not found:
        return None
    first = next(iter(found))
    return first if len(found) == 1 else f"{first} (and {len(found) - 1} more points)"


def _tcp_waits_ns(round_trip_ns: int) -> int:
    """For an ACK."""
    return min(2 * round_trip_ns, round_trip_ns + _RTO_MARGIN_NS)


def doubtful_hold(spec: RunSpec) -> str | None:
    tunnel = spec.tunnel
    if tunnel is None:
        return None
    held, waits_ns = format_time(tunnel.hold_ns), _tcp_waits_ns(spec.base_rtt_ns)
    tolerated_ns = spec.base_rtt_ns // _HOLD_SHARE
    answer_ns = spec.base_rtt_ns + _detected_ns(spec.base_rtt_ns)
    if tunnel.hold_ns > waits_ns:
        return (
            f"tunnel.hold: packets wait for earlier ones up to {held}, but TCP waits "
            f"for an ACK for about {format_time(waits_ns)} on this path (RACK-TLP: two round trips; RTO: a "
            "round trip and 200 ms): it may resend packets that were not lost"
        )
    if tunnel.exact and tunnel.hold_ns < min(answer_ns, waits_ns):
        return (
            f"tunnel.hold: packets wait for earlier ones up to {held}, but one that is requested comes "
            f"{format_time(answer_ns)} after it is missed. It leaves out of order. TCP tolerates reordering "
            f"for {format_time(tolerated_ns)} (RACK: a quarter of the round trip), so TCP has resent it"
        )
    if not tunnel.exact and tunnel.hold_ns > tolerated_ns:
        return (
            f"tunnel.hold: packets wait up to {held} for an earlier one, also if no repair recovers it. Only "
            f"then TCP learns of the loss. It tolerates reordering for {format_time(tolerated_ns)} on this "
            "path (RACK: a quarter of the round trip), so a longer hold only delays its own repair"
        )
    return None
