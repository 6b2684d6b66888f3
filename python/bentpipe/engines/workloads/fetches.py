"""The entry and the flows of a workload `http`, from what became of its transfers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bentpipe.engines.workloads.nginx import Served
from bentpipe.engines.workloads.transfer import Transfer
from bentpipe.lab.spec import HttpSpec
from bentpipe.runs.figures.times import Request, of_fetches, of_spans, think_s
from bentpipe.words.direction import Direction


def completed(
    transfers: Iterable[Transfer],
    served: Mapping[int, Sequence[Served]],
    *,
    upload: bool,
    wall_minus_run_s: float,
    is_client_port: bool = True,
) -> list[Transfer]:
    """Adds what the server alone knows: the port and the bytes of a fetch of which curl said nothing, and
    when an upload's first byte came in, to a millisecond. `is_client_port`: the port that the server saw
    is the client's."""

    def complete(each: Transfer) -> Transfer:
        lines = served.get(each.item.number)
        if not lines:
            return each
        line = lines[-1]
        known: dict[str, Any] = {"cache": line.cache}
        if each.local_port is None:
            carried = line.request_bytes if upload else line.body_bytes
            known |= {
                "local_port": line.port if is_client_port else None,
                "bytes": min(carried, each.item.size_bytes),
                "header_bytes": line.header_bytes,
            }
        if upload:
            known |= {"first_byte_s": line.begun_unix_s - wall_minus_run_s}
        return replace(each, **known)

    return [complete(each) for each in transfers]


def entry(
    spec: HttpSpec, transfers: Sequence[Transfer], *, retransmits: int | None, ended_s: float
) -> dict[str, Any]:
    """`retransmits`: of all connections; `ended_s`: when the last program was over."""
    by_visit: dict[int, list[Transfer]] = {}
    for each in transfers:
        by_visit.setdefault(each.item.visit, []).append(each)
    visits = [_visit(spec, by_visit[number]) for number in sorted(by_visit)]
    start_s = spec.start_ns / 1e9
    whole = sum(visit["total_s"] is not None for visit in visits) == spec.fetches
    last_s = max((each.end_s for each in transfers if each.end_s is not None), default=None)
    seconds = (last_s if whole and last_s is not None else ended_s) - start_s
    carried = sum(each.bytes for each in transfers)
    return {
        "kind": "http",
        "direction": spec.direction.value,
        "connections": spec.connections,
        "goodput_mbit_s": carried * 8e-6 / seconds if seconds > 0 else None,
        "bytes": carried,
        "duration_s": seconds,
        "completion_s": last_s - start_s if whole and last_s is not None else None,
        "retransmits": retransmits,
        "cache": _cache(transfers),
        **of_fetches(visits, start_s, seconds),
        "object_times": of_spans((each.start_s, each.end_s) for each in transfers)
        if spec.objects_bytes is not None
        else None,
    }


def _visit(spec: HttpSpec, transfers: Sequence[Transfer]) -> dict[str, Any]:
    """Seconds from the fetch's start, as curl counts them; of a page, by its first and its last object."""
    start_s = min(each.start_s for each in transfers)
    connected = [each.connected_s for each in transfers if each.connected_s is not None]
    first_byte = [each.first_byte_s for each in transfers if each.first_byte_s is not None]
    ends = [each.end_s for each in transfers if each.end_s is not None]
    total_s = max(ends) - start_s if len(ends) == len(transfers) else None
    thought_s = think_s([_request(spec, each) for each in transfers]) if spec.think_ns else 0.0
    return {
        "start_s": start_s,
        "connect_s": min(connected) - start_s if connected else None,
        "first_byte_s": min(first_byte) - start_s if first_byte else None,
        "total_s": total_s,
        "think_s": thought_s,
        "transfer_s": None if total_s is None or thought_s is None else total_s - thought_s,
        "bytes": sum(each.bytes for each in transfers),
        "retransmits": _sum(transfers),
        "cache": _worst(transfers),
    }


def _request(spec: HttpSpec, of: Transfer) -> Request:
    """What a cache has is answered without thinking."""
    answered_s = of.end_s if spec.direction is Direction.UP else of.first_byte_s
    return Request(of.start_s, answered_s, of.end_s, 0.0 if of.cache == "hit" else spec.think_ns / 1e9)


def _sum(transfers: Sequence[Transfer]) -> int | None:
    """None where one is not known."""
    known = [each.retransmits for each in transfers if each.retransmits is not None]
    return sum(known) if len(known) == len(transfers) else None


def _cache(transfers: Sequence[Transfer]) -> dict[str, int] | None:
    """Requests that the cache had the answer to, and those that it had not."""
    asked = [each.cache for each in transfers if each.cache]
    return {"hits": asked.count("hit"), "misses": asked.count("miss")} if asked else None


def _worst(transfers: Sequence[Transfer]) -> str | None:
    """A miss, if there was one."""
    return max((each.cache for each in transfers if each.cache), default=None)


def rows(spec: HttpSpec, transfers: Iterable[Transfer], *, ip: int) -> list[dict[str, Any]]:
    """Of the flows table."""
    return [
        {
            "workload": spec.name,
            "client": "client",
            "server": each.server,
            "direction": spec.direction.value,
            "ip": ip,
            "local_port": each.local_port,
            "remote_port": each.remote_port,
            "size_bytes": each.size_bytes,
            "start_s": each.start_s,
            "connected_s": each.connected_s,
            "first_byte_s": each.first_byte_s,
            "end_s": each.end_s,
            "bytes": each.bytes,
            "goodput_bit_s": each.bytes * 8 / (each.end_s - each.start_s)
            if each.end_s is not None and each.end_s > each.start_s
            else None,
            "retransmits": each.retransmits,
            "outcome": each.outcome,
            "why": each.why,
            "object": each.item.object if spec.popularity else None,
            "cache": each.cache,
        }
        for each in transfers
    ]
