"""A run's settings, read from its record (the whole `spec`, in plain numbers)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.words.direction import Direction


def base_rtt_s(record: Mapping[str, Any]) -> float | None:
    """The round trip between client and server without any queue, as configured."""
    spec = record.get("spec", {})
    base_ns = spec.get("path", {}).get("base_rtt_ns")
    near_ns = (spec.get("near") or {}).get("rtt_ns") or 0
    return None if base_ns is None else (base_ns + near_ns) / 1e9


def workload_spec(record: Mapping[str, Any], workload: str) -> Mapping[str, Any]:
    """What the lab asked of a workload, in plain numbers; empty where the record does not say."""
    asked: Sequence[Mapping[str, Any]] = record.get("spec", {}).get("workloads", [])
    return next((spec for spec in asked if spec.get("name") == workload), {})


def direction_of(record: Mapping[str, Any], workload: str) -> Direction | None:
    """The one that was measured, or else asked for; None for a workload that has no direction, or both."""
    measured = Direction.parse(record.get("workloads", {}).get(workload, {}).get("direction"))
    return measured or Direction.parse(workload_spec(record, workload).get("direction"))


def capacity_bit_s(record: Mapping[str, Any], pipe: str) -> float | None:
    """The pipe's one rate; None where it has none, or one that changes."""
    shaper = record.get("spec", {}).get("path", {}).get(pipe, {}).get("shaper", {})
    return shaper.get("rate_bit_s") if shaper.get("kind") in {"fixed", "token_bucket"} else None


def queue_limit_bytes(record: Mapping[str, Any], pipe: str) -> float | None:
    """The queue's limit where it is one of bytes; None where packets or time count, or nothing does."""
    limit = record.get("spec", {}).get("path", {}).get(pipe, {}).get("queue", {}).get("limit", {})
    if limit.get("unit") == "bytes":
        return None if limit.get("bytes") is None else float(limit["bytes"])
    parts = (limit.get("multiple"), capacity_bit_s(record, pipe), limit.get("base_rtt_ns"))
    if limit.get("unit") != "bdp" or None in parts or not parts[1]:
        return None
    return math.prod(parts) / 8e9


def is_split(record: Mapping[str, Any]) -> bool:
    """Whether TCP ends at near and at far."""
    return bool(record.get("spec", {}).get("split"))


def path_sender(record: Mapping[str, Any], direction: Direction) -> str:
    """The host whose sockets send on the path."""
    if not is_split(record):
        return direction.sender
    return "far" if direction is Direction.DOWN else "near"


def is_carried(record: Mapping[str, Any], workload: str) -> bool:
    """Whether gateways carry its connections, so that none of its sockets sends on the path."""
    beside = (record.get("spec", {}).get("gateway") or {}).get("beside") or ()
    return bool(record.get("gateway")) and workload not in beside


def host(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What the lab asked of a host (client or server); empty where the record does not say."""
    found: Mapping[str, Any] = record.get("spec", {}).get(name) or {}
    return found


def pipe(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """How a pipe (down or up) was configured; empty where the record does not say."""
    found: Mapping[str, Any] = record.get("spec", {}).get("path", {}).get(name) or {}
    return found
