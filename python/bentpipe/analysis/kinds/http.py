"""Fetches: the time from the request to the last byte, and hits of a cache."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.analysis.kinds.costs import COSTS
from bentpipe.analysis.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, Record, entry, workloads_of
from bentpipe.analysis.kinds.tails import tail
from bentpipe.runs.figures.times import times


def _fetch_s(record: Record, workload: str) -> list[float]:
    """Of each fetch that finished; the median where the record lists none."""
    listed = [fetch.get("total_s") for fetch in record["workloads"].get(workload, {}).get("per_fetch") or []]
    return [time_s for time_s in listed if time_s is not None] or entry("median_fetch_s")(record, workload)


def _times(record: Record, workload: str) -> Mapping[str, Any]:
    """Of all fetches; reckoned from those that are listed where the record has no more."""
    found = record["workloads"].get(workload, {})
    if found.get("fetch_times"):
        return found["fetch_times"]  # type: ignore[no-any-return]
    listed = [fetch.get("total_s") for fetch in found.get("per_fetch") or []]
    took = [time_s for time_s in listed if time_s is not None]
    return times(took, len(listed) - len(took))


def _transfer_s(record: Record, workload: str) -> list[float]:
    """Where a server thought: of each fetch, its time without that."""
    listed = record["workloads"].get(workload, {}).get("per_fetch") or []
    if not any(fetch.get("think_s") for fetch in listed):
        return []
    return [fetch["transfer_s"] for fetch in listed if fetch.get("transfer_s") is not None]


def _in_cache(key: str) -> Measure:
    def values(record: Record, workload: str) -> list[float]:
        cache = record["workloads"].get(workload, {}).get("cache")
        return [float(cache[key])] if cache and key in cache else []

    return Measure(key, f"cache\n{key}", "", values, key=f"cache.{key}")


def _views(record: Record, workload: str) -> list[tuple[str, Record]]:
    """What came from a cache and what did not are two things, not one with a median between them."""
    entry = record["workloads"][workload]
    listed = entry.get("per_fetch") or []
    if {fetch.get("cache") for fetch in listed} != {"hit", "miss"}:
        return [("", record)]
    found: list[tuple[str, Record]] = []
    for outcome, count in (("miss", "misses"), ("hit", "hits")):
        fetches = [fetch for fetch in listed if fetch["cache"] == outcome]
        part = {**entry, **_together(fetches), "per_fetch": fetches, "cache": {count: len(fetches)}}
        view = {**record, "workloads": {**record["workloads"], workload: part}}
        # A hit adds nothing to the long path's queue.
        found.append((outcome, view | {"pipes": {}} if outcome == "hit" else view))
    return found


def _together(fetches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of some of a workload's fetches."""
    carried: list[float] = [fetch.get("bytes") or 0 for fetch in fetches]
    again = [fetch.get("retransmits") for fetch in fetches]
    times_s = [time_s for fetch in fetches if (time_s := fetch.get("total_s")) is not None]
    took_s = sum(times_s) if len(times_s) == len(fetches) else None
    return {
        "fetch_times": None,
        "bytes": sum(carried),
        "goodput_mbit_s": sum(carried) * 8e-6 / took_s if took_s else None,
        "retransmits": None if None in again else sum(again),
    }


FETCH = Measure("fetch", "fetch", "s", _fetch_s, more_is_better=False, each="fetch", key="median_fetch_s")
P95, P99 = (tail("fetch", "fetch ", _times, "fetch_times", percent) for percent in (95, 99))
TRANSFER = Measure(
    "transfer",
    "transfer",
    "s",
    _transfer_s,
    more_is_better=False,
    each="fetch",
    key="transfer_times.p50_s",
)
HTTP = Kind(
    "http",
    "Fetches",
    (FETCH, P95, TRANSFER, GOODPUT, _in_cache("hits"), _in_cache("misses"), RETRANSMITS),
    workloads_of("http"),
    (P99,),
    costs=COSTS,
    counted="A fetch's time is from its request to its last byte. Goodput is the fetches' payload over "
    "the time that they took.",
    views=_views,
)
