"""`channels`: clients with one connection after another, real sockets driven by the host process itself.

crates/live/src/channels holds the clients and the servers; here it is told what to do, and its table of flows
becomes the workload's entry. Sizes, servers and their delays are the draws that `sim` makes. Where gateways
of others open connections again, the client says its port in the first two bytes.
"""

from pathlib import Path
from typing import Any

import polars as pl

from bentpipe.engines import gateways
from bentpipe.engines.base import WorkloadResult
from bentpipe.engines.bench import Bench
from bentpipe.engines.workloads.across_split import retransmits_on_the_path
from bentpipe.lab.spec import ChannelsSpec, RunSpec
from bentpipe.runs.figures.flow_times import flow_times, initial_window_bytes, pause_s
from bentpipe.runs.schema import TABLES

_FLOWS = pl.Schema({name: dtype for name, dtype in TABLES["flows"].schema.items() if name != "flow"})
"""Flows are numbered when those of all workloads are together."""


def setup(work: ChannelsSpec, spec: RunSpec, raw_folder: Path) -> dict[str, Any]:
    """One of the fields `channels` of the request `setup`."""
    return {
        "name": work.name,
        "start_ns": work.start_ns,
        "end_ns": spec.duration_ns,
        "channels": work.channels,
        "servers": work.servers,
        "size": work.size.model_dump(),
        "terrestrial_delay": work.terrestrial_delay.model_dump(),
        "terrestrial_jitter_ns": work.terrestrial_jitter_ns,
        "think_ns": work.think_ns,
        "ip": spec.client.ip,
        "client_says_port": gateways.readdresses(spec, work),
        "flows_csv": str(_flows_csv(work, spec, raw_folder)),
    }


def programs(_spec: ChannelsSpec) -> tuple[str, ...]:
    return ()


async def run(work: ChannelsSpec, bench: Bench) -> WorkloadResult:
    over = await bench.channels(work.name)
    table = _flows_csv(work, bench.spec, bench.raw_folder)
    flows = _read(table) if over.status == 0 else pl.DataFrame(schema=_FLOWS)
    end_s = bench.spec.duration_s if bench.spec.duration_s is not None else over.at_s
    result = entry(work, flows, min(over.at_s, end_s)) | flow_times(flows, initial_window_bytes(bench.spec))
    result["pause_s"] = pause_s(flows, work.channels, work.start_ns / 1e9, result["duration_s"])
    found = WorkloadResult(result | {"why": over.error} if over.error else result, flows=flows)
    return await retransmits_on_the_path(found, bench)


def entry(work: ChannelsSpec, flows: pl.DataFrame, ended_s: float) -> dict[str, Any]:
    """From its flows' rows. One connection that failed among thousands is a figure, not the run's fault."""
    outcomes = flows["outcome"]
    finished = int((outcomes == "finished").sum())
    # With `think` there may be an instant without a flow, and the run may end there.
    last_byte_s = flows["end_s"].max() if flows.height and finished == flows.height else None
    until_s = last_byte_s if isinstance(last_byte_s, float) else ended_s
    seconds = max(0.0, until_s - work.start_ns / 1e9)
    carried = int(flows["bytes"].sum())
    return {
        "kind": "channels",
        "channels": work.channels,
        "goodput_mbit_s": carried * 8e-6 / seconds if seconds > 0 else None,
        "bytes": carried,
        "duration_s": seconds,
        "completion_s": seconds if last_byte_s is not None else None,
        "retransmits": int(flows["retransmits"].sum()),
        "flows": flows.height,
        "finished": finished,
        "failed": int((outcomes == "failed").sum()),
    }


def _flows_csv(work: ChannelsSpec, spec: RunSpec, raw_folder: Path) -> Path:
    """By its place in the lab: a name may hold what a file's may not."""
    return raw_folder / f"flows-{spec.workloads.index(work)}.csv"


def _read(table: Path) -> pl.DataFrame:
    """In the order in which the flows were begun."""
    with table.open() as lines:
        columns = next(lines).rstrip("\n").split(",")
    schema = {name: _FLOWS[name] for name in columns}
    return pl.read_csv(table, schema=schema).sort("start_s", maintain_order=True)
