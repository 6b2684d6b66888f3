"""`queue`: what may wait before the shaper, and the discipline that decides who is dropped.

Defaults of a discipline's parameters are those of crates/path/src/queue, which name their sources.
"""

from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainSerializer,
    Tag,
    WithJsonSchema,
    model_validator,
)

from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import PositiveSize, PositiveSpan, Probability, Span, Table, doc, tag
from bentpipe.lab.quantities import QueueAmount, Unlimited, format_amount, parse_queue_amount

PlainQueue = Annotated[
    QueueAmount | Unlimited,
    BeforeValidator(parse_queue_amount),
    PlainSerializer(format_amount, return_type=str),
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
            'how much may wait: "100 kB", "250 packets", "60 ms" at the pipe\'s rate, "1 bdp", "unlimited"',
            "one BDP is the smallest queue with which one Reno flow fills the pipe (RFC 6349; Villamizar and "
            "Song 1994). It holds at least 10 packets, because an initial window arrives as a burst of ten. "
            "A pipe without a rate has no queue",
            default='"1 bdp" with a rate',
        ),
    ] = None


class FifoQueue(_Queue):
    """First in, first out. A packet that arrives at a full queue is dropped."""

    discipline: Annotated[Literal["fifo"], doc("tail drop")] = "fifo"


class HeadDropQueue(_Queue):
    """First in, first out. If the queue is full, the oldest packets are dropped to make room."""

    discipline: Annotated[Literal["head-drop"], doc("drop from the front")]


class _MarkingQueue(_Queue):
    ecn: Annotated[
        bool,
        doc(
            "mark ECN-capable packets instead of dropping them",
            "as in Linux, except for its fq_codel",
        ),
    ] = False


class RedQueue(_MarkingQueue):
    """Random early detection (Floyd and Jacobson 1993)."""

    discipline: Annotated[Literal["red"], doc("random early detection")]
    min: Annotated[
        PositiveSize | None,
        doc("average queue length below which nothing is dropped", default="a third of `max`, or 5 packets"),
    ] = None
    max: Annotated[
        PositiveSize | None,
        doc(
            "average queue length at which the drop probability is `max_probability`; at twice this length "
            "all packets are dropped",
            default="3 `min`",
        ),
    ] = None
    max_probability: Annotated[Probability | None, doc("drop probability at `max`", default="0.02")] = None
    weight: Annotated[
        Annotated[Probability, Field(gt=0)] | None,
        doc("weight of each new sample in the average queue length", default="0.002"),
    ] = None

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise FaultError('expected a "min" below "max"', key="min")
        return self


class CodelQueue(_MarkingQueue):
    """Controlled delay (RFC 8289)."""

    discipline: Annotated[Literal["codel"], doc("controlled delay")]
    target: Annotated[PositiveSpan | None, doc("acceptable standing delay", default='"5 ms"')] = None
    interval: Annotated[
        PositiveSpan | None,
        doc("about the longest RTT of the flows; raise it for paths above 100 ms", default='"100 ms"'),
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
        Annotated[PositiveSize, Field(le=2**20)] | None,
        doc("how much a queue may send per turn", default="the MTU"),
    ] = None


class PieQueue(_MarkingQueue):
    """Proportional integral controller enhanced (RFC 8033)."""

    discipline: Annotated[Literal["pie"], doc("proportional integral controller")]
    target: Annotated[PositiveSpan | None, doc("queueing delay to aim at", default='"15 ms"')] = None
    update: Annotated[
        PositiveSpan | None, doc("time between two updates of the drop probability", default='"15 ms"')
    ] = None
    alpha: Annotated[
        float | None, Field(ge=0), doc("weight of delay minus target, per second", default="0.125")
    ] = None
    beta: Annotated[
        float | None, Field(ge=0), doc("weight of the delay's change, per second", default="1.25")
    ] = None
    max_burst: Annotated[
        Span | None, doc("a burst of up to this length passes without drops", default='"150 ms"')
    ] = None


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
