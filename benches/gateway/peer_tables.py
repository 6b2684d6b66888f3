"""The tables of gateway-peers: for each work a row of figures for each gateway.

Of several seeds a figure is the median.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import polars as pl

from bentpipe import Results

PAYLOAD_SHARE = 1430 / 1500
"""Of a packet of the gateways. The ceiling of the others lies up to 2 % above it."""
PathKeys = dict[str, Any]
"""The lab's keys of a path."""
LEAVE_OUT_S = 4.0
"""Flows of `channels` begun in the last seconds of a load are in no figure of its flows' times."""
SECOND_LOAD_S = 12.0
_MEASURED_S = 20.0


@dataclass(frozen=True)
class Table:
    name: str
    head: str
    row: Callable[[Results, Sequence[int], PathKeys], Iterable[str]]


def rate_mbit_s(path: PathKeys) -> float:
    return float(str(path["path.rate"]).split()[0])


def _ceiling(path: PathKeys) -> float:
    """Of payload, in Mbit/s."""
    loss: Any = path.get("path.loss", 0)
    if isinstance(loss, dict):
        loss = loss["p"] / (loss["p"] + loss["r"])
    return rate_mbit_s(path) * (1 - float(loss)) * PAYLOAD_SHARE


def _page(results: Results, places: Sequence[int], _path: PathKeys) -> Iterator[str]:
    flows = _flows(results, places, "page", "users")
    if flows["end_s"].null_count():
        yield f"{flows.height - flows['end_s'].null_count()} of {flows.height} came"
    else:
        whole_s = flows.group_by("place").agg(pl.col("end_s").max() - pl.col("start_s").min())["end_s"]
        yield f"{whole_s.median():.2f}"
    yield _shares((flows["end_s"] - flows["start_s"]).drop_nulls(), (0.5, 0.95), 2)


def _file(results: Results, places: Sequence[int], path: PathKeys) -> Iterator[str]:
    """The first file: from the request to the last byte, or what came until the run's end."""
    flows = _flows(results, places, "file").sort("start_s").group_by("place", maintain_order=True).first()
    took_s = [
        (each["end_s"] or _end_s(results, each["place"])) - each["start_s"]
        for each in flows.iter_rows(named=True)
    ]
    rates = [each * 8e-6 / seconds for each, seconds in zip(flows["bytes"], took_s, strict=True)]
    if len(rates) < len(places):
        yield from ("not begun",) * 3
    else:
        is_whole = not flows["end_s"].null_count()
        yield (
            f"{median(took_s):.1f}"
            if is_whole
            else f"{min(flows['bytes']) / 1e6:.0f} MB in {max(took_s):.0f}"
        )
        yield f"{median(rates):.3g}"
        yield f"{100 * median(rates) / _ceiling(path):.0f} %"
    yield _queue(results, places, path, "file")
    costs = [_cost(results, place) for place in places]
    yield f"{median(each.sent_per_payload for each in costs):.3f}" if all(costs) else "no payload"
    yield _processor(costs)
    yield ", ".join(_memory(results, places, host) for host in ("near", "far"))


def _keys(results: Results, places: Sequence[int], _path: PathKeys) -> Iterator[str]:
    delays = pl.concat(results.of_run(results.names[place], "pings") for place in places)
    delays = delays.filter(workload="keys")["rtt_s"]
    yield _shares(delays.drop_nulls() * 1e3, (0.5, 0.99), 0)
    yield f"{delays.null_count()}"


def _call(results: Results, places: Sequence[int], _path: PathKeys) -> Iterator[str]:
    records = [results.records[place] for place in places]
    for direction in ("down", "up"):
        said = [record["workloads"]["call"][direction] for record in records]
        if any(each["mos"] is None for each in said):
            yield from ("none", "none")
            continue
        yield f"{median(each['mos'] for each in said):.2f}"
        lost = median(100 * (each["loss"] + (each["late_loss"] or 0)) for each in said)
        slow = [each["delay_p99_ms"] for each in said if each["delay_p99_ms"] is not None]
        yield f"{lost:.1f} %, {median(slow):.0f}" if slow else f"{lost:.1f} %, none"
    yield "through it" if all(map(_carries_call, records)) else "beside it"


def _carries_call(record: Any) -> bool:
    gateway = record["spec"].get("gateway")
    return gateway is not None and "call" not in gateway.get("beside", ())


def _neighbour(results: Results, places: Sequence[int], path: PathKeys) -> Iterator[str]:
    through, beside = ([_rate(results, place, name) for place in places] for name in ("bulk", "neighbour"))
    yield f"{median(through):.3g}"
    yield f"{median(beside):.3g}"
    yield f"{100 * median(beside) / (_ceiling(path) / 2):.0f} %"
    yield _queue(results, places, path, "bulk")


def _channels(results: Results, places: Sequence[int], path: PathKeys) -> Iterator[str]:
    flows = _flows(results, places, "few", "more")
    ends_s = [_end_s(results, place) for place in places]
    for from_s, to_s in ((0.0, SECOND_LOAD_S), (SECOND_LOAD_S, min(ends_s))):
        came = flows.filter(pl.col("end_s").is_between(from_s, to_s))["bytes"].sum()
        rate = float(came) * 8e-6 / (to_s - from_s) / len(places)
        yield f"{rate:.3g}, {100 * rate / _ceiling(path):.0f} %"
        begun = flows.filter(pl.col("start_s").is_between(from_s, to_s - LEAVE_OUT_S))
        times_s = (begun["end_s"] - begun["start_s"]).fill_null(math.inf)
        yield _shares(times_s, (0.5, 0.95), 2)


def _flows(results: Results, places: Sequence[int], *workloads: str) -> pl.DataFrame:
    tables = (results.of_run(results.names[place], "flows").with_columns(place=place) for place in places)
    return pl.concat(tables).filter(pl.col("workload").is_in(workloads))


def _end_s(results: Results, place: int) -> float:
    ended: Any = results.of_run(results.names[place], "link")["time_s"].max()
    duration_s: float = results.records[place]["spec"]["duration_ns"] / 1e9
    return min(float(ended), duration_s)


def _shares(values: pl.Series, shares: Sequence[float], digits: int) -> str:
    quantiles = [values.quantile(share, "higher") for share in shares]
    return ", ".join(
        "none" if each is None else "not in time" if math.isinf(each) else f"{each:.{digits}f}"
        for each in quantiles
    )


def _rate(results: Results, place: int, workload: str) -> float:
    return float(results.records[place]["workloads"][workload]["goodput_mbit_s"] or 0)


def _down(results: Results, place: int, workload: str) -> pl.DataFrame:
    """The path down while the download went on, without its first seconds: at most the last 20 s of it."""
    flows = results.of_run(results.names[place], "flows").filter(workload=workload)
    end_s = _end_s(results, place)
    last: Any = flows["end_s"].max()
    to_s = end_s if flows["end_s"].null_count() else min(end_s, float(last))
    link = results.of_run(results.names[place], "link").filter(pipe="down")
    return link.filter(pl.col("time_s").is_between(to_s - _MEASURED_S, to_s, closed="left"))


def _queue(results: Results, places: Sequence[int], path: PathKeys, workload: str) -> str:
    """The mean queue, as the time that it takes to leave at the link's rate."""
    means: list[Any] = [_down(results, place, workload)["queue_bytes_mean"].mean() for place in places]
    return f"{median(float(mean) * 8e-3 / rate_mbit_s(path) for mean in means):.0f}"


@dataclass(frozen=True)
class _Cost:
    """Of a whole run."""

    sent_per_payload: float
    processor_s_gbit: float


def _cost(results: Results, place: int) -> _Cost | None:
    """What the path down carried for all payload that came down, and how long the gateways' programs ran."""
    record: Any = results.records[place]
    payload_bytes = sum(
        entry.get("bytes") or 0 for entry in record["workloads"].values() if entry["kind"] == "http"
    )
    if not payload_bytes:
        return None
    link = results.of_run(results.names[place], "link").filter(pipe="down")
    ran_s = _processor_s(record)
    return _Cost(float(link["throughput_bytes"].sum()) / payload_bytes, ran_s / (payload_bytes * 8e-9))


def _processor(costs: Sequence[_Cost | None]) -> str:
    known = [each.processor_s_gbit for each in costs if each and each.processor_s_gbit]
    return f"{median(known):.2f}" if known else "none"


def _processor_s(record: Any) -> float:
    """What the programs at near and at far ran, in the whole run."""
    hosts = record["engine_error"]["hosts"]
    found = (program for host in ("near", "far") for program in (hosts.get(host) or {}).get("programs") or [])
    return sum(program["ran_s"] or 0.0 for program in found)


def _memory(results: Results, places: Sequence[int], host: str) -> str:
    """The most that the programs there held. bentpipe's gateways are threads of the engine here:
    nothing tells them from the rest of it.
    """
    hosts = [results.records[place]["engine_error"]["hosts"].get(host) or {} for place in places]
    each = [
        sum(held)
        for found in hosts
        if (held := [it["memory_max_mb"] for it in found.get("programs") or [] if it.get("memory_max_mb")])
    ]
    return f"{median(each):.0f}" if each else "none"


_OBJECTS = "all objects, s | one object: p50, p95 s"
TABLES = {
    "page and file": (
        Table("a page of 60 objects", _OBJECTS, _page),
        Table(
            "a file of 100 MB, beside it keystrokes and a call",
            "s | Mbit/s | of the ceiling | queue ms | sent per payload | processor s per Gbit | MB near, far",
            _file,
        ),
        Table("keystrokes beside the file", "p50, p99 ms | unanswered", _keys),
        Table(
            "a call beside the file",
            "MOS down | lost or late, p99 ms down | MOS up | lost or late, p99 ms up | carried",
            _call,
        ),
    ),
    "neighbour": (
        Table(
            "a neighbour's download",
            "download Mbit/s | neighbour Mbit/s | of an equal share | queue ms",
            _neighbour,
        ),
    ),
    "channels": (
        Table(
            "20 channels, then 100",
            "20: Mbit/s, of the ceiling | a flow of 20: p50, p95 s | 100: Mbit/s, of the ceiling | "
            "a flow of 100: p50, p95 s",
            _channels,
        ),
    ),
    "users": (Table("60 objects by 60 connections", _OBJECTS, _page),),
}
"""By the lab's `what`."""
