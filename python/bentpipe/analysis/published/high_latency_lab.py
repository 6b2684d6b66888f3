"""One file of 104857601 bytes, fetched five times over two reordering delay lines.

A run is one of the published three where its path, its file and its congestion control are the original's;
which of the three, by IP version and SACK (without it there is no DSACK either). The original's buffers are
not published, so any may be compared.
"""

import math
from collections.abc import Mapping
from typing import Any

from bentpipe.analysis.published.figure import Figure
from bentpipe.runs.asked import host, pipe, workload_spec

_FILE_BYTES = 104857601
_DELAY_NS = 50_000_000
_JITTER = {"spread_ns": 5_000_000, "distribution": "uniform", "correlation": 0.25, "reorder": True}
"""Uniform is what netem draws where it is told no distribution."""
_LOSS = 1e-6
_HELD_PACKETS = 1000


def read(table: Mapping[str, Any]) -> list[Figure]:
    return [
        _figure("IPv4", table["ipv4_s"], ip=4, sack=True),
        _figure("IPv6", table["ipv6_s"], ip=6, sack=True),
        _figure("IPv4, no SACK", table["ipv4_no_sack_s"], ip=4, sack=False),
    ]


def _figure(label: str, times_s: list[float], *, ip: int, sack: bool) -> Figure:
    def fits(record: Mapping[str, Any], workload: str) -> bool:
        client, server = host(record, "client"), host(record, "server")
        return (
            _is_the_fetch(workload_spec(record, workload))
            and all(_is_the_pipe(pipe(record, name)) for name in ("down", "up"))
            and server.get("congestion_control") == "cubic"
            and client.get("ip") == ip
            and _on("sack", client, server) == sack
            and (_on("dsack", client, server) or not sack)
        )

    return Figure(label, "http", "fetch", "s", tuple(times_s), fits)


def _on(option: str, *hosts: Mapping[str, Any]) -> bool:
    """Both are on by default in Linux."""
    return all(host_.get(option) is not False for host_ in hosts)


def _is_the_fetch(spec: Mapping[str, Any]) -> bool:
    asked = (spec.get("size_bytes"), spec.get("direction"), spec.get("connections"))
    return asked == (_FILE_BYTES, "down", 1)


def _is_the_pipe(found: Mapping[str, Any]) -> bool:
    propagation, loss = found.get("propagation", {}), found.get("channel", {}).get("loss", {})
    jitter = propagation.get("jitter") or {}
    return (
        found.get("shaper", {}).get("kind") == "unlimited"
        and propagation.get("delay_ns") == _DELAY_NS
        and all(jitter.get(key) == value for key, value in _JITTER.items())
        and propagation.get("limit", {}).get("packets") == _HELD_PACKETS
        and math.isclose(loss.get("p", 0.0), _LOSS)
    )
