"""`[path]`: the two pipes between client and server (DESIGN.md: path, pipe).

A key may be written short (`rate = "16 Mbit/s"`) or as a table (`rate = { rate = .., burst = .. }`); each
table is a model, and a union picks among them by what the table says, so that an error speaks of the form
that was meant.
"""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

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


class Jitter(Table):
    """Variation of the delay, drawn per packet (netem's second and later delay arguments)."""

    spread: Annotated[
        PositiveSpan, doc("standard deviation for `normal` and `pareto`, half the width for `uniform`")
    ]
    distribution: Annotated[
        Literal["normal", "uniform", "pareto"],
        doc("shape of the draws", "sums of many small waits are near normal"),
    ] = "normal"
    correlation: Annotated[Probability, doc("of each draw with the one before", "netem's default")] = 0.0
    reorder: Annotated[
        bool,
        doc(
            "whether a packet may overtake an earlier one",
            "real links mostly keep order; reordering by accident is netem's best-known trap",
        ),
    ] = False


class Handover(Table):
    """Reassignments to another satellite, at every multiple of a period after time zero."""

    every: Annotated[PositiveSpan, doc("from one reassignment to the next; Starlink's are 15 s apart")]
    step: Annotated[
        Span,
        doc(
            "the delay then differs from the pipe's own by a draw between this and minus this, the same in "
            "both pipes",
            "none unless asked for",
        ),
    ] = 0
    outage: Annotated[Span, doc("how long nothing passes then: a burst of loss", "none unless asked for")] = 0

    @model_validator(mode="after")
    def _shorter_than_its_period(self) -> Handover:
        if self.outage >= self.every:
            raise FaultError('expected an outage shorter than "every"', key="outage")
        return self


class Policer(Table):
    """A token bucket that drops what does not conform (RFC 2697 without colours)."""

    rate: Annotated[Rate, doc("rate at which tokens come")]
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
        raise FaultError(f"{asked}Presets: {', '.join(PRESETS)}", found=f"{shown(name)}, which is not known")
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
    """What may be said of one pipe, in `[path.down]` and `[path.up]`; and in `[path]`, of both."""

    delay: Annotated[
        Span | None, doc("propagation delay of one pipe; instead of `rtt`", default="half of `rtt`")
    ] = None
    rate: Annotated[
        AnyRate | None,
        doc("how fast the pipe sends", "an emulator adds no limit unasked", default="unlimited"),
    ] = None
    queue: Annotated[
        AnyQueue | None,
        doc(
            "the queue before the shaper: a limit, or a table with a discipline",
            default='"1 bdp" with a rate',
        ),
    ] = None
    policer: Annotated[Policer | None, doc("drops what exceeds it, before the queue", default="none")] = None
    ingress_loss: Annotated[
        AnyLoss | None, doc("random loss before the queue: uses no capacity", default="0")
    ] = None
    jitter: Annotated[
        AnyJitter | None, doc("variation of the delay; a time is short for `{ spread = .. }`", default="none")
    ] = None
    delay_limit: Annotated[
        LineLimit | None,
        doc(
            "what the delay line can hold; beyond it an arrival drops (netem's `limit`)",
            "a wire holds whatever was sent into it; netem's 1000 packets are a trap, reproduced only "
            "on request",
            default='"unlimited"',
        ),
    ] = None
    loss: Annotated[
        AnyLoss | None,
        doc(
            "random loss on the channel, after the shaper: it has used up capacity, as on a real satellite",
            default="0",
        ),
    ] = None
    duplicate: Annotated[Probability | None, doc("probability that a packet arrives twice", default="0")] = (
        None
    )
    corrupt: Annotated[
        Probability | None,
        doc("probability that one bit is flipped, which the receiver's checksum catches", default="0"),
    ] = None
    outages: Annotated[
        list[Annotated[tuple[Instant, PositiveSpan], pair("a start and a length", '["30 s", "2 s"]')]] | None,
        doc('`[["30 s", "2 s"]]`: start and length; nothing passes (handover, rain)', default="none"),
    ] = None

    handover: Annotated[
        Handover | None,
        doc(
            '`{ every = "15 s", step = "10 ms", outage = "50 ms" }`: reassignments in a low orbit',
            default="none",
        ),
    ] = None

    @model_validator(mode="after")
    def _outages_apart(self) -> PipeKeys:
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
    """The long path: both pipes, unless `[path.down]` or `[path.up]` say otherwise."""

    preset: Annotated[
        PresetName | None, doc("a start to change from: see the presets below", default="none")
    ] = None
    rtt: Annotated[Span | None, doc("base round trip, half in each pipe", default="0 s, or the preset's")] = (
        None
    )
    mtu: Annotated[
        int,
        Field(ge=576, le=65535),
        doc("largest IP packet in bytes, a plain number", "Ethernet's, and most paths'"),
    ] = 1500
    down: Annotated[
        PipeKeys | None, doc("the pipe from server to client, where it differs", default="as `[path]`")
    ] = None
    up: Annotated[
        PipeKeys | None, doc("the pipe from client to server, where it differs", default="as `[path]`")
    ] = None

    @model_validator(mode="after")
    def _one_delay(self) -> Path:
        if self.rtt is not None and self.delay is not None:
            raise FaultError(
                'expected one of "rtt" (both pipes together) and "delay" (each pipe)',
                found="both",
                key="delay",
            )
        return self
