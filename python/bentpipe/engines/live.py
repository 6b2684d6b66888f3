"""The live engine: this machine's kernel and real programs, on the real clock.

A run: the host process is started, sets up the two hosts and the path, and names its time zero; the workloads
run beside each other; the host process stops everything and reports its own error; the CSV tables become
Parquet.
"""

import asyncio
import contextlib
import datetime
import shutil
import time
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.engines import gateways, lab_commands, machine, peers, ports, programs
from bentpipe.engines.base import EngineOptions, Progress, WorkloadResult
from bentpipe.engines.bench import Bench
from bentpipe.engines.host_process import HostDiedError, HostProcess, Message
from bentpipe.engines.lengths import run_length_s
from bentpipe.engines.socket_owners import SOCKETS_CSV, with_owners
from bentpipe.engines.tunnel_config import tunnel_config
from bentpipe.engines.workloads import REGISTRY, bulk, channels, http
from bentpipe.engines.workloads.across_split import SAMPLED, while_measured
from bentpipe.errors import EngineError
from bentpipe.lab.models.host import LINUX_CONTROLS
from bentpipe.lab.point import Point
from bentpipe.lab.spec import BulkSpec, HostSpec, RunSpec
from bentpipe.lab.tunnels import titrated_pipes
from bentpipe.runs.figures import reader_waits
from bentpipe.runs.figures.queue_behaviour import queues_of_run
from bentpipe.runs.figures.reliability import assess
from bentpipe.runs.folder import RunFolder
from bentpipe.runs.record import Record, identity, new_record
from bentpipe.runs.schema import TABLES
from bentpipe.runs.summary import pipes_summary

_LEAD_NS = 1_000_000_000
"""From `start` to the earliest workload: servers come up in it."""
_TICK_S = 0.2
_CUT_S = 10.0
"""How long workloads may take to end after the run's end."""


class LiveEngine:
    name = "live"
    beside_others = False

    def __init__(self, options: EngineOptions | None = None) -> None:
        self._options = options or EngineOptions()

    def check(self, spec: RunSpec) -> None:
        if refusal := gateways.refusal(spec):
            raise EngineError(refusal, what="gateway")
        if not spec.has_near and "near" in self._options.pcap:
            raise EngineError("--pcap near: the lab has no near host; expected client or server", what="pcap")
        for work in spec.workloads:
            refusal = (
                http.refusal(work)
                if work.kind == "http"
                else bulk.refusal(work)
                if work.kind == "bulk"
                else None
            )
            if refusal:
                raise EngineError(f"workload {work.name}: {refusal}", what=work.kind)
        for side, host in (("client", spec.client), ("server", spec.server)):
            if host.open_receive_window is not None:
                raise EngineError(
                    f"{side}: open_receive_window: no setting of Linux opens its receive window beyond 64 kB "
                    "at first; use `--engine sim`",
                    what="open_receive_window",
                )
        if refusal := ports.refusal(spec):
            raise EngineError(refusal, what="tunnel.carries")
        there = machine.congestion_controls()
        for who, control in _congestion_controls(spec):
            if control not in there and control not in LINUX_CONTROLS:
                raise EngineError(
                    f"{who}: congestion_control: only `sim` has {control!r}; use `--engine sim`",
                    what=control,
                )
            if there and control not in there:
                raise EngineError(
                    f"{who}: this kernel has no congestion control {control!r} loaded; "
                    f"it has {', '.join(there)}",
                    what=control,
                    remedy=f"sudo modprobe tcp_{control}",
                )
        for who, parameters in _control_parameters(spec):
            for name in parameters:
                raise EngineError(
                    f"{who}: congestion_control.{name}: the live engine cannot set it: a kernel has such a "
                    "parameter for the whole machine or not at all, and nothing outside the run's namespaces "
                    "is changed; use `--engine sim`",
                    what=name,
                )

    def check_machine(self, specs: Iterable[RunSpec]) -> None:
        specs = list(specs)
        programs.require(specs)
        for spec in specs:
            peers.require(spec)

    def length_s(self, spec: RunSpec) -> float:
        return run_length_s(spec)

    def run(self, point: Point, folder: RunFolder, on_progress: Progress) -> Record:
        self.check(point.spec)
        if not self._options.allow_exec:
            lab_commands.refuse(lab_commands.of([point.spec]))
        self.check_machine([point.spec])
        a_run = _Run(point, folder, on_progress, self._options)
        try:
            measured = _in_a_loop(a_run.measured())
        except HostDiedError as died:
            raise EngineError(str(died), what="host process") from died
        # Outside the loop, which would put a Ctrl-C off to its own next turn.
        return a_run.kept(measured)


@dataclass(frozen=True)
class _Measured:
    """A finished run whose tables are still CSV in the raw folder."""

    started: datetime.datetime
    begun_s: float
    end_s: float
    ready: Message
    report: Message
    results: dict[str, WorkloadResult]


class _Run:
    def __init__(
        self, point: Point, folder: RunFolder, on_progress: Progress, options: EngineOptions
    ) -> None:
        self._point = point
        self._spec = point.spec
        self._folder = folder
        self._on_progress = on_progress
        self._options = options
        self._troubles: list[str] = []
        self._raw_folder = folder.path("raw", "host.log").parent

    async def measured(self) -> _Measured:
        started = datetime.datetime.now(datetime.UTC)
        begun_s = time.monotonic()
        host = await HostProcess.launch(self._raw_folder / "host.log")
        try:
            ready = await host.ask("setup", "ready", **setup(self._point, self._options, self._raw_folder))
            bench, results = await self._work(host, ready["hosts"])
            end_s = bench.now_s
            report = await self._report(host)
        finally:
            await host.close()
        return _Measured(started, begun_s, end_s, ready, report, results)

    def kept(self, run: _Measured) -> Record:
        """The tables become Parquet, and the record says what the run was."""
        record = self._record(replace(run, results=self._stored(run.results, self._raw_folder)))
        record["queue"] = queues_of_run(self._folder.path(), record, run.end_s)
        shutil.rmtree(self._raw_folder)
        self._folder.finish(record)
        return record

    async def _work(
        self, host: HostProcess, hosts: dict[str, dict[str, Any]]
    ) -> tuple[Bench, dict[str, WorkloadResult]]:
        zero_in_ns = _LEAD_NS + gateways.lead_ns(self._spec) - self._spec.earliest_start_ns
        started = await host.ask("start", "started", zero_in_ns=zero_in_ns)
        zero_ns = started["zero_monotonic_ns"]
        bench = Bench(host, self._spec, self._raw_folder, seed=self._point.seed, zero_ns=zero_ns, hosts=hosts)

        def trouble(message: str) -> None:
            self._troubles.append(message)
            bench.ended.set()

        host.on_trouble = trouble
        others = peers.Peers(bench)
        others.start()
        watching = asyncio.create_task(others.ended_early())
        watching.add_done_callback(lambda task: None if task.cancelled() else trouble(task.result()))
        tasks = {
            work.name: asyncio.create_task(REGISTRY[work.kind].run(work, bench))
            for work in self._spec.workloads
        }
        try:
            await self._until_the_end(host, bench, set(tasks.values()))
        finally:
            for task in [*tasks.values(), watching]:
                task.cancel()
        results = {work.name: _outcome(work.kind, tasks[work.name]) for work in self._spec.workloads}
        return bench, results

    async def _until_the_end(self, host: HostProcess, bench: Bench, tasks: set[asyncio.Task[Any]]) -> None:
        """Until the run's duration is over; or, if the lab says so, until all work is done. A run without its
        host process is over."""
        duration_s = self._spec.duration_s
        to_its_end = self._spec.until == "duration" and duration_s is not None
        begun_s = bench.now_s
        while not (bench.ended.is_set() or host.has_ended):
            self._on_progress(bench.now_s - begun_s)
            left_s = duration_s - bench.now_s if duration_s is not None else _TICK_S
            working = [task for task in tasks if not task.done()]
            if left_s <= 0 or (not working and not to_its_end):
                break
            if working:
                await asyncio.wait(working, timeout=min(_TICK_S, left_s), return_when=asyncio.FIRST_COMPLETED)
            else:
                await bench.sleep_until(bench.now_s + min(_TICK_S, left_s))
        bench.ended.set()
        if working := [task for task in tasks if not task.done()]:
            await asyncio.wait(working, timeout=_CUT_S)

    async def _report(self, host: HostProcess) -> Message:
        try:
            return await host.ask("stop", "report")
        except HostDiedError as died:
            self._troubles.append(str(died))
            return {}

    def _stored(self, results: dict[str, WorkloadResult], raw_folder: Path) -> dict[str, WorkloadResult]:
        """Writes the tables, and adds to the results what only the samples of the sockets tell."""
        flows = _flows(results.values())
        if (csv := raw_folder / "link.csv").exists():
            self._folder.csv_to_table("link", csv)
        if (csv := raw_folder / "sockets.csv").exists():
            self._folder.csv_to_table(
                "sockets",
                csv,
                columns=SOCKETS_CSV,
                complete=lambda sampled: with_owners(sampled, flows, results, self._spec),
            )
        for capture in raw_folder.glob("*.pcapng"):
            capture.rename(self._folder.path(capture.name))
        if self._spec.split is not None and (sockets := self._folder.path("sockets.parquet")).exists():
            results = self._across_split(results, sockets)
            flows = _flows(results.values())
        self._folder.write_table("flows", flows)
        rows = {
            "pings": [row for result in results.values() for row in result.pings],
            "tools": [row for result in results.values() for row in result.tools],
        }
        for name, table in rows.items():
            self._folder.write_table(name, pl.DataFrame(table, schema=TABLES[name].schema))
        return results

    def _across_split(self, results: dict[str, WorkloadResult], sockets: Path) -> dict[str, WorkloadResult]:
        works = {work.name: work for work in self._spec.workloads if isinstance(work, BulkSpec)}
        proxies = pl.scan_parquet(sockets, glob=False).filter(pl.col("host").is_in(["near", "far"]))
        sampled = proxies.select(SAMPLED).collect()
        return {
            name: while_measured(result, works[name], sampled, self._spec.base_rtt_ns / 1e9)
            if name in works
            else result
            for name, result in results.items()
        }

    def _record(self, run: _Measured) -> Record:
        """Without what is said of the queues, which is found by what this says."""
        spec, ready, report, results, end_s = self._spec, run.ready, run.report, run.results, run.end_s
        failures = [f"{name}: {result.why}" for name, result in results.items() if result.why]
        failures += self._troubles
        sysctl = {name: host["sysctl"] for name, host in ready["hosts"].items()}
        engine_error = report.get("engine_error") or {}
        sockets = self._folder.path("sockets.parquet")
        if engine_error.get("hosts") and sockets.exists():
            frame = pl.read_parquet(sockets, columns=list(reader_waits.COLUMNS), glob=False)
            waits = reader_waits.reader_waits(spec, frame, sysctl)
            engine_error |= {"reader_waits": waits}
        reliable, doubts = assess(engine_error, spec.limits.model_dump())
        more_doubts = [
            *_split_at_its_limit(report.get("split") or {}),
            *gateways.why_not(spec, engine_error.get("gateway") or {}),
            *(f"{name}: {doubt}." for name, result in results.items() for doubt in result.doubts),
        ]
        if more_doubts:
            reliable, doubts = False, [*doubts, *more_doubts]
        link = self._folder.path("link.parquet")
        measured_s = min(end_s, spec.duration_s) if spec.duration_s is not None else end_s
        return new_record(
            identity(self._point),
            engine="live",
            failed=bool(failures),
            reliable=reliable,
            why=failures + doubts,
            folder=self._folder.called,
            workloads={name: result.entry for name, result in results.items()},
            pipes=pipes_summary(pl.read_parquet(link, glob=False), measured_s)
            if link.exists()
            else {"down": {}, "up": {}},
            queue={},
            engine_error=engine_error,
            spec=spec.model_dump(mode="json"),
            machine=machine.facts()
            | {"kernel": ready["kernel"], "root": ready["root"], "offload": ready["offload"]},
            versions=machine.versions(_measuring_programs(spec)),
            sysctl=sysctl,
            started=run.started.isoformat(timespec="seconds"),
            wall_s=time.monotonic() - run.begun_s,
            more={
                "sampler": report.get("sampler"),
                "totals": report.get("pipes"),
                **({"tunnel": tunnel} if (tunnel := report.get("tunnel")) else {}),
                **{name: report[name] for name in ("split", "gateway") if name in report},
            },
        )


def _split_at_its_limit(split: dict[str, dict[str, Any]]) -> list[str]:
    """A sentence for each end of a split that had as many connections as it may."""
    return [
        f"The split at {name} had {end['open_at_once_limit']} connections open at once, its limit; others "
        "waited until one ended."
        for name, end in split.items()
        if end["open_at_once_max"] >= end["open_at_once_limit"]
    ]


def _measuring_programs(spec: RunSpec) -> set[str]:
    """Those whose version is kept. Commands of `exec` are not asked for one."""
    works = (work for work in spec.workloads if work.kind != "exec")
    return {name for work in works for name in REGISTRY[work.kind].programs(work)}


def setup(point: Point, options: EngineOptions, raw_folder: Path) -> dict[str, Any]:
    """The fields of the request `setup`."""
    spec = point.spec
    near, split = spec.near, spec.split
    down, up = titrated_pipes(spec.tunnel, spec.path)
    return {
        "hosts": {"client": _host(spec.client), "server": _host(spec.server)},
        "path": {"down": down, "up": up, "mtu": spec.path.mtu},
        "near": {"host": _host(near.host), "down": near.down, "up": near.up} if near else None,
        "tunnel": spec.tunnel
        and {
            "config": tunnel_config(spec.tunnel),
            "ip": spec.client.ip,
            "beside": ports.beside_tunnel(spec),
        },
        "split": {"hosts": _host(split.host), "path": _host(split.path)} if split else None,
        "gateway": spec.gateway
        and gateways.setup(spec.gateway, _host(spec.gateway.host), ports.beside_gateways(spec)),
        "extra_congestion_controls": sorted({control for _, control in _of_transfers(spec)}),
        "seed": point.seed,
        "sample_interval_ns": options.sample_interval_ns,
        "bin_ns": options.bin_ns,
        "raw_folder": str(raw_folder),
        "channels": [
            channels.setup(work, spec, raw_folder) for work in spec.workloads if work.kind == "channels"
        ],
        "pcap": list(options.pcap),
        "keep_awake": options.keep_awake and not machine.spinning_disturbs(),
        "ip": [spec.client.ip, 6 if spec.client.ip == 4 else 4],
    }


def _congestion_controls(spec: RunSpec) -> list[tuple[str, str]]:
    """All that are asked for, each with who asks."""
    hosts = [("client", spec.client), ("server", spec.server), *_split_hosts(spec), *_gateway_hosts(spec)]
    return [(name, host.congestion_control) for name, host in hosts] + _of_transfers(spec)


def _split_hosts(spec: RunSpec) -> list[tuple[str, HostSpec]]:
    return [("host", spec.split.host), ("split.path", spec.split.path)] if spec.split else []


def _gateway_hosts(spec: RunSpec) -> list[tuple[str, HostSpec]]:
    return [("host", spec.gateway.host)] if spec.gateway else []


def _control_parameters(spec: RunSpec) -> list[tuple[str, dict[str, str | float]]]:
    """Those that differ from Linux's, each with who asks."""
    hosts = [("client", spec.client), ("server", spec.server)]
    near = [("near", spec.near.host)] if spec.near else []
    hosts += [*near, *_split_hosts(spec), *_gateway_hosts(spec)]
    asked = [(name, host.congestion_control_parameters) for name, host in hosts]
    return asked + [
        (f"workload {work.name}", work.congestion_control_parameters)
        for work in spec.workloads
        if work.kind == "bulk"
    ]


def _of_transfers(spec: RunSpec) -> list[tuple[str, str]]:
    """Those that single transfers ask for."""
    return [
        (f"workload {work.name}", work.congestion_control)
        for work in spec.workloads
        if work.kind == "bulk" and work.congestion_control is not None
    ]


def _host(host: HostSpec) -> dict[str, Any]:
    return {
        "sysctl": host.sysctl,
        "congestion_control": host.congestion_control,
        "initcwnd": host.initcwnd,
        "initrwnd": host.initrwnd,
    }


def _flows(results: Iterable[WorkloadResult]) -> pl.DataFrame:
    """The rows of all workloads, numbered through; what a workload does not say of its flows is null."""
    schema = TABLES["flows"].schema
    of_each = [pl.DataFrame(schema={name: schema[name] for name in schema if name != "flow"})]
    for result in results:
        rows = result.flows
        of_each.append(
            rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows, schema=of_each[0].schema)
        )
    together = pl.concat(of_each, how="diagonal")
    return together.with_row_index("flow", 1).cast({"flow": schema["flow"]}).select(schema.names())


def _outcome(kind: str, task: asyncio.Task[WorkloadResult]) -> WorkloadResult:
    """What the workload returned, or why it could not: the host process died, or it never ended."""
    if not task.done() or task.cancelled():
        return WorkloadResult({"kind": kind, "why": "it did not end with the run"})
    if isinstance(error := task.exception(), HostDiedError | EngineError):
        return WorkloadResult({"kind": kind, "why": str(error)})
    return task.result()


def _in_a_loop(work: Coroutine[Any, Any, _Measured]) -> _Measured:
    """Run a coroutine to its end, also where a loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    loops: list[asyncio.AbstractEventLoop] = []

    async def known() -> _Measured:
        loops.append(asyncio.get_running_loop())
        return await work

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, known())
        try:
            return future.result()
        except KeyboardInterrupt:
            with contextlib.suppress(IndexError):
                loop = loops[0]
                loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
            raise
