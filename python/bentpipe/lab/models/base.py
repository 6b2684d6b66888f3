"""What the tables of a lab file are made of: strict models, values with units, and the doc of a field."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, WithJsonSchema

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.words.faults import shown


class Table(BaseModel):
    """A table of the lab file. Unknown keys and values of another type are errors; nothing is converted
    silently.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)


def doc(meaning: str, reason: str = "", *, default: str = "") -> Any:
    """What a field means, why its default is what it is, and how to write a default that is not a plain
    value.
    """
    extra: dict[str, Any] = {}
    if reason:
        extra["x-default-reason"] = reason
    if default:
        extra["x-default"] = default
    return Field(description=meaning, json_schema_extra=extra or None)


def _not_negative_time(value: object) -> int:
    time_ns = units.parse_time(value)
    if time_ns < 0:
        raise FaultError("expected a time of 0 s or more", found=f"{shown(value)}, which is negative")
    return time_ns


def _positive_time(value: object) -> int:
    time_ns = units.parse_time(value)
    if time_ns <= 0:
        raise FaultError("expected a time above zero", found=f"{shown(value)}, which is not above zero")
    return time_ns


def _positive_size(value: object) -> int:
    size_bytes = units.parse_size(value)
    if size_bytes == 0:
        raise FaultError("expected a size above zero", found=f"{shown(value)}, which is not above zero")
    return size_bytes


def pair(meaning: str, example: str) -> BeforeValidator:
    """Checks that a value is a list of two, and says so in the field's own words."""

    def two(value: object) -> object:
        if not isinstance(value, list) or len(value) != 2:
            raise FaultError(f"expected {meaning}, such as {example}")
        return tuple(value)

    return BeforeValidator(two)


_TIME = WithJsonSchema({"type": "string", "title": "time", "examples": ["550 ms"]})
_SIZE = WithJsonSchema({"type": "string", "title": "size", "examples": ["100 kB"]})
_as_time = PlainSerializer(units.format_time, return_type=str)
_as_size = PlainSerializer(units.format_size, return_type=str)

Instant = Annotated[int, BeforeValidator(units.parse_time), _as_time, _TIME]
"""Nanoseconds from the run's time zero, negative before it."""
Span = Annotated[int, BeforeValidator(_not_negative_time), _as_time, _TIME]
"""Nanoseconds, 0 or more."""
PositiveSpan = Annotated[int, BeforeValidator(_positive_time), _as_time, _TIME]
"""Nanoseconds, above 0."""
Size = Annotated[int, BeforeValidator(units.parse_size), _as_size, _SIZE]
"""Bytes, 0 or more."""
PositiveSize = Annotated[int, BeforeValidator(_positive_size), _as_size, _SIZE]
"""Bytes, above 0."""
Rate = Annotated[
    int,
    BeforeValidator(units.parse_rate),
    PlainSerializer(units.format_rate, return_type=str),
    WithJsonSchema({"type": "string", "title": "rate", "examples": ["16 Mbit/s", "2 MB/s"]}),
]
"""Bits per second, above 0."""
Probability = Annotated[
    float,
    BeforeValidator(units.parse_probability),
    WithJsonSchema({"type": "number", "title": "probability", "minimum": 0, "maximum": 1}),
]

# A tag of a union stands in pydantic's error locations; this mark tells it from a key of the file.
TAG = "\0"


def tag(name: str) -> str:
    """The name of a union's branch, marked so that it is never taken for a key of the lab file."""
    return f"{TAG}{name}"
