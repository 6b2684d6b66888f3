"""Types of a run's record (run.json) and a sweep's (lab.json). Records of runs are made only here.

The types are for readers and checkers: a record is a plain dict. What comes from a file is checked when it
is read (record_shape.py), but any key may be missing there: another program or an older bentpipe may have
written it. docs/results.md says what the figures mean.
"""

from collections.abc import Mapping
from typing import Any, TypedDict

from bentpipe.lab.point import Point


class Drops(TypedDict, total=False):
    """Packets that a pipe dropped, by cause."""

    tail: int
    aqm: int
    policer: int
    ingress: int
    line: int
    channel: int
    outage: int


class PipeFigures(TypedDict, total=False):
    """What a pipe carried, from time 0 to the run's end."""

    throughput_mbit_s: float
    goodput_mbit_s: float
    drops: Drops
    """Of the whole run."""
    queue_bytes_mean: float
    queue_bytes_max: int


class QueueFigures(TypedDict, total=False):
    """How a pipe's queue behaved (docs/queue-behaviour.md)."""

    at_limit_share: float | None
    empty_share: float | None
    lost_capacity_share: float | None
    delay_s_mean: float | None
    delay_s_p95: float | None
    oscillation_period_s: float | None
    oscillation_strength: float | None
    loss_episodes: int
    flows_hit_mean: float | None
    flows_hit_max: int | None


class TunnelFigures(TypedDict, total=False):
    """What a tunnel did in one direction (docs/results.md)."""

    packets: int
    repairs: int
    redundancy_sent: float | None
    redundancy_used: float | None
    redundancy_useless: float | None
    requested: int
    exact_repairs: int
    exact_used: int
    exact_useless: int
    overhead_bytes: int
    inner_bytes: int
    recovered: int
    lost: int
    residual_loss: float | None
    too_long: int
    reports: int
    decoding_delay_s_p50: float | None
    decoding_delay_s_p95: float | None
    decoding_delay_s_max: float | None
    exact_delay_s_p50: float | None
    exact_delay_s_p95: float | None
    added_delay_s_mean: float | None
    added_delay_s_p50: float | None
    added_delay_s_p95: float | None
    per_second: dict[str, list[float]]


class SplitFigures(TypedDict, total=False):
    """What the proxy at near or at far did (docs/sim.md)."""

    connections: int
    resets: int
    connect_failures: int
    down_bytes: int
    up_bytes: int
    buffered_bytes_max: int
    """`sim` only."""
    retransmits: int
    open_at_once_max: int
    """`live` only, as is its limit."""
    open_at_once_limit: int


class GatewayFigures(TypedDict, total=False):
    """What the gateway at near or at far did (docs/gateway.md)."""

    connections: int
    resets: int
    sent_bytes: int
    delivered_bytes: int
    packets: int
    repairs: int
    exact_repairs: int
    came_as_sent: int
    came_by_repair: int
    came_when_asked: int
    useless_repairs: int
    useless_exact: int
    reports: int
    probes: int
    datagrams_sent: int
    datagrams_delivered: int
    datagrams_dropped: int
    datagram_packets: int
    datagram_repairs: int
    channel_loss: float | None
    round_trip_s: float | None


class Times(TypedDict, total=False):
    """Percentiles of times; None where no value would lie beyond it."""

    count: int
    not_finished: int
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    max_s: float | None


class SmallFlows(Times, total=False):
    """Of the flows that fit in the initial window."""

    up_to_bytes: int


class FlowsOfSize(Times, total=False):
    """Of the flows of a range of sizes."""

    at_least_bytes: int
    below_bytes: int | None


class Fetch(TypedDict, total=False):
    """One fetch of a web workload. Times are from its start."""

    start_s: float
    """On the run's clock."""
    connect_s: float | None
    first_byte_s: float | None
    total_s: float | None
    """None: it did not finish."""
    think_s: float | None
    transfer_s: float | None
    """Without the server's thinking."""
    bytes: int
    retransmits: int | None
    cache: str | None
    """`hit` or `miss`."""


class WorkloadFigures(TypedDict, total=False):
    """What a workload did. Which figures there are depends on its kind."""

    kind: str
    why: str
    """What went wrong; absent: nothing."""
    direction: str
    goodput_mbit_s: float | None
    """Payload over the measured time."""
    bytes: int
    duration_s: float
    completion_s: float | None
    """From its own start to its last byte; None: it did not finish."""
    retransmits: int | None
    # bulk
    streams: int
    per_second: dict[str, float | int | None]
    per_second_mbit_s: list[float]
    # ping
    sent: int
    lost: int
    min_ms: float | None
    mean_ms: float
    median_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    # interactive, besides those of ping
    unanswered: int
    p50_ms: float | None
    # call: each direction's figures are under `down` and `up`
    mos: float | None
    down: dict[str, float | int | None]
    up: dict[str, float | int | None]
    # http
    connections: int
    fetches: int
    finished: int
    median_fetch_s: float | None
    fetch_times: Times
    transfer_times: Times
    object_times: Times | None
    per_fetch: list[Fetch]
    cache: dict[str, int] | None
    think_s: float | None
    pause_s: float | None
    # channels
    channels: int
    flows: int
    failed: int
    flow_times: Times
    small_flows: SmallFlows
    fct_by_size: list[FlowsOfSize]


class ProgramWaits(TypedDict, total=False):
    """What a program of a host, or a thread of the kernel, waited for a processor (docs/live.md). None: the
    kernel does not count it."""

    program: str
    threads: int
    ran_s: float | None
    waited_s: float | None
    wait_share: float | None
    wait_max_ms: float | None
    wait_max_at_s: float | None
    stopped_s: float
    stopped_at_s: float | None
    memory_max_mb: float | None


class HostWaits(TypedDict, total=False):
    """The largest of a host's programs, and each of them."""

    wait_share: float | None
    wait_max_ms: float | None
    stopped_s: float
    programs: list[ProgramWaits]


class ReaderWait(TypedDict):
    """How long a transfer's sender waited since the program at the other end was late to read."""

    program: str
    host: str
    share: float
    """Of the sender's time."""


class GatewayError(TypedDict, total=False):
    """What the machine kept a gateway of `live` from (docs/live.md#gateways)."""

    established_s: float | None
    """In run time; None: there was no session."""
    held_up_s: float
    held_up_share: float
    udp_overflow: int
    udp_unsent: int
    udp_receive_buffer_bytes: int
    udp_send_buffer_bytes: int
    datagrams_dropped: int
    carriers: int
    connect_failures: int
    open_at_once_max: int


class EngineReport(TypedDict, total=False):
    """The engine's own error (docs/live.md). `sim` reports zeros."""

    lateness_us_p50: float
    lateness_us_p99: float
    lateness_us_max: float
    lateness_count: int
    lateness_histogram: list[Any]
    rate_error: float | None
    """Of the achieved rate against the one configured; None: the path has no rate."""
    unintended_loss: int
    """Packets lost outside the model."""
    cpu_s: float
    wall_s: float
    hosts: dict[str, HostWaits]
    reader_waits: dict[str, ReaderWait]
    """By workload."""
    kernel_threads: list[ProgramWaits]
    processors_kept_awake: int
    gateway: dict[str, GatewayError]
    """By the gateway's host, in `live`."""


class Machine(TypedDict, total=False):
    """Where it ran. `live` adds what its host process found."""

    kernel: str
    architecture: str
    cpu: str
    cores: int | None
    memory_bytes: int | None
    root: bool
    offload: dict[str, bool]


class SweptCell(TypedDict):
    """A cell of a sweep."""

    variant: str
    point: dict[str, Any]


class Identity(TypedDict):
    """Identifies the run and its lab."""

    lab: str
    title: str | None
    published: str | None
    seed: int
    repeat_index: int
    variant: str
    point: dict[str, Any]


class Ending(TypedDict, total=False):
    """How a run ended."""

    run: str
    """Name of the run's folder; added when it is read."""
    status: str
    """`done` or `failed`."""
    reliable: bool
    why: list[str]
    """Why it failed or is not reliable, a sentence each."""


class Record(Identity, Ending, total=False):
    """A run's record."""

    engine: str
    """`sim`, `live` or `imported`."""
    folder: str | None
    """None: in memory."""
    workloads: dict[str, WorkloadFigures]
    pipes: dict[str, PipeFigures]
    """`down` and `up`."""
    queue: dict[str, QueueFigures]
    tunnel: dict[str, TunnelFigures]
    """By pipe; absent: there is no tunnel."""
    split: dict[str, SplitFigures]
    """By the proxy's host, `near` and `far`; absent: TCP is not split."""
    gateway: dict[str, GatewayFigures]
    """By the gateway's host, `near` and `far`; absent: there are none."""
    engine_error: EngineReport
    spec: dict[str, Any]
    """The run in plain numbers: nanoseconds, bytes, bit/s."""
    machine: Machine
    versions: dict[str, str]
    sysctl: dict[str, dict[str, str]]
    """Those in force, by host."""
    started: str | None
    """When it began, ISO 8601."""
    wall_s: float | None
    fault: str
    """Of a run that the engine's own fault ended: where that was raised."""
    events: int
    totals: Any
    sampler: Any
    source: dict[str, Any]
    """Of an imported run: which program measured it."""


class SweepRecord(TypedDict, total=False):
    """Which lab the runs of a folder belong to (lab.json)."""

    lab: str
    title: str | None
    published: str | None
    engine: str
    document: str | None
    """The lab as it was written; None for imported runs."""
    options: list[str]
    """What was changed of it, as on the command line."""
    digest: str
    cells: list[SweptCell]
    left_out: dict[str, str]
    """Variants that the engine has no means for, and why."""


def identity(point: Point) -> Identity:
    return {
        "lab": point.lab,
        "title": point.title,
        "published": point.published,
        "seed": point.seed,
        "repeat_index": point.repeat_index,
        "variant": point.variant,
        "point": dict(point.point),
    }


def new_record(
    of: Identity,
    *,
    engine: str,
    failed: bool,
    reliable: bool,
    why: list[str],
    folder: str | None,
    workloads: Mapping[str, Any],
    pipes: Mapping[str, Any],
    queue: Mapping[str, Any],
    engine_error: Mapping[str, Any] | None,
    spec: Mapping[str, Any],
    machine: Mapping[str, Any],
    versions: Mapping[str, Any],
    sysctl: Mapping[str, Any],
    started: str | None,
    wall_s: float | None,
    more: Mapping[str, Any] | None = None,
) -> Record:
    """The record of a run. `more` holds keys that only this engine has."""
    record: Any = {
        "lab": of["lab"],
        "title": of["title"],
        "published": of["published"],
        "engine": engine,
        "seed": of["seed"],
        "repeat_index": of["repeat_index"],
        "variant": of["variant"],
        "point": of["point"],
        "status": "failed" if failed else "done",
        "reliable": reliable,
        "why": why,
        "folder": folder,
        "workloads": workloads,
        "pipes": pipes,
        "queue": queue,
        "engine_error": engine_error,
        **(more or {}),
        "spec": spec,
        "machine": machine,
        "versions": versions,
        "sysctl": sysctl,
        "started": started,
        "wall_s": wall_s,
    }
    found: Record = record
    return found
