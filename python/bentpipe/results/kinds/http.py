"""Fetches: how long one takes, from its request to its last byte, and what a cache had of it."""

from bentpipe.results.kinds.measure import GOODPUT, RETRANSMITS, Kind, Measure, Record, entry, workloads_of


def _fetch_s(record: Record, workload: str) -> list[float]:
    """Of each fetch that finished; the median where the record lists none."""
    listed = [fetch["total_s"] for fetch in record["workloads"].get(workload, {}).get("per_fetch") or []]
    return [time_s for time_s in listed if time_s is not None] or entry("median_fetch_s")(record, workload)


def _in_cache(key: str) -> Measure:
    def values(record: Record, workload: str) -> list[float]:
        cache = record["workloads"].get(workload, {}).get("cache")
        return [float(cache[key])] if cache else []

    return Measure(key, f"cache\n{key}", "", values)


FETCH = Measure("fetch", "fetch", "s", _fetch_s, more_is_better=False, each="fetch")
HTTP = Kind(
    "http",
    "Fetches",
    (FETCH, GOODPUT, _in_cache("hits"), _in_cache("misses"), RETRANSMITS),
    workloads_of("http"),
)
