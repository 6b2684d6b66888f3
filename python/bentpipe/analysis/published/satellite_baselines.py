"""An island behind 16 Mbit/s of GEO: channels, a queue, and a download of 40 MB among them.

A run is one of the published where its link's rate, the bytes that its queue holds and its number of channels
are. The throughput and goodput are the link's, the time is the download's own.
"""

from collections.abc import Callable, Mapping
from typing import Any

from bentpipe.analysis.published.figure import Figure
from bentpipe.runs.asked import capacity_bit_s, pipe, workload_spec

_RATE_BIT_S = 16_000_000
_DOWNLOAD_BYTES = 40_000_000
_Record = Mapping[str, Any]


def read(table: Mapping[str, Any]) -> list[Figure]:
    found = []
    measured = zip(table["clients"], table["queue_kB"], table["throughput_mbit"], strict=True)
    for number, (clients, queue_kb, throughput) in enumerate(measured):
        label, loaded = f"{clients} clients, {queue_kb} kB", _loaded(clients, queue_kb * 1000)
        found += [
            Figure(label, "pipe", "throughput", "Mbit/s", (throughput,), _is_down(loaded)),
            Figure(label, "bulk", "completion", "s", (table["download_s"][number],), _downloads(loaded)),
        ]
        if table["goodput_mbit"][number] != "":
            goodput = (table["goodput_mbit"][number],)
            found.append(Figure(label, "pipe", "goodput", "Mbit/s", goodput, _is_down(loaded)))
    return found


def _loaded(clients: int, queue_bytes: int) -> Callable[[_Record], bool]:
    """Whether a run has that load and that queue."""

    def fits(record: _Record) -> bool:
        works = record.get("spec", {}).get("workloads", [])
        return (
            capacity_bit_s(record, "down") == _RATE_BIT_S
            and pipe(record, "down").get("queue", {}).get("limit", {}).get("bytes") == queue_bytes
            and [work["channels"] for work in works if work["kind"] == "channels"] == [clients]
        )

    return fits


def _is_down(loaded: Callable[[_Record], bool]) -> Callable[[_Record, str], bool]:
    return lambda record, name: name == "down" and loaded(record)


def _downloads(loaded: Callable[[_Record], bool]) -> Callable[[_Record, str], bool]:
    def fits(record: _Record, workload: str) -> bool:
        asked = workload_spec(record, workload)
        return (
            asked.get("size_bytes") == _DOWNLOAD_BYTES and asked.get("direction") == "down" and loaded(record)
        )

    return fits
