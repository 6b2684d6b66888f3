"""`[path]`: the two pipes between client and server (DESIGN.md: path, pipe).

A key may be written short (`rate = "16 Mbit/s"`) or as a table (`rate = { rate = .., burst = .. }`); each
table is a model, and a union picks among them by what the table says, so that an error speaks of the form
that was meant.
"""

import itertools
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    WithJsonSchema,
    model_validator,
)

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import (
    Instant,
    PositiveSize,
    PositiveSpan,
    Probability,
    Rate,
    Span,
    Table,
    doc,
    pair,
    tag,
)
from bentpipe.lab.models.loss import AnyLoss
from bentpipe.lab.models.queue import AnyQueue
from bentpipe.lab.models.rate import AnyRate
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.quantities import Unlimited, format_amount, parse_line_limit
from bentpipe.words.faults import did_you_mean, shown

_OUTAGES = 'outages = [["30 s", "2 s"]]'


class Jitter(Table):
    """Random variation of the delay, drawn for each packet, as by netem's `delay` with a second argument."""

    spread: Annotated[
        PositiveSpan, doc("standard deviation for `normal` and `pareto`, half the width for `uniform`")
    ]
    distribution: Annotated[
        Literal["normal", "uniform", "pareto"],
        doc("distribution of the variation", "the sum of many small waits is nearly normal"),
    ] = "normal"
    correlation: Annotated[
        Probability, doc("correlation of each variation with the one of the packet before", "as in netem")
    ] = 0.0
    reorder: Annotated[
        bool,
        doc(
            "whether a packet may overtake an earlier one",
            "real links mostly keep packets in order; netem reorders when jitter is large, often by accident",
        ),
    ] = False


class Handover(Table):
    """Handovers to another satellite, at every multiple of a period after time 0."""

    every: Annotated[PositiveSpan, doc("time from one handover to the next; 15 s for Starlink")]
    step: Annotated[
        Span,
        doc(
            "how far the delay may step: each handover draws a new offset to the pipe's delay, between this "
            "and minus this, the same for both pipes",
        ),
    ] = 0
    outage: Annotated[
        Span,
        doc(
            "how long nothing passes at each handover; packets sent then are lost",
        ),
    ] = 0

    @model_validator(mode="after")
    def _shorter_than_its_period(self) -> Self:
        if self.outage >= self.every:
            raise FaultError('expected an outage shorter than "every"', key="outage")
        return self


class Policer(Table):
    """A token bucket that drops packets for which it has no tokens (as RFC 2697, without colours)."""

    rate: Annotated[Rate, doc("rate at which the bucket is filled")]
    burst: Annotated[PositiveSize, doc("size of the bucket")]


def _jitter_branch(value: object) -> str:
    return tag("table") if isinstance(value, dict) else tag("plain")


AnyJitter = Annotated[
    Annotated[PositiveSpan, Tag(tag("plain"))] | Annotated[Jitter, Tag(tag("table"))],
    Discriminator(_jitter_branch),
]
LineLimit = Annotated[
    tuple[Literal["bytes", "packets"], int] | Unlimited,
    BeforeValidator(parse_line_limit),
    PlainSerializer(format_amount, return_type=str),
    WithJsonSchema({"type": "string", "title": "limit", "examples": ["1000 packets", "2 MB", "unlimited"]}),
]


def _known_preset(name: str) -> str:
    if name not in PRESETS:
        asked = did_you_mean(name, PRESETS)
        raise FaultError(f"{asked}Presets: {', '.join(PRESETS)}", found=f"the unknown preset {shown(name)}")
    return name


PresetName = Annotated[
    str, AfterValidator(_known_preset), WithJsonSchema({"type": "string", "enum": list(PRESETS)})
]


SHORT_FORMS = {
    **{"rate": "rate", "queue": "limit", "loss": "p", "ingress_loss": "p", "jitter": "spread"},
    "congestion_control": "name",
}
"""Tables that may be written short, by the key for which the short form stands."""


class PipeKeys(Table):
    """Keys in `[path]` hold for both pipes, keys in `[path.down]` or `[path.up]` for one."""

    delay: Annotated[
        Span | None, doc("propagation delay of one pipe; use either this or `rtt`", default="half of `rtt`")
    ] = None
    rate: Annotated[
        AnyRate | None,
        doc(
            "how fast the pipe sends: a rate, or a table with a token bucket, a trace or steps",
            default="unlimited",
        ),
    ] = None
    queue: Annotated[
        AnyQueue | None,
        doc(
            "the queue before the shaper: a limit, or a table with a discipline",
            default='"1 bdp" with a rate',
        ),
    ] = None
    policer: Annotated[
        Policer | None, doc("drops packets above a rate, before the queue", default="none")
    ] = None
    ingress_loss: Annotated[
        AnyLoss | None, doc("random loss before the queue; lost packets use no capacity", default="0")
    ] = None
    jitter: Annotated[
        AnyJitter | None, doc("random variation of the delay; a time alone is the `spread`", default="none")
    ] = None
    delay_limit: Annotated[
        LineLimit | None,
        doc(
            "how much may be in flight in one pipe, as netem's `limit`; packets above it are dropped",
            "a real line has no such limit; netem's default of 1000 packets often limits a test by accident",
            default='"unlimited"',
        ),
    ] = None
    loss: Annotated[
        AnyLoss | None,
        doc(
            "random loss after the shaper; lost packets have used capacity, as on a real satellite link",
            default="0",
        ),
    ] = None
    duplicate: Annotated[Probability | None, doc("probability that a packet arrives twice", default="0")] = (
        None
    )
    corrupt: Annotated[
        Probability | None,
        doc("probability that one bit of a packet is flipped; the receiver's checksum finds it", default="0"),
    ] = None
    outages: Annotated[
        list[Annotated[tuple[Instant, PositiveSpan], pair("a start and a length", _OUTAGES)]] | None,
        doc(
            '`[["30 s", "2 s"]]`: start and length of times in which nothing passes, such as rain fades',
            default="none",
        ),
    ] = None

    handover: Annotated[
        Handover | None,
        doc(
            '`{ every = "15 s", step = "10 ms", outage = "50 ms" }`: handovers between satellites',
            default="none",
        ),
    ] = None

    @model_validator(mode="after")
    def _outages_apart(self) -> Self:
        outages = self.outages or []
        for (start, length), (following, _) in itertools.pairwise(outages):
            if following < start + length:
                raise FaultError(
                    "expected outages in the order of their starts that do not overlap",
                    found=f"one at {units.format_time(following)} while the one from "
                    f"{units.format_time(start)} lasts to {units.format_time(start + length)}",
                    key="outages",
                )
        return self


class Path(PipeKeys):
    """The long path between client and server: two pipes, `down` to the client and `up` to the server."""

    preset: Annotated[
        PresetName | None,
        doc("a known path, whose keys the lab can change ([presets](#presets))", default="none"),
    ] = None
    rtt: Annotated[
        Span | None,
        doc("round trip with empty queues; half of it is in each pipe", default="0 s, or the preset's"),
    ] = None
    mtu: Annotated[
        int,
        Field(ge=576, le=65535),
        doc("largest IP packet in bytes, without a unit", "as on Ethernet and most paths"),
    ] = 1500
    down: Annotated[
        PipeKeys | None, doc("keys of the pipe from server to client that differ", default="as `[path]`")
    ] = None
    up: Annotated[
        PipeKeys | None, doc("keys of the pipe from client to server that differ", default="as `[path]`")
    ] = None

    @model_validator(mode="after")
    def _one_delay(self) -> Self:
        if self.rtt is not None and self.delay is not None:
            raise FaultError(
                'expected only one: "rtt" (both pipes together) or "delay" (each pipe)',
                found='both "rtt" and "delay"',
                key="delay",
            )
        return self
