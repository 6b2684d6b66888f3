"""Limits that may be written in more than one kind of unit: a queue's, and a delay line's."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, NamedTuple

from bentpipe.lab import units
from bentpipe.lab.errors import FaultError
from bentpipe.words.faults import shown

Unlimited = Literal["unlimited"]
UNLIMITED: Unlimited = "unlimited"

LineAmount = tuple[Literal["bytes", "packets"], int]


class QueueAmount(NamedTuple):
    """How much may wait. `amount` is bytes, packets, nanoseconds, or a multiple of the BDP."""

    unit: Literal["bytes", "packets", "delay", "bdp"]
    amount: int | float


def parse_queue_amount(value: object) -> QueueAmount | Unlimited:
    """Reads "100 kB", "250 packets", "60 ms", "1 bdp" or "unlimited". Raises `FaultError`."""
    would_do = (
        'expected a size, packets, a time or a multiple of the BDP: "100 kB", "250 packets", "60 ms", "1 bdp"'
    )
    if not isinstance(value, str):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        raise FaultError(would_do, found=f"{shown(value)}, a number without a unit" if number else None)
    if value == "unlimited":
        return UNLIMITED
    unit = units.unit_of(value)
    if unit in ("packets", "packet"):
        return QueueAmount("packets", units.parse_packets(value))
    if unit.lower() == "bdp":
        return QueueAmount("bdp", float(units.parse_multiple(value)))
    if unit in units.TIME_UNITS:
        delay_ns = units.parse_time(value)
        if delay_ns <= 0:
            raise FaultError("expected a time above zero", found=f"{shown(value)}, which is not above zero")
        return QueueAmount("delay", delay_ns)
    if unit in units.SIZE_UNITS:
        return QueueAmount("bytes", units.parse_size(value))
    if unit:
        raise FaultError(would_do, found=f'{shown(value)}, whose unit "{unit[:40]}" is not known')
    raise FaultError(would_do)


def parse_line_limit(value: object) -> LineAmount | Unlimited:
    """Reads "1000 packets", "2 MB" or "unlimited". Raises `FaultError`."""
    would_do = 'expected packets, a size or "unlimited": "1000 packets", "2 MB"'
    if not isinstance(value, str):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        raise FaultError(would_do, found=f"{shown(value)}, a number without a unit" if number else None)
    if value == "unlimited":
        return UNLIMITED
    unit = units.unit_of(value)
    if unit in ("packets", "packet"):
        amount: LineAmount = ("packets", units.parse_packets(value))
    elif unit in units.SIZE_UNITS:
        amount = ("bytes", units.parse_size(value))
    elif unit:
        raise FaultError(would_do, found=f'{shown(value)}, whose unit "{unit[:40]}" is not known')
    else:
        raise FaultError(would_do)
    if amount[1] == 0:
        raise FaultError(
            "expected a limit above zero: a line that holds nothing passes nothing", found=f"{shown(value)}"
        )
    return amount


def format_amount(amount: QueueAmount | LineAmount | Unlimited) -> str:
    """The limit as one would write it: "250 packets", "60 ms", "1 bdp"."""
    if isinstance(amount, str):
        return amount
    unit, number = amount
    match unit:
        case "bytes":
            return units.format_size(int(number))
        case "delay":
            return units.format_time(int(number))
        case _:
            return f"{Decimal(str(number)):f} {unit}"
