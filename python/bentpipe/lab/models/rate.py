"""`rate`: how fast a pipe sends. A plain rate, a token bucket, a recorded trace, or steps over time."""

import itertools
from collections.abc import Callable, Iterable
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

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.lab.models.base import Instant, PositiveSize, Rate, Table, doc, pair, tag
from bentpipe.lab.quantities import UNLIMITED, Unlimited


def _rate_or_unlimited(value: object) -> int | Unlimited:
    try:
        return UNLIMITED if value == "unlimited" else units.parse_rate(value)
    except FaultError as fault:
        if fault.remedy != units.ABOVE_ZERO:
            raise
        raise FaultError(
            f'{units.ABOVE_ZERO} (an outage is written under "outages")', found=fault.found
        ) from None


def _rate_as_written(rate: int | Unlimited) -> str:
    return rate if isinstance(rate, str) else units.format_rate(rate)


PlainRate = Annotated[
    int | Unlimited,
    BeforeValidator(_rate_or_unlimited),
    PlainSerializer(_rate_as_written, return_type=str),
    WithJsonSchema({"type": "string", "title": "rate", "examples": ["16 Mbit/s", "2 MB/s", "unlimited"]}),
]


_STEPS = 'steps = [["0 s", "16 Mbit/s"], ["30 s", "8 Mbit/s"]]'


class BucketRate(Table):
    """A fixed rate. With `burst` it is a token bucket."""

    rate: Annotated[Rate, doc("rate at which the pipe sends; with `burst`, at which the bucket is filled")]
    burst: Annotated[
        PositiveSize | None,
        doc("size of the token bucket: how much may leave at once after a pause", default="no token bucket"),
    ] = None
    peak: Annotated[
        Rate | None,
        doc("highest rate while the bucket has tokens; needs `burst`", default="a burst leaves at once"),
    ] = None

    @model_validator(mode="after")
    def _peak_above_rate(self) -> Self:
        if self.peak is not None and self.burst is None:
            raise FaultError(
                'expected a "burst" beside it: a peak rate bounds how fast a burst leaves', key="peak"
            )
        if self.peak is not None and self.peak < self.rate:
            raise FaultError(
                f'expected a peak of at least the rate, "{units.format_rate(self.rate)}"', key="peak"
            )
        return self


class TraceRate(Table):
    """Delivery opportunities of a recorded link."""

    trace: Annotated[
        str, doc("file of delivery opportunities, relative to the lab file ([trace files](#trace-files))")
    ]
    format: Annotated[
        Literal["mahimahi"],
        doc("format of the file", "the only format"),
    ] = "mahimahi"


class StepsRate(Table):
    """A rate that changes at given times."""

    steps: Annotated[
        list[Annotated[tuple[Instant, PlainRate], pair("a time and a rate", _STEPS)]],
        Field(min_length=1),
        doc(
            '`[["0 s", "16 Mbit/s"], ["30 s", "8 Mbit/s"]]`: a time, and the rate from then on; before the '
            "first time its rate holds too"
        ),
    ]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for (earlier, _), (later, _) in itertools.pairwise(self.steps):
            if later <= earlier:
                raise FaultError(
                    "expected steps in the order of their times",
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
