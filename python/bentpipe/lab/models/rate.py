"""`rate`: how fast a pipe sends. A plain rate, a token bucket, a recorded trace, or steps over time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

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
    return UNLIMITED if value == "unlimited" else units.parse_rate(value)


def _rate_as_written(rate: int | Unlimited) -> str:
    return rate if isinstance(rate, str) else units.format_rate(rate)


PlainRate = Annotated[
    int | Unlimited,
    BeforeValidator(_rate_or_unlimited),
    PlainSerializer(_rate_as_written, return_type=str),
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
            raise FaultError(
                'expected a "burst" beside it: a peak rate bounds how fast a burst leaves', key="peak"
            )
        if self.peak is not None and self.peak < self.rate:
            raise FaultError(
                f'expected a peak of at least the rate, "{units.format_rate(self.rate)}"', key="peak"
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
        list[Annotated[tuple[Instant, PlainRate], pair("a time and a rate", '["30 s", "8 Mbit/s"]')]],
        Field(min_length=1),
        doc(
            '`[["0 s", "16 Mbit/s"], ["30 s", "8 Mbit/s"]]`: from when, which rate; the first holds '
            "before it too"
        ),
    ]

    @model_validator(mode="after")
    def _in_order(self) -> StepsRate:
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
