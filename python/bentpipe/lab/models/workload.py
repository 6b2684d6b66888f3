"""`[[workload]]`: what the hosts do (DESIGN.md: workload). One model per kind, chosen by `kind`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema, model_validator

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import (
    Instant,
    PositiveSize,
    PositiveSpan,
    Probability,
    Size,
    Span,
    Table,
    doc,
    tag,
)
from bentpipe.lab.models.host import CongestionControl

_NAME_PATTERN = "[A-Za-z0-9_-]{1,64}"


def _plain_name(value: object) -> object:
    if isinstance(value, str) and not re.fullmatch(_NAME_PATTERN, value):
        raise FaultError(
            "expected up to 64 letters, digits, - and _: a dotted key is made of it (workload.NAME.size)"
        )
    return value


Name = Annotated[
    str, BeforeValidator(_plain_name), WithJsonSchema({"type": "string", "pattern": f"^{_NAME_PATTERN}$"})
]
Direction = Annotated[
    Literal["down", "up"],
    doc("`down`: the server sends; `up`: the client sends", "most of what people wait for comes down"),
]


class _Workload(Table):
    name: Annotated[
        Name | None,
        doc(
            "what keys (`workload.NAME.size`), tables and results call it; unlike any other",
            default="the kind",
        ),
    ] = None
    start: Annotated[
        Instant,
        doc(
            "when it begins; below 0 it has the idle path to itself",
            "what waits for nothing begins at time 0",
        ),
    ] = 0
    enabled: Annotated[
        bool,
        doc(
            "`false` leaves the workload out; a sweep, a variant or `--set` can do so",
            "what stands in a lab is to be done",
        ),
    ] = True


class Ping(_Workload):
    """The client's `ping` to the server."""

    kind: Annotated[Literal["ping"], doc("round trips")]
    count: Annotated[int, Field(ge=1, le=10**6), doc("number of echo requests", "enough for a median")] = 10
    interval: Annotated[
        Annotated[PositiveSpan, Field(ge=2_000_000)],
        doc(
            "time between them, 2 ms or more",
            "the shortest that an ordinary user may ask of every version of ping",
        ),
    ] = 200_000_000
    size: Annotated[Size, Field(le=65507 - 20), doc("payload of an echo request", "ping's own default")] = 56


class Bulk(_Workload):
    """One long transfer by `iperf3`. Without `size` and `time` it lasts until the run's `duration`."""

    kind: Annotated[Literal["bulk"], doc("a long transfer")]
    direction: Annotated[
        Literal["down", "up", "both"],
        doc(
            "`down`: the server sends; `up`: the client sends; `both`: two workloads, NAME-down and "
            "NAME-up, at once",
            "most of what people wait for comes down",
        ),
    ] = "down"
    streams: Annotated[
        int, Field(ge=1, le=128), doc("parallel TCP connections; iperf3 allows 128", "the plain case")
    ] = 1
    size: Annotated[PositiveSize | None, doc("bytes to send, over all streams", default="none")] = None
    time: Annotated[
        PositiveSpan | None, doc("how long to send and measure, after `omit`", default="to the run's end")
    ] = None
    congestion_control: Annotated[
        CongestionControl | None,
        doc(
            "congestion control of this transfer's sender, where it is to differ from its host's",
            "one host, one setting",
            default="the sending host's",
        ),
    ] = None
    omit: Annotated[
        Span,
        doc(
            "what is sent first and left out of the figures, as iperf3's -O",
            "all of a transfer counts unless said",
        ),
    ] = 0

    @model_validator(mode="after")
    def _size_or_time(self) -> Bulk:
        if self.size is not None and self.time is not None:
            raise FaultError('expected one of "size" and "time"', found="both", key="time")
        return self


class Popularity(Table):
    """Requests drawn from a set of objects, some asked for more than others."""

    zipf: Annotated[
        float, Field(gt=0, le=10), doc("exponent: the k-th object is asked for in proportion to k^-zipf")
    ]
    set: Annotated[int, Field(ge=1, le=10**6), doc("number of objects")]


class Http(_Workload):
    """Fetches from a web server: one file, a page of objects, or draws from a set."""

    kind: Annotated[Literal["http"], doc("fetches")]
    direction: Direction = "down"
    size: Annotated[
        PositiveSize | None, doc("size of the file, or of each object of `popularity`", default="none")
    ] = None
    objects: Annotated[
        list[PositiveSize] | None, Field(min_length=1), doc("sizes of a page's objects", default="none")
    ] = None
    popularity: Annotated[
        Popularity | None, doc("draw each request from a set of objects of `size`", default="none")
    ] = None
    fetches: Annotated[int, Field(ge=1, le=10**6), doc("fetches, one after another", "the plain case")] = 1
    connections: Annotated[
        int | None,
        Field(ge=1, le=128),
        doc(
            "above 1: the file in ranges, all at once, as download accelerators do; of a page, the most "
            "at once",
            "the plain case; of a page, what browsers open to one server",
            default="1, of a page 6",
        ),
    ] = None
    keep_alive: Annotated[
        bool | None,
        doc(
            "whether a connection is kept for the next request",
            "each fetch by a curl of its own; a page as browsers do",
            default="false, of a page true",
        ),
    ] = None
    think: Annotated[
        Span, doc("how long the server takes before it answers a request", "a file is there at once")
    ] = 0

    @model_validator(mode="after")
    def _ranges_of_a_download(self) -> Http:
        if self.direction == "up" and self.objects is None and (self.connections or 1) > 1:
            raise FaultError(
                'expected direction = "down": an upload has no ranges',
                found=f"{self.connections} and up",
                key="connections",
            )
        return self

    @model_validator(mode="after")
    def _size_or_objects(self) -> Http:
        if self.size is not None and self.objects is not None:
            raise FaultError('expected one of "size" and "objects"', found="both", key="objects")
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
    """A delay per server: ln(delay) is normal."""

    distribution: Annotated[Literal["lognormal"], doc("most servers near, a few far")]
    median: Annotated[PositiveSpan, doc("half of the servers are nearer")]
    sigma: Annotated[float, Field(ge=0, le=5), doc("standard deviation of ln(delay), without a unit")]


class LognormalSize(Table):
    """A size per flow: ln(size) is normal."""

    distribution: Annotated[Literal["lognormal"], doc("sizes around a median")]
    median: Annotated[PositiveSize, doc("half of the flows are smaller")]
    sigma: Annotated[float, Field(ge=0, le=5), doc("standard deviation of ln(size), without a unit")]


class ParetoSize(Table):
    """A size per flow: very many small ones and a few very large."""

    distribution: Annotated[Literal["bounded-pareto"], doc("a heavy tail, cut at `max`")]
    shape: Annotated[float, Field(gt=0, le=10), doc("tail exponent; below 2 the tail is heavy")]
    min: Annotated[PositiveSize, doc("smallest flow")]
    max: Annotated[PositiveSize, doc("largest flow")]

    @model_validator(mode="after")
    def _min_below_max(self) -> ParetoSize:
        if self.min >= self.max:
            raise FaultError('expected a "min" below "max"', key="min")
        return self


class LognormalParetoSize(Table):
    """A size per flow: a lognormal body, and now and then one from a heavy tail."""

    distribution: Annotated[Literal["lognormal+pareto"], doc("a body and a tail of their own")]
    median: Annotated[PositiveSize, doc("of the body")]
    sigma: Annotated[
        float, Field(ge=0, le=5), doc("standard deviation of the body's ln(size), without a unit")
    ]
    tail: Annotated[Probability, doc("share of flows that are of the tail")]
    shape: Annotated[float, Field(gt=0, le=10), doc("tail exponent; below 2 the tail is heavy")]
    min: Annotated[PositiveSize, doc("smallest flow of the tail")]
    max: Annotated[PositiveSize, doc("largest flow of the tail")]

    @model_validator(mode="after")
    def _min_below_max(self) -> LognormalParetoSize:
        if self.min >= self.max:
            raise FaultError('expected a "min" below "max"', key="min")
        return self


class FileSize(Table):
    """A size per flow, drawn from a file of sizes."""

    distribution: Annotated[Literal["file"], doc("as recorded")]
    file: Annotated[str, doc("file of sizes, relative to the lab file; each is as likely as the others")]


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
    """What lies beyond the far end of the long path."""

    delay: Annotated[
        AnyDelay, doc("one way to a server: a time, or a distribution drawn once per server by the seed")
    ]
    jitter: Annotated[Span, doc("standard deviation per packet, order kept", "none unless asked for")] = 0


class Channels(_Workload):
    """Clients that each open a connection, are sent a flow, close, and at once open the next, until the run
    ends.
    """

    kind: Annotated[Literal["channels"], doc("one connection after another")]
    channels: Annotated[int, Field(ge=1, le=100_000), doc("clients at work at any time")]
    servers: Annotated[
        int,
        Field(ge=1, le=1000),
        doc("servers that a client chooses from at random", "as in satellite-baselines"),
    ] = 23
    size: Annotated[AnySize, doc("size of a flow: one size, or a distribution drawn per flow by the seed")]
    terrestrial: Annotated[
        Terrestrial | None, doc("delay between the far end and each server", default="none")
    ] = None
    think: Annotated[
        Span, doc("between the end of a flow and the channel's next connection", "the next at once")
    ] = 0


def _command(value: object) -> object:
    would_do = 'expected a list of words, such as ["curl", "-s", "http://server/"]'
    if not isinstance(value, list) or not value:
        raise FaultError(would_do)
    if not all(isinstance(word, str) and "\0" not in word for word in value) or not value[0]:
        raise FaultError(would_do)
    return tuple(value)


class Exec(_Workload):
    """Any command, inside a host's namespace and a sandbox, once it is allowed (`live` only)."""

    kind: Annotated[Literal["exec"], doc("a command of your own")]
    command: Annotated[
        tuple[str, ...],
        BeforeValidator(_command),
        WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        doc("the program and its arguments; no shell reads them. The hosts' names resolve"),
    ]
    host: Annotated[
        Literal["client", "near", "server"], doc("where it runs", "what is tried is mostly a client")
    ] = "client"
    time: Annotated[
        PositiveSpan | None, doc("when to end it, after its start", default="when it ends itself")
    ] = None


KINDS = ("ping", "bulk", "http", "channels", "exec")


def _kind(value: object) -> str | None:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return tag(kind) if kind in KINDS else None


AnyWorkload = Annotated[
    Annotated[Ping, Tag(tag("ping"))]
    | Annotated[Bulk, Tag(tag("bulk"))]
    | Annotated[Http, Tag(tag("http"))]
    | Annotated[Channels, Tag(tag("channels"))]
    | Annotated[Exec, Tag(tag("exec"))],
    Discriminator(_kind, custom_error_type="choice", custom_error_message="kind"),
]
MODELS: dict[str, type[Ping | Bulk | Http | Channels | Exec]] = {
    "ping": Ping,
    "bulk": Bulk,
    "http": Http,
    "channels": Channels,
    "exec": Exec,
}


def name_of(workload: Ping | Bulk | Http | Channels | Exec) -> str:
    """What the workload is called: its name, or its kind where it has none."""
    return workload.name or workload.kind
