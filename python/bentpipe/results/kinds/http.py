"""Fetches: how long one takes, from its request to its last byte, and what a cache had of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.results.kinds.costs import COSTS
from bentpipe.results.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, Record, entry, workloads_of


def _fetch_s(record: Record, workload: str) -> list[float]:
    """Of each fetch that finished; the median where the record lists none."""
    listed = [fetch["total_s"] for fetch in record["workloads"].get(workload, {}).get("per_fetch") or []]
    return [time_s for time_s in listed if time_s is not None] or entry("median_fetch_s")(record, workload)


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
        # What the long path's queue held is none of a hit's doing.
        found.append((outcome, view | {"pipes": {}} if outcome == "hit" else view))
    return found


def _together(fetches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of some of a workload's fetches."""
    carried, again = [fetch["bytes"] for fetch in fetches], [fetch.get("retransmits") for fetch in fetches]
    times_s = [fetch["total_s"] for fetch in fetches]
    took_s = None if None in times_s else sum(times_s)
    return {
        "bytes": sum(carried),
        "goodput_mbit_s": sum(carried) * 8e-6 / took_s if took_s else None,
        "retransmits": None if None in again else sum(again),
    }


FETCH = Measure("fetch", "fetch", "s", _fetch_s, more_is_better=False, each="fetch", key="median_fetch_s")
HTTP = Kind(
    "http",
    "Fetches",
    (FETCH, GOODPUT, _in_cache("hits"), _in_cache("misses"), RETRANSMITS),
    workloads_of("http"),
    costs=COSTS,
    views=_views,
)
