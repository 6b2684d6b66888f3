"""`http`: fetches by the real curl or aria2c from a real nginx.

1. Each workload has an nginx of its own at the server, started before time zero and seen to listen over
   IPv4 and IPv6 before the first fetch.
2. Without keep-alive each fetch is a curl of its own; with it one curl fetches one file after the other
   over one connection. A page is one curl per visit, which has several connections open at once; the next
   visit has new ones. A file in ranges is one aria2c per fetch. Starting a program takes 5 to 50 ms, in
   which the path is idle; it is in no fetch's own time.
3. With a cache at near, downloads are asked for there: an nginx of the workload's own, as large as the lab
   says. Uploads go to the server.
4. Fetches follow each other whatever becomes of them; when nginx is gone there are no more.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from bentpipe import _core
from bentpipe.engines import gateways
from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench, Program, Running
from bentpipe.engines.closings import Connection
from bentpipe.engines.workloads import aria2c, carried, curl, fetches, nginx, nginx_conf
from bentpipe.engines.workloads.transfer import Item, Transfer, visits
from bentpipe.lab.spec import HttpSpec
from bentpipe.words.direction import Direction

_SERVER_LEAD_S = 5.0
_CLOSING_S = 3.0

Served = Mapping[int, Sequence[nginx.Served]]
"""Lines of nginx's log, by the number of the fetch."""


def in_ranges(spec: HttpSpec) -> bool:
    """Whether it is for a download accelerator."""
    return spec.connections > 1 and spec.objects_bytes is None


def programs(spec: HttpSpec) -> tuple[str, ...]:
    return ("nginx", "aria2c" if in_ranges(spec) else "curl")


def refusal(spec: HttpSpec) -> str | None:
    """What of it cannot be done here; None: nothing."""
    if in_ranges(spec) and spec.connections > aria2c.MOST:
        return (
            f"connections: aria2c opens {aria2c.MOST} to one server at most, {spec.connections} are asked for"
        )
    if spec.think_ns and spec.direction is Direction.DOWN and not nginx.can_think():
        return "think: nginx here has no echo module, by which it waits; Debian's nginx-light brings one"
    return None


@dataclass(frozen=True)
class _Web:
    """The server, and the cache at near if downloads are asked for there."""

    origin: nginx.Site
    cache: nginx.Site | None

    @property
    def entrance(self) -> nginx.Site:
        return self.cache or self.origin

    @property
    def has_ended(self) -> bool:
        return self.origin.has_ended or self.entrance.has_ended

    @property
    def ports(self) -> dict[int, str | None]:
        """With the role of the connections there."""
        if self.cache is None:
            return {self.origin.port: "data"}
        return {self.origin.port: "upstream", self.cache.port: "data"}


@dataclass(frozen=True)
class _Job:
    """One program's work, and how to read what became of it."""

    start: Callable[[], Running]
    read: Callable[[Program, Served], list[Transfer]]


async def run(spec: HttpSpec, bench: Bench) -> WorkloadResult:
    planned = _planned(spec, bench.seed)
    start_s, upload = spec.start_ns / 1e9, spec.direction is Direction.UP
    await bench.sleep_until(start_s - _SERVER_LEAD_S)
    web = await _web(spec, planned, bench)
    if isinstance(web, str):
        nothing = fetches.entry(spec, [], retransmits=None, ended_s=start_s)
        return WorkloadResult(nothing | {"why": web})
    await bench.sleep_until(start_s)
    ran: list[tuple[_Job, Program]] = []
    for job in _jobs(spec, planned, bench, web.entrance):
        if bench.ended.is_set() or web.has_ended:
            break
        ran.append((job, await job.start().over(None)))
    ended_s = bench.now_s
    cached = await web.cache.stop() if web.cache else None
    stopped = await web.origin.stop()
    served: dict[int, list[nginx.Served]] = {}
    for line in nginx.served((cached or stopped).log):
        served.setdefault(line.number, []).append(line)
    counted = await carried.counted(
        list(chain.from_iterable(job.read(program, served) for job, program in ran)),
        bench.closings,
        upload=upload,
        upstream=_upstream(web, stopped, bench) if cached else [],
        patience_s=min(0.5 + 3 * bench.full_round_trip_s, _CLOSING_S),
    )
    found = counted.transfers
    entry = fetches.entry(spec, found, retransmits=counted.retransmits, ended_s=ended_s)
    faults = [stopped.fault, cached.fault if cached else None, *(each.why for each in found)]
    if why := next((each for each in faults if each), None):
        entry["why"] = why
    return WorkloadResult(
        entry,
        flows=fetches.rows(spec, found, ip=bench.spec.client.ip),
        tools=_tools(spec, [program for _, program in ran], {"server": stopped, "near": cached}),
        ports=web.ports,
    )


async def _web(spec: HttpSpec, planned: Sequence[Sequence[Item]], bench: Bench) -> _Web | str:
    """Start what the fetches need; or say why it does not run."""
    origin = await nginx.serve(
        bench,
        "server",
        spec.name,
        sizes=(item.size_bytes for item in planned[0]),
        upload=spec.direction is Direction.UP,
        think_s=spec.think_ns / 1e9,
    )
    if isinstance(origin, str):
        return origin
    near = bench.spec.near
    if near is None or near.cache_bytes is None or spec.direction is Direction.UP:
        return _Web(origin, None)
    objects = len({item.object for visit in planned for item in visit})
    cache = await nginx.cached(
        bench, "near", spec.name, origin=origin, size_bytes=near.cache_bytes, objects=objects
    )
    return f"the cache at near: {cache}" if isinstance(cache, str) else _Web(origin, cache)


def _upstream(web: _Web, stopped: nginx.Stopped, bench: Bench) -> list[Connection]:
    """The connections that the cache had to the server."""
    first: dict[int, float] = {}
    for line in sorted(nginx.served(stopped.log), key=lambda line: line.begun_unix_s):
        first.setdefault(line.port, line.begun_unix_s - bench.wall_minus_run_s)
    return [Connection("near", port, "server", web.origin.port, at_s) for port, at_s in first.items()]


def _planned(spec: HttpSpec, seed: int) -> list[list[Item]]:
    """What is fetched, visit by visit; of a set, the objects that `sim` asks for with the same seed."""
    drawn = None
    if spec.popularity:
        zipf, objects = spec.popularity.zipf, spec.popularity.objects
        drawn = _core.popularity(zipf, objects, seed, spec.name, spec.fetches)
    return visits(
        fetches=spec.fetches, objects_bytes=spec.objects_bytes, size_bytes=spec.size_bytes, drawn=drawn
    )


def _jobs(
    spec: HttpSpec, planned: Sequence[Sequence[Item]], bench: Bench, site: nginx.Site
) -> Iterable[_Job]:
    authority = nginx_conf.authority(bench.address(site.host, bench.spec.client.ip), site.port)

    def url(item: Item) -> str:
        return f"http://{authority}/{spec.name}/{item.object}/{item.size_bytes}?{item.number}"

    if in_ranges(spec):
        return (_aria2c(spec, item, url(item), bench, site) for visit in planned for item in visit)
    page = spec.objects_bytes is not None
    together = spec.keep_alive and not page
    return (
        _curl(
            curl.Order(
                items,
                url,
                (lambda item: site.file(item.size_bytes)) if spec.direction is Direction.UP else None,
                spec.connections if page else None,
                spec.keep_alive,
            ),
            bench,
            site,
            is_client_port=not gateways.readdresses(bench.spec, spec),
        )
        for items in ([list(chain.from_iterable(planned))] if together else planned)
    )


def _aria2c(spec: HttpSpec, item: Item, url: str, bench: Bench, site: nginx.Site) -> _Job:
    def start() -> Running:
        return aria2c.start(bench, url, connections=spec.connections, folder=site.folder)

    def read(program: Program, served: Served) -> list[Transfer]:
        lines = served.get(item.number, [])
        return aria2c.transfers(
            item,
            program,
            lines,
            server=site.host,
            port=site.port,
            wall_minus_run_s=bench.wall_minus_run_s,
        )

    return _Job(start, read)


def _curl(order: curl.Order, bench: Bench, site: nginx.Site, *, is_client_port: bool) -> _Job:
    def start() -> Running:
        return curl.start(bench, order, site.folder)

    def read(program: Program, served: Served) -> list[Transfer]:
        wall_minus_run_s = bench.wall_minus_run_s
        traced = curl.trace(
            program.stderr,
            started_s=program.started_s,
            monotonic_to_run_s=bench.run_s(0),
            wall_to_run_s=-(wall_minus_run_s % 86400),
        )
        found = curl.transfers(order, program, traced, server=site.host, port=site.port)
        upload = order.upload is not None
        return fetches.completed(
            found,
            served,
            upload=upload,
            wall_minus_run_s=wall_minus_run_s,
            is_client_port=is_client_port,
        )

    return _Job(start, read)


def _tools(
    spec: HttpSpec, ran: Sequence[Program], stopped: Mapping[str, nginx.Stopped | None]
) -> list[dict[str, str]]:
    _, client = programs(spec)
    said = [
        (client, "client", "".join(program.stdout for program in ran)),
        (client, "client trace", "".join(program.stderr for program in ran)),
    ]
    for host, site in stopped.items():
        if site:
            said += [
                ("nginx", f"{host} access log", site.log),
                ("nginx", f"{host} errors", site.errors + site.program.stderr),
                ("nginx", f"{host} configuration", site.configuration),
            ]
    return [{"workload": spec.name, "tool": tool, "role": role, "output": text} for tool, role, text in said]
