"""`[path]`: the two pipes between client and server (DESIGN.md: path, pipe).

A key may be written short (`rate = "16 Mbit/s"`) or as a table (`rate = { rate = .., burst = .. }`); each table is a
model, and a union picks among them by what the table says, so that an error speaks of the form that was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Literal

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
from bentpipe.lab.errors import Wrong, nearest, shown
from bentpipe.lab.models.base import (
    Instant,
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
from bentpipe.lab.presets import PRESETS
from bentpipe.lab.quantities import UNLIMITED, QueueAmount, Unlimited, parse_line_limit, parse_queue_amount

# --- rate -----------------------------------------------------------------------------------------------------------


def _rate_or_unlimited(value: object) -> int | Unlimited:
    return UNLIMITED if value == "unlimited" else units.parse_rate(value)


PlainRate = Annotated[
    int | Unlimited,
    BeforeValidator(_rate_or_unlimited),
    WithJsonSchema({"type": "string", "title": "rate", "examples": ["16 Mbit/s", "2 MB/s", "unlimited"]}),
]


class BucketRate(Table):
    """A fixed rate as a table: a token bucket where `burst` is given."""

    rate: Annotated[Rate, doc("rate at which the pipe sends (with `burst`: at which tokens come)")]
    burst: Annotated[
        PositiveSize | None,
        doc(
            "size of the token bucket: what may leave at once after a pause",
            "without it packets leave one by one",
        ),
    ] = None
    peak: Annotated[
        Rate | None, doc("highest rate while the bucket has tokens; needs `burst`", "a burst leaves at once")
    ] = None

    @model_validator(mode="after")
    def _peak_above_rate(self) -> BucketRate:
        if self.peak is not None and self.burst is None:
            raise Wrong(
                'a "burst" beside it would do: a peak rate bounds how fast a burst leaves', key="peak"
            )
        if self.peak is not None and self.peak < self.rate:
            raise Wrong(
                f'a peak of at least the rate, "{units.format_rate(self.rate)}", would do', key="peak"
            )
        return self


class TraceRate(Table):
    """Delivery opportunities from a recorded link."""

    trace: Annotated[str, doc("file of delivery opportunities, relative to the lab file; it repeats")]
    format: Annotated[
        Literal["mahimahi"],
        doc("one line per opportunity to send 1500 bytes, in ms from the start", "the only format so far"),
    ] = "mahimahi"


class StepsRate(Table):
    """A rate that changes at given times."""

    steps: Annotated[
        list[Annotated[tuple[Instant, PlainRate], Field(strict=False)]],
        Field(min_length=1),
        doc(
            '`[["0 s", "16 Mbit/s"], ["30 s", "8 Mbit/s"]]`: from when, which rate; the first holds before it too'
        ),
    ]

    @model_validator(mode="after")
    def _in_order(self) -> StepsRate:
        for (earlier, _), (later, _) in zip(self.steps, self.steps[1:], strict=False):
            if later <= earlier:
                raise Wrong(
                    "steps in the order of their times would do",
                    found=f"a step at {units.format_time(later)} after one at {units.format_time(earlier)}",
                    key="steps",
                )
        return self


def _by_key(plain: str, keys: Iterable[str], fallback: str) -> Callable[[object], str]:
    """Chooses a union's branch by which key a table has."""
    names = tuple(keys)

    def choose(value: object) -> str:
        if not isinstance(value, dict):
            return tag(plain)
        return tag(next((name for name in names if name in value), fallback))

    return choose


AnyRate = Annotated[
    Annotated[PlainRate, Tag(tag("plain"))]
    | Annotated[BucketRate, Tag(tag("rate"))]
    | Annotated[TraceRate, Tag(tag("trace"))]
    | Annotated[StepsRate, Tag(tag("steps"))],
    Discriminator(_by_key("plain", ("rate", "trace", "steps"), "rate")),
]

# --- queue ----------------------------------------------------------------------------------------------------------

PlainQueue = Annotated[
    QueueAmount | Unlimited,
    BeforeValidator(parse_queue_amount),
    WithJsonSchema(
        {
            "type": "string",
            "title": "queue limit",
            "examples": ["100 kB", "250 packets", "60 ms", "1 bdp", "unlimited"],
        }
    ),
]


class _Queue(Table):
    limit: Annotated[
        PlainQueue | None,
        doc(
            'what may wait: bytes, "250 packets", "60 ms" at the pipe\'s rate, "1 bdp", or "unlimited"',
            "one BDP is the smallest queue with which one Reno flow fills the pipe (RFC 6349; Villamizar and Song 1994), "
            "but not below 10 packets, since an initial window arrives as a burst of ten. Without a rate nothing ever waits",
            default='"1 bdp" with a rate',
        ),
    ] = None


class FifoQueue(_Queue):
    """First in, first out; an arrival that finds no place is dropped."""

    discipline: Annotated[Literal["fifo"], doc("tail drop")] = "fifo"


class HeadDropQueue(_Queue):
    """First in, first out; for an arrival that finds no place the oldest are dropped."""

    discipline: Annotated[Literal["head-drop"], doc("drop from the front")]


class _MarkingQueue(_Queue):
    ecn: Annotated[
        bool,
        doc(
            "mark ECN-capable packets instead of dropping them",
            "Linux marks only where asked to (fq_codel apart)",
        ),
    ] = False


class RedQueue(_MarkingQueue):
    """Random early detection (Floyd and Jacobson 1993)."""

    discipline: Annotated[Literal["red"], doc("random early detection")]
    min: Annotated[
        Size | None, doc("average queue below which nothing is dropped", default="a twelfth of the limit")
    ] = None
    max: Annotated[
        Size | None, doc("average queue above which all is dropped", default="a quarter of the limit")
    ] = None
    max_probability: Annotated[Probability | None, doc("drop probability at `max`", default="0.02")] = None
    weight: Annotated[Probability | None, doc("weight of each sample in the average", default="0.002")] = None

    @model_validator(mode="after")
    def _min_below_max(self) -> RedQueue:
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise Wrong('a "min" below "max" would do', key="min")
        return self


class CodelQueue(_MarkingQueue):
    """Controlled delay (RFC 8289)."""

    discipline: Annotated[Literal["codel"], doc("controlled delay")]
    target: Annotated[PositiveSpan | None, doc("acceptable standing delay", default='"5 ms" (RFC 8289)')] = (
        None
    )
    interval: Annotated[
        PositiveSpan | None,
        doc("about the longest RTT of the flows: above 100 ms it wants raising", default='"100 ms"'),
    ] = None


class FqCodelQueue(_MarkingQueue):
    """Flow queueing with CoDel (RFC 8290)."""

    discipline: Annotated[Literal["fq_codel"], doc("flow queueing with controlled delay")]
    target: Annotated[PositiveSpan | None, doc("acceptable standing delay", default='"5 ms"')] = None
    interval: Annotated[
        PositiveSpan | None, doc("about the longest RTT of the flows", default='"100 ms"')
    ] = None
    flows: Annotated[int | None, Field(ge=1, le=65536), doc("number of queues", default="1024")] = None
    quantum: Annotated[
        PositiveSize | None, doc("bytes a queue may send per turn", default="the MTU and 14 bytes")
    ] = None


class PieQueue(_MarkingQueue):
    """Proportional integral controller enhanced (RFC 8033)."""

    discipline: Annotated[Literal["pie"], doc("proportional integral controller")]
    target: Annotated[PositiveSpan | None, doc("delay aimed at", default='"15 ms"')] = None
    update: Annotated[PositiveSpan | None, doc("interval of updates", default='"15 ms"')] = None
    alpha: Annotated[
        float | None, Field(ge=0), doc("weight of the delay's error, per second", default="0.125")
    ] = None
    beta: Annotated[
        float | None, Field(ge=0), doc("weight of the delay's change, per second", default="1.25")
    ] = None
    max_burst: Annotated[Span | None, doc("burst let through untouched", default='"150 ms"')] = None


QueueTable = FifoQueue | HeadDropQueue | RedQueue | CodelQueue | FqCodelQueue | PieQueue
QUEUE_TABLES = (FifoQueue, HeadDropQueue, RedQueue, CodelQueue, FqCodelQueue, PieQueue)
DISCIPLINES = ("fifo", "head-drop", "red", "codel", "fq_codel", "pie")


def _queue_branch(value: object) -> str | None:
    if not isinstance(value, dict):
        return tag("plain")
    discipline = value.get("discipline", "fifo")
    return tag(discipline) if discipline in DISCIPLINES else None


AnyQueue = Annotated[
    Annotated[PlainQueue, Tag(tag("plain"))]
    | Annotated[FifoQueue, Tag(tag("fifo"))]
    | Annotated[HeadDropQueue, Tag(tag("head-drop"))]
    | Annotated[RedQueue, Tag(tag("red"))]
    | Annotated[CodelQueue, Tag(tag("codel"))]
    | Annotated[FqCodelQueue, Tag(tag("fq_codel"))]
    | Annotated[PieQueue, Tag(tag("pie"))],
    Discriminator(_queue_branch, custom_error_type="choice", custom_error_message="discipline"),
]

# --- loss -----------------------------------------------------------------------------------------------------------


class BernoulliLoss(Table):
    """Each packet alone."""

    model: Annotated[Literal["bernoulli"], doc("each packet is lost with the same probability")] = "bernoulli"
    p: Annotated[Probability, doc("probability that a packet is lost")]


class GilbertElliottLoss(Table):
    """Two states, good and bad (Gilbert 1960, Elliott 1963): losses in bursts."""

    model: Annotated[Literal["gilbert-elliott"], doc("losses in bursts")]
    p: Annotated[Probability, doc("probability of going from good to bad, per packet")]
    r: Annotated[
        Probability, doc("probability of going from bad to good, per packet; mean burst 1/r packets")
    ]
    good: Annotated[Probability, doc("loss in the good state", "Gilbert's original")] = 0.0
    bad: Annotated[
        Probability, doc("loss in the bad state", "the usual simplification: in a fade nothing passes")
    ] = 1.0


class TraceLoss(Table):
    """The n-th packet is lost where the file says so."""

    model: Annotated[Literal["trace"], doc("as recorded")]
    file: Annotated[
        str, doc("file of 0 (arrives) and 1 (lost), one per packet, relative to the lab file; it repeats")
    ]


LOSS_MODELS = ("bernoulli", "gilbert-elliott", "trace")


def _loss_branch(value: object) -> str | None:
    if not isinstance(value, dict):
        return tag("plain")
    model = value.get("model", "bernoulli")
    return tag(model) if model in LOSS_MODELS else None


AnyLoss = Annotated[
    Annotated[Probability, Tag(tag("plain"))]
    | Annotated[BernoulliLoss, Tag(tag("bernoulli"))]
    | Annotated[GilbertElliottLoss, Tag(tag("gilbert-elliott"))]
    | Annotated[TraceLoss, Tag(tag("trace"))],
    Discriminator(_loss_branch, custom_error_type="choice", custom_error_message="model"),
]

# --- the rest of a pipe ---------------------------------------------------------------------------------------------


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


class Policer(Table):
    """A token bucket that drops what does not conform (RFC 2697 without colours)."""

    rate: Annotated[Rate, doc("rate at which tokens come")]
    burst: Annotated[PositiveSize, doc("size of the bucket")]


def _short_jitter(value: object) -> object:
    return {"spread": value} if isinstance(value, str) else value


AnyJitter = Annotated[
    Jitter,
    BeforeValidator(_short_jitter),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "title": "time", "examples": ["5 ms"]}, {"$ref": "#/$defs/Jitter"}]}
    ),
]
LineLimit = Annotated[
    tuple[Literal["bytes", "packets"], int] | Unlimited,
    BeforeValidator(parse_line_limit),
    WithJsonSchema({"type": "string", "title": "limit", "examples": ["1000 packets", "2 MB", "unlimited"]}),
]


def _known_preset(name: str) -> str:
    if name not in PRESETS:
        near = nearest(name, PRESETS)
        asked = f'did you mean "{near}"? ' if near else ""
        raise Wrong(f"{asked}Presets: {', '.join(PRESETS)}", found=f"{shown(name)}, which is not known")
    return name


PresetName = Annotated[
    str, AfterValidator(_known_preset), WithJsonSchema({"type": "string", "enum": list(PRESETS)})
]


SHORT_FORMS = {"rate": "rate", "queue": "limit", "loss": "p", "ingress_loss": "p", "jitter": "spread"}
"""Tables of a pipe that may be written short, by the key for which the short form stands."""


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
            "a wire holds whatever was sent into it; netem's 1000 packets are a trap, reproduced only on request",
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
        list[Annotated[tuple[Instant, PositiveSpan], Field(strict=False)]] | None,
        doc('`[["30 s", "2 s"]]`: start and length; nothing passes (handover, rain)', default="none"),
    ] = None

    @model_validator(mode="after")
    def _outages_apart(self) -> PipeKeys:
        outages = self.outages or []
        for (start, length), (following, _) in zip(outages, outages[1:], strict=False):
            if following < start + length:
                raise Wrong(
                    "outages in the order of their starts that do not overlap would do",
                    found=f"one at {units.format_time(following)} while the one from {units.format_time(start)} "
                    f"lasts to {units.format_time(start + length)}",
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
            raise Wrong(
                'one of "rtt" (both pipes together) and "delay" (each pipe) would do',
                found="both",
                key="delay",
            )
        return self
