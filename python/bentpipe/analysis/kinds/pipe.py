"""The path under a load of channels: goodput of the loaded pipe, all flows together."""

from collections.abc import Callable

from bentpipe.analysis.kinds.channels import CHANNELS
from bentpipe.analysis.kinds.measure import Kind, Measure, Record


def _loaded(record: Record) -> list[str]:
    return ["down"] if CHANNELS.subjects(record) and "down" in record.get("pipes", {}) else []


def _of(key: str, scale: float = 1.0) -> Callable[[Record, str], list[float]]:
    def values(record: Record, pipe: str) -> list[float]:
        value = record.get("pipes", {}).get(pipe, {}).get(key)
        return [] if value is None else [value * scale]

    return values


PIPE = Kind(
    "pipe",
    "The pipe that they load",
    (
        Measure("throughput", "throughput", "Mbit/s", _of("throughput_mbit_s"), key="throughput_mbit_s"),
        Measure("goodput", "goodput", "Mbit/s", _of("goodput_mbit_s"), key="goodput_mbit_s"),
        Measure(
            "queue",
            "queue\nmean",
            "kB",
            _of("queue_bytes_mean", 1e-3),
            more_is_better=False,
            key="queue_mean_kb",
        ),
    ),
    _loaded,
    counted="Throughput and goodput are what left the pipe, over the whole run.",
)
