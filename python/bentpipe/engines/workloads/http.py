"""`http`: fetches by the real curl from a real nginx.

1. Each workload has an nginx of its own at the server, started before time zero and seen to listen over
   IPv4 and IPv6 before the first fetch.
2. Without keep-alive each fetch is a curl of its own; with it one curl fetches one file after the other
   over one connection. A page is one curl per visit, which has several connections open at once; the next
   visit has new ones. Starting curl takes 5 to 50 ms, in which the path is idle; it is in no fetch's own
   time.
3. Fetches follow each other whatever becomes of them; when nginx is gone there are no more.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from bentpipe import _core
from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench, Program
from bentpipe.engines.workloads import curl, fetches, nginx
from bentpipe.engines.workloads.transfer import Item, Transfer, visits
from bentpipe.lab.spec import HttpSpec

_SERVER_LEAD_S = 5.0


def refusal(spec: HttpSpec) -> str | None:
    """What of it cannot be done here; None: nothing."""
    if spec.connections > 1 and spec.objects_bytes is None:
        return "connections: the live engine cannot fetch one file in ranges yet"
    if spec.think_ns and spec.direction == "down" and not nginx.can_think():
        return "think: nginx here has no echo module, by which it waits; Debian's nginx-light brings one"
    return None


def plan(spec: HttpSpec, seed: int) -> list[list[Item]]:
    """What is fetched, visit by visit; of a set, the objects that `sim` asks for with the same seed."""
    drawn = None
    if spec.popularity:
        zipf, objects = spec.popularity.zipf, spec.popularity.objects
        drawn = _core.popularity(zipf, objects, seed, spec.name, spec.fetches)
    return visits(
        fetches=spec.fetches, objects_bytes=spec.objects_bytes, size_bytes=spec.size_bytes, drawn=drawn
    )


async def run(spec: HttpSpec, bench: Bench) -> WorkloadResult:
    planned = plan(spec, bench.seed)
    start_s, upload = spec.start_ns / 1e9, spec.direction == "up"
    await bench.sleep_until(start_s - _SERVER_LEAD_S)
    site = await nginx.start(
        bench,
        "server",
        spec.name,
        sizes=(item.size_bytes for item in planned[0]),
        upload=upload,
        think_s=spec.think_ns / 1e9,
    )
    if isinstance(site, str):
        return WorkloadResult(fetches.entry(spec, [], ended_s=start_s) | {"why": site})
    await bench.sleep_until(start_s)
    found: list[Transfer] = []
    programs: list[Program] = []
    for order in _orders(spec, planned, bench, site):
        if bench.ended.is_set() or site.has_ended:
            break
        program = await curl.start(bench, order, site.folder).over(None)
        programs.append(program)
        traced = curl.trace(
            program.stderr,
            started_s=program.started_s,
            monotonic_to_run_s=bench.run_s(0),
            wall_to_run_s=-(bench.wall_minus_run_s % 86400),
        )
        found += curl.transfers(order, program, traced, server="server", port=site.port)
    ended_s = bench.now_s
    stopped = await site.stop()
    found = fetches.completed(
        found, nginx.served(stopped.log), upload=upload, wall_minus_run_s=bench.wall_minus_run_s
    )
    entry = fetches.entry(spec, found, ended_s=ended_s)
    why = stopped.fault or next((each.why for each in found if each.why), None)
    if why:
        entry["why"] = why
    return WorkloadResult(
        entry,
        flows=fetches.rows(spec, found, ip=bench.spec.client.ip),
        tools=_tools(spec.name, programs, site, stopped),
    )


def _orders(spec: HttpSpec, planned: list[list[Item]], bench: Bench, site: nginx.Site) -> list[curl.Order]:
    """What each curl is to carry."""
    address = bench.address("server", bench.spec.client.ip)
    authority = f"{f'[{address}]' if ':' in address else address}:{site.port}"

    def url(item: Item) -> str:
        return f"http://{authority}/{spec.name}/{item.object}/{item.size_bytes}?{item.number}"

    def file(item: Item) -> Path:
        return site.file(item.size_bytes)

    page = spec.objects_bytes is not None
    groups: Sequence[Sequence[Item]] = planned
    if spec.keep_alive and not page:
        groups = [list(chain.from_iterable(planned))]
    return [
        curl.Order(
            items,
            url,
            file if spec.direction == "up" else None,
            spec.connections if page else None,
            spec.keep_alive,
        )
        for items in groups
    ]


def _tools(
    name: str, programs: Sequence[Program], site: nginx.Site, stopped: nginx.Stopped
) -> list[dict[str, str]]:
    said = [
        ("curl", "client", "".join(program.stdout for program in programs)),
        ("curl", "client trace", "".join(program.stderr for program in programs)),
        ("nginx", "server access log", stopped.log),
        ("nginx", "server errors", stopped.errors + stopped.program.stderr),
        ("nginx", "server configuration", (site.folder / "nginx.conf").read_text()),
    ]
    return [{"workload": name, "tool": tool, "role": role, "output": text} for tool, role, text in said]
