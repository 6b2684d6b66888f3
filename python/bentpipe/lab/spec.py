"""A run in plain numbers: what an engine is given. Units, presets, defaults and files are settled by now.

Every time is an integer of nanoseconds from the run's time zero, every size bytes, every rate bit/s.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bentpipe.words.direction import Direction


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class PathSpec(_Spec):
    """The two pipes.

    `down` and `up` are the JSON of `PipeConfig` (crates/path/src/config.rs). A pipe's `rate_bit_s` is its
    fixed rate, a trace's mean, or of steps the one at time zero; None is unlimited.
    """

    down: dict[str, Any]
    up: dict[str, Any]
    mtu: int
    base_rtt_ns: int
    rate_down_bit_s: int | None
    rate_up_bit_s: int | None


class HostSpec(_Spec):
    """One host. What is None is left as the kernel (or in `sim`, a Linux 6.x) has it.

    `sysctl` holds all that `live` sets by sysctl, the modelled fields among them; `other_sysctl` only what
    the lab set under `sysctl`, which an engine without a kernel must refuse. Congestion control and the
    initial windows are route metrics, so they are in neither. `congestion_control_parameters` holds
    those that differ from Linux's.
    """

    sysctl: dict[str, str]
    other_sysctl: dict[str, str]
    congestion_control: str
    congestion_control_parameters: dict[str, str | float] = Field(default_factory=dict)
    ip: Literal[4, 6]
    initcwnd: int | None
    initrwnd: int | None
    open_receive_window: int | None = None
    sack: bool | None
    dsack: bool | None
    window_scaling: bool | None
    timestamps: bool | None
    ecn: bool | None
    tcp_rmem: tuple[int, int, int] | None
    tcp_wmem: tuple[int, int, int] | None
    slow_start_after_idle: bool | None


class _WorkloadSpec(_Spec):
    name: str
    start_ns: int


class PingSpec(_WorkloadSpec):
    """Echo requests from the client to the server."""

    kind: Literal["ping"] = "ping"
    count: int
    interval_ns: int
    size_bytes: int


class InteractiveSpec(_WorkloadSpec):
    """Messages of `size_bytes`, each answered with as many. With neither `count` nor `time_ns` they go on to
    the run's end. `interval_ns` is the mean gap.
    """

    kind: Literal["interactive"] = "interactive"
    count: int | None
    time_ns: int | None
    interval_ns: int
    gaps: Literal["fixed", "exponential"]
    size_bytes: int


class CallSpec(_WorkloadSpec):
    """Datagrams of `size_bytes` of voice both ways. Without `time_ns` they go on to the run's end."""

    kind: Literal["call"] = "call"
    time_ns: int | None
    interval_ns: int
    size_bytes: int
    playout_ns: int
    concealment: bool


class BulkSpec(_WorkloadSpec):
    """One long transfer. Either `size_bytes` or `time_ns` is given; what is sent in `omit_ns` comes before
    `time_ns`. `congestion_control` is its sender's; None: the host's. `max_pacing_rate_bit_s` is each
    stream's, of payload; None: no limit.
    """

    kind: Literal["bulk"] = "bulk"
    direction: Direction
    streams: int
    size_bytes: int | None
    time_ns: int | None
    omit_ns: int
    congestion_control: str | None
    congestion_control_parameters: dict[str, str | float] = Field(default_factory=dict)
    max_pacing_rate_bit_s: int | None = None


class PopularitySpec(_Spec):
    """Requests drawn from `objects` objects with Zipf's exponent."""

    zipf: float
    objects: int


class HttpSpec(_WorkloadSpec):
    """Fetches. Either `size_bytes` or `objects_bytes` is given.

    `think_ns` lies between a request at the server and its answer.
    """

    kind: Literal["http"] = "http"
    direction: Direction
    size_bytes: int | None
    objects_bytes: tuple[int, ...] | None
    popularity: PopularitySpec | None
    fetches: int
    connections: int
    keep_alive: bool
    think_ns: int


class Constant(_Spec):
    """Always the same: bytes or nanoseconds, by where it stands."""

    distribution: Literal["constant"] = "constant"
    value: int


class Lognormal(_Spec):
    """`median` in bytes or nanoseconds, by where it stands; `sigma` of the natural logarithm."""

    distribution: Literal["lognormal"] = "lognormal"
    median: int
    sigma: float


class BoundedPareto(_Spec):
    """`min` and `max` in bytes."""

    distribution: Literal["bounded-pareto"] = "bounded-pareto"
    shape: float
    min: int
    max: int


class LognormalPareto(_Spec):
    """A lognormal body; with the probability `tail` a bounded Pareto's instead. Sizes in bytes."""

    distribution: Literal["lognormal+pareto"] = "lognormal+pareto"
    median: int
    sigma: float
    tail: float
    shape: float
    min: int
    max: int


class Sizes(_Spec):
    """One of these, in bytes, each as likely as the others."""

    distribution: Literal["file"] = "file"
    values: tuple[int, ...]


AnySize = Annotated[
    Constant | Lognormal | BoundedPareto | LognormalPareto | Sizes, Field(discriminator="distribution")
]


class ChannelsSpec(_WorkloadSpec):
    """Clients with one connection after another, until the run ends."""

    kind: Literal["channels"] = "channels"
    channels: int
    servers: int
    size: AnySize
    terrestrial_delay: Annotated[Constant | Lognormal, Field(discriminator="distribution")]
    terrestrial_jitter_ns: int
    think_ns: int


class ExecSpec(_WorkloadSpec):
    """A command. With `time_ns` it is ended that long after its start."""

    kind: Literal["exec"] = "exec"
    command: tuple[str, ...]
    host: Literal["client", "near", "server"]
    time_ns: int | None


WorkloadSpec = Annotated[
    PingSpec | InteractiveSpec | CallSpec | BulkSpec | HttpSpec | ChannelsSpec | ExecSpec,
    Field(discriminator="kind"),
    Field(discriminator="kind"),
]


class NearSpec(_Spec):
    """A host between client and path; `cache_bytes` is None without a cache.

    `down` (to the client) and `up` are the pipes of the LAN between client and near, as those of `PathSpec`.
    """

    host: HostSpec
    down: dict[str, Any]
    up: dict[str, Any]
    rtt_ns: int
    rate_bit_s: int | None
    cache_bytes: int | None


def tunnel_bytes(ip: int) -> int:
    """What a tunnel adds to the longest packet: outer IP and UDP, and the header of a repair."""
    return (48 if ip == 6 else 28) + 10


class RoomSpec(_Spec):
    """A titrated repair enters while the pipe's queue, drained at this rate, holds so much or less with it.

    One that has waited longer than `max_age_ns` is dropped.
    """

    rate_bit_s: int
    queue_bytes: int
    max_age_ns: int


class ExactSpec(_Spec):
    """Missing packets are requested and sent again. The exit keeps the newest `kept_packets`."""

    patience_ns: int
    again_ns: int
    kept_packets: int


class TunnelSpec(_Spec):
    """Whole packets cross the path coded. `down` and `up` are of a titrated tunnel; None: always room.

    `exact` is None where no packet is sent again.
    """

    kind: Literal["coded"]
    repair: Literal["code", "exact", "both"]
    redundancy: float | Literal["adaptive", "titrated"]
    window_packets: int
    hold_ns: int
    down: RoomSpec | None
    up: RoomSpec | None
    exact: ExactSpec | None
    beside: tuple[str, ...] = ()
    """The workloads whose packets cross the path beside the tunnel."""


class SplitSpec(_Spec):
    """TCP ends at near and at far.

    `host` has their settings towards client and server, `path` those across the path.
    """

    host: HostSpec
    path: HostSpec


ControlLaw = Literal["fixed", "capped", "fair"]
GatewayKind = Literal["bentpipe", "kcptun", "hysteria2", "tuic"]


class GatewaySpec(_Spec):
    """bentpipe's gateways at near and far. `host` has their sockets towards client and server. A rate is that
    of its law `fixed`, or the cap of `capped`; `fair` has none.
    """

    host: HostSpec
    kind: GatewayKind = "bentpipe"
    rate_down_bit_s: int | None
    rate_up_bit_s: int | None
    law_down: ControlLaw = "fixed"
    law_up: ControlLaw = "fixed"
    redundancy: float | Literal["adaptive"]
    beside: tuple[str, ...] = ()
    """The workloads whose packets cross the path beside the session."""


class LimitsSpec(_Spec):
    """Past these a live run is unreliable."""

    lateness_p99_s: float
    unintended_loss: int
    rate_error: float
    host_stopped_s: float
    host_wait_share: float
    bulk_wait_share: float
    channels_wait_share: float
    host_wait_max_s: float
    sampler_late_s: float


class RunSpec(_Spec):
    """All that an engine needs to know of a run but its seed.

    The run begins at `earliest_start_ns` (0 or before) and ends at `duration_ns`, or with `until` "done"
    when all work is done, at `duration_ns` at the latest if it is given.
    """

    path: PathSpec
    client: HostSpec
    server: HostSpec
    near: NearSpec | None
    tunnel: TunnelSpec | None = None
    split: SplitSpec | None = None
    gateway: GatewaySpec | None = None
    workloads: tuple[WorkloadSpec, ...]
    duration_s: float | None
    duration_ns: int | None
    until: Literal["duration", "done"]
    limits: LimitsSpec

    @property
    def base_rtt_ns(self) -> int:
        """Between client and server with empty queues, the LAN of a near host included."""
        return self.path.base_rtt_ns + (self.near.rtt_ns if self.near else 0)

    @property
    def has_near(self) -> bool:
        """Whether there is a host between client and path."""
        return self.near is not None or self.split is not None or self.gateway is not None

    @property
    def host_mtu(self) -> int:
        """The longest packet that a host sends: the path's, less what a tunnel adds."""
        return self.path.mtu - (tunnel_bytes(self.client.ip) if self.tunnel else 0)

    @property
    def earliest_start_ns(self) -> int:
        """When the first work begins: 0, or before it."""
        return min(0, *(workload.start_ns for workload in self.workloads))
