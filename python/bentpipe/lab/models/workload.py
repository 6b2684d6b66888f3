"""`[[workload]]`: what the hosts do (DESIGN.md: workload). One model per kind, chosen by `kind`."""

from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import (
    PositiveSize,
    PositiveSpan,
    Probability,
    Rate,
    Size,
    Span,
    Table,
    doc,
    tag,
)
from bentpipe.lab.models.call import Call
from bentpipe.lab.models.host import CongestionControl
from bentpipe.lab.models.interactive import Interactive
from bentpipe.lab.models.workload_keys import Direction, WorkloadKeys


class Ping(WorkloadKeys):
    """Round trips, measured by the client's `ping` to the server."""

    kind: Annotated[Literal["ping"], doc("this kind")]
    count: Annotated[int, Field(ge=1, le=10**6), doc("number of echo requests")] = 10
    interval: Annotated[
        Annotated[PositiveSpan, Field(ge=2_000_000)],
        doc(
            "time between two echo requests, 2 ms or more",
            "the shortest that every version of ping allows an ordinary user",
        ),
    ] = 200_000_000
    size: Annotated[Size, Field(le=65507 - 20), doc("payload of an echo request", "as ping's own")] = 56


def _paced_by_iperf3(rate_bit_s: int) -> int:
    """iperf3 hands a 32-bit number of bytes per second to the kernel."""
    if not 1_000 <= rate_bit_s <= 32_000_000_000:
        raise FaultError(
            "expected 1 kbit/s to 32 Gbit/s", found=f"{units.format_rate(rate_bit_s)}, which is out of range"
        )
    return rate_bit_s


class Bulk(WorkloadKeys):
    """One long transfer by `iperf3`, over one or more connections."""

    kind: Annotated[Literal["bulk"], doc("this kind")]
    direction: Annotated[
        Literal["down", "up", "both"],
        doc(
            "`down`: the server sends; `up`: the client sends; `both`: two workloads at once, NAME-down and "
            "NAME-up",
        ),
    ] = "down"
    streams: Annotated[int, Field(ge=1, le=128), doc("parallel TCP connections")] = 1
    size: Annotated[
        PositiveSize | None,
        doc("how much to send, over all streams; use either this or `time`", default="no limit"),
    ] = None
    time: Annotated[
        PositiveSpan | None,
        doc("how long to send and measure, after `omit`", default="until the run's `duration`"),
    ] = None
    congestion_control: Annotated[
        CongestionControl | None,
        doc(
            "congestion control of this transfer, if it differs from that of the sending host",
            default="the sending host's",
        ),
    ] = None
    max_pacing_rate: Annotated[
        Annotated[Rate, AfterValidator(_paced_by_iperf3)] | None,
        doc(
            "the highest rate of payload of each stream, for which TCP then spaces its packets, as iperf3's "
            "`--fq-rate` (`SO_MAX_PACING_RATE`); 1 kbit/s to 32 Gbit/s; not with `size`",
            default="no limit",
        ),
    ] = None
    omit: Annotated[
        Span,
        doc(
            "how long to send before the measurement begins, as iperf3's `-O`",
        ),
    ] = 0

    @model_validator(mode="after")
    def _size_or_time(self) -> Self:
        if self.size is not None and self.time is not None:
            raise FaultError("expected only one of them", found='both "size" and "time"', key="time")
        if self.size is not None and self.max_pacing_rate is not None:
            raise FaultError(
                'expected "time" with it: iperf3 limits only transfers by time',
                found='it and "size"',
                key="max_pacing_rate",
            )
        return self


class Popularity(Table):
    """Requests for objects of a set, some of which are requested more often than others."""

    zipf: Annotated[
        float, Field(gt=0, le=10), doc("exponent: the k-th object is requested in proportion to k^-zipf")
    ]
    set: Annotated[int, Field(ge=1, le=10**6), doc("number of objects")]


class Http(WorkloadKeys):
    """Fetches from a web server (nginx and curl): a file, a page of objects, or objects of a set."""

    kind: Annotated[Literal["http"], doc("this kind")]
    direction: Direction = "down"
    size: Annotated[
        PositiveSize | None,
        doc("size of the file, or of each object of `popularity`", default="required, or `objects`"),
    ] = None
    objects: Annotated[
        list[PositiveSize] | None,
        Field(min_length=1),
        doc("a page: the sizes of its objects", default="a file"),
    ] = None
    popularity: Annotated[
        Popularity | None, doc("request objects of a set, each of `size`", default="one file")
    ] = None
    fetches: Annotated[int, Field(ge=1, le=10**6), doc("number of fetches, one after another")] = 1
    connections: Annotated[
        int | None,
        Field(ge=1, le=128),
        doc(
            "for a file: above 1 it is fetched in as many ranges at once, as download accelerators do; for "
            "a page: the most connections at once",
            "browsers open up to 6 connections to a server",
            default="1; 6 for a page",
        ),
    ] = None
    keep_alive: Annotated[
        bool | None,
        doc(
            "whether a connection is kept for the next request",
            "as browsers fetch a page; each fetch of a file is a curl of its own",
            default="`false`; `true` for a page",
        ),
    ] = None
    think: Annotated[Span, doc("how long the server waits before it answers a request")] = 0

    @model_validator(mode="after")
    def _ranges_of_a_download(self) -> Self:
        if self.direction == "up" and self.objects is None and (self.connections or 1) > 1:
            raise FaultError(
                'expected direction = "down": an upload has no ranges',
                found=f"{self.connections} and up",
                key="connections",
            )
        return self

    @model_validator(mode="after")
    def _size_or_objects(self) -> Self:
        if self.size is not None and self.objects is not None:
            raise FaultError("expected only one of them", found='both "size" and "objects"', key="objects")
        if self.size is None and self.objects is None:
            raise FaultError(
                'expected a "size", or the sizes of a page under "objects"', found="neither", key="size"
            )
        if self.popularity is not None and self.objects is not None:
            raise FaultError(
                'expected "size" instead of "objects": the set\'s objects are all of one size',
                key="popularity",
            )
        return self


class LognormalDelay(Table):
    """One delay per server, from a lognormal distribution."""

    distribution: Annotated[Literal["lognormal"], doc("most servers are near, a few are far")]
    median: Annotated[PositiveSpan, doc("median of the delays")]
    sigma: Annotated[float, Field(ge=0, le=5), doc("standard deviation of ln(delay), without a unit")]


class LognormalSize(Table):
    """One size per flow, from a lognormal distribution."""

    distribution: Annotated[Literal["lognormal"], doc("sizes around a median")]
    median: Annotated[PositiveSize, doc("median of the sizes")]
    sigma: Annotated[float, Field(ge=0, le=5), doc("standard deviation of ln(size), without a unit")]


class ParetoSize(Table):
    """One size per flow, from a bounded Pareto distribution: many small flows, a few very large ones."""

    distribution: Annotated[Literal["bounded-pareto"], doc("a heavy tail, cut at `max`")]
    shape: Annotated[float, Field(gt=0, le=10), doc("tail exponent; below 2 the tail is heavy")]
    min: Annotated[PositiveSize, doc("smallest flow")]
    max: Annotated[PositiveSize, doc("largest flow")]

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.min >= self.max:
            raise FaultError('expected a "min" below "max"', key="min")
        return self


class LognormalParetoSize(Table):
    """One size per flow: mostly from a lognormal distribution, sometimes from a heavy tail."""

    distribution: Annotated[Literal["lognormal+pareto"], doc("a lognormal body and a bounded Pareto tail")]
    median: Annotated[PositiveSize, doc("median of the body")]
    sigma: Annotated[
        float, Field(ge=0, le=5), doc("standard deviation of the body's ln(size), without a unit")
    ]
    tail: Annotated[Probability, doc("share of flows whose size is from the tail")]
    shape: Annotated[float, Field(gt=0, le=10), doc("tail exponent; below 2 the tail is heavy")]
    min: Annotated[PositiveSize, doc("smallest flow of the tail")]
    max: Annotated[PositiveSize, doc("largest flow of the tail")]

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.min >= self.max:
            raise FaultError('expected a "min" below "max"', key="min")
        return self


class FileSize(Table):
    """One size per flow, drawn from a file of sizes."""

    distribution: Annotated[Literal["file"], doc("recorded sizes")]
    file: Annotated[str, doc("file of sizes, relative to the lab file; each size is equally likely")]


def _delay_branch(value: object) -> str:
    return tag("table") if isinstance(value, dict) else tag("plain")


def _size_branch(value: object) -> str | None:
    if not isinstance(value, dict):
        return tag("plain")
    distribution = value.get("distribution", "bounded-pareto")
    return tag(distribution) if distribution in SIZE_DISTRIBUTIONS else None


SIZE_DISTRIBUTIONS = ("bounded-pareto", "lognormal", "lognormal+pareto", "file")
AnyDelay = Annotated[
    Annotated[Span, Tag(tag("plain"))] | Annotated[LognormalDelay, Tag(tag("table"))],
    Discriminator(_delay_branch),
]
AnySize = Annotated[
    Annotated[PositiveSize, Tag(tag("plain"))]
    | Annotated[ParetoSize, Tag(tag("bounded-pareto"))]
    | Annotated[LognormalSize, Tag(tag("lognormal"))]
    | Annotated[LognormalParetoSize, Tag(tag("lognormal+pareto"))]
    | Annotated[FileSize, Tag(tag("file"))],
    Discriminator(_size_branch, custom_error_type="choice", custom_error_message="distribution"),
]


class Terrestrial(Table):
    """The way from the far end of the long path to each server."""

    delay: Annotated[
        AnyDelay, doc("one-way delay: a time for all servers, or a distribution, drawn once for each server")
    ]
    jitter: Annotated[Span, doc("standard deviation of the variation per packet; packets stay in order")] = 0


class Channels(WorkloadKeys):
    """Clients that each open a connection, receive a flow, close it and open the next, until the run ends."""

    kind: Annotated[Literal["channels"], doc("this kind")]
    channels: Annotated[int, Field(ge=1, le=100_000), doc("number of clients")]
    servers: Annotated[
        int,
        Field(ge=1, le=1000),
        doc("number of servers; each connection goes to one of them at random", "as in satellite-baselines"),
    ] = 23
    size: Annotated[AnySize, doc("size of a flow: one for all flows, or a distribution, drawn for each flow")]
    terrestrial: Annotated[
        Terrestrial | None, doc("delay between the far end and each server", default="none")
    ] = None
    think: Annotated[
        Span, doc("how long a client waits between the end of a flow and its next connection")
    ] = 0


def _command(value: object) -> object:
    would_do = 'expected a list of words, such as ["curl", "-s", "http://server/"]'
    if not isinstance(value, list) or not value:
        raise FaultError(would_do)
    if not all(isinstance(word, str) and "\0" not in word for word in value) or not value[0]:
        raise FaultError(would_do)
    return tuple(value)


class Exec(WorkloadKeys):
    """Any command, run at a host in a sandbox. `live` only, and only if it is allowed (`--allow-exec`)."""

    kind: Annotated[Literal["exec"], doc("this kind")]
    command: Annotated[
        tuple[str, ...],
        BeforeValidator(_command),
        WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        doc("the program and its arguments, without a shell; the names `client` and `server` resolve"),
    ]
    host: Annotated[Literal["client", "near", "server"], doc("the host at which it runs")] = "client"
    time: Annotated[PositiveSpan | None, doc("how long it may run", default="until it ends by itself")] = None


KINDS = ("ping", "bulk", "http", "channels", "interactive", "call", "exec")


def _kind(value: object) -> str | None:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return tag(kind) if kind in KINDS else None


AnyWorkload = Annotated[
    Annotated[Ping, Tag(tag("ping"))]
    | Annotated[Bulk, Tag(tag("bulk"))]
    | Annotated[Http, Tag(tag("http"))]
    | Annotated[Channels, Tag(tag("channels"))]
    | Annotated[Interactive, Tag(tag("interactive"))]
    | Annotated[Call, Tag(tag("call"))]
    | Annotated[Exec, Tag(tag("exec"))],
    Discriminator(_kind, custom_error_type="choice", custom_error_message="kind"),
]
MODELS: dict[str, type[WorkloadKeys]] = {
    "ping": Ping,
    "bulk": Bulk,
    "http": Http,
    "channels": Channels,
    "interactive": Interactive,
    "call": Call,
    "exec": Exec,
}


def name_of(workload: AnyWorkload) -> str:
    """What the workload is called: its name, or its kind where it has none."""
    return workload.name or workload.kind
