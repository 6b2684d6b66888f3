"""A server in Hungary, a client in Singapore, before and after a few sysctls.

A run is one of the published where its round trip and rate are the original's and CUBIC sends; which of
them, by its number of streams and by the receiver's buffer. What iperf calls a window, and the original so
too, is the socket's buffer: 320 KiB before, 640 KB after. "After" was that and the sysctls, so either is
compared with it. Its defaults are taken for a window of 64 kB, as without window scaling.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from bentpipe.analysis.published.figure import Figure
from bentpipe.runs.asked import base_rtt_s, capacity_bit_s, direction_of, host, workload_spec
from bentpipe.words.direction import Direction

_KIB = 1024
_CAPPED_BUFFER = (250 * _KIB, 400 * _KIB)
_ASKED_BUFFER = (500 * _KIB, 800 * _KIB)

_Asked = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]
"""Whether a receiving host and a workload, as the lab asked for them, are what was measured."""


def read(table: Mapping[str, Any]) -> list[Figure]:
    path = (table["rtt_ms"] / 1000, table["uplink_mbit_s"] * 1_000_000)
    sysctl = int(table["sysctl"]["net.ipv4.tcp_rmem"].split()[2])
    tuned = tuple(table["tuned_KiB_s"])
    many = tuple(mib_s * _KIB for mib_s in table["streams_8_to_16_MiB_s"])
    return [
        _figure("defaults then", (table["default_KiB_s"],), path, _unscaled),
        _figure("capped windows", (table["untuned_best_KiB_s"],), path, _buffer(*_CAPPED_BUFFER)),
        _figure("tuned", tuned, path, _buffer(*_ASKED_BUFFER)),
        _figure("tuned", tuned, path, lambda receiver, spec: _third(receiver) == sysctl and _single(spec)),
        _figure("8 to 16 streams", many, path, lambda _, spec: 8 <= spec.get("streams", 1) <= 16),
    ]


def _buffer(low: float, high: float) -> _Asked:
    return lambda receiver, spec: low <= _third(receiver) <= high and _single(spec)


def _unscaled(receiver: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    return receiver.get("window_scaling") is False and _single(spec)


def _third(receiver: Mapping[str, Any]) -> int:
    """The most that a receive buffer may become; 0 where the kernel's default was left."""
    return int((receiver.get("tcp_rmem") or (0, 0, 0))[2])


def _single(spec: Mapping[str, Any]) -> bool:
    return spec.get("streams") == 1


def _figure(label: str, kib_s: tuple[float, ...], path: tuple[float, float], asked: _Asked) -> Figure:
    def fits(record: Mapping[str, Any], workload: str) -> bool:
        rtt_s, direction = base_rtt_s(record), direction_of(record, workload) or Direction.DOWN
        sender, receiver = direction.sender, direction.receiver
        return (
            rtt_s is not None
            and math.isclose(rtt_s, path[0], rel_tol=0.05)
            and capacity_bit_s(record, direction) == path[1]
            and host(record, sender).get("congestion_control") == "cubic"
            and asked(host(record, receiver), workload_spec(record, workload))
        )

    return Figure(label, "bulk", "goodput", "KiB/s", kib_s, fits)
