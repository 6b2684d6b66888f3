"""The axes of a sweep: swept keys, named axes, variants. Values are numbers if all of them are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe.lab.units import RATE_UNITS, SIZE_UNITS, TIME_UNITS, canonical_unit, unit_of
from bentpipe.words.written import written

VARIANT = "variant"


@dataclass(frozen=True)
class SweptAxis:
    key: str
    """A dotted key, a named axis, or `variant`."""
    values: tuple[Any, ...]
    """At least two, as the lab has them; numbers from the least."""
    numbers: tuple[float, ...] | None
    """The same in `unit`; None where one of them is not a number, or has another kind of unit."""
    unit: str


def swept_axes(places: Iterable[Mapping[str, Any]]) -> list[SweptAxis]:
    """Of runs or cells that stand there (`coordinates`); in the lab's order, the variant last."""
    every = list(places)
    keys = dict.fromkeys(key for place in every for key in place if key != VARIANT)
    found = []
    for key in (*keys, VARIANT):
        values = list(dict.fromkeys(place.get(key) for place in every))
        if len(values) > 1:
            found.append(_axis(key, values))
    return found


def coordinates(point: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """Where a run or a cell stands on every axis; a table of several settings by its words."""
    return {key: plain(value) for key, value in point.items()} | {VARIANT: variant}


def plain(value: Any) -> Any:
    """A swept value that may be compared and looked up; a table of settings in words."""
    return value if isinstance(value, str | int | float | bool | None) else written(value)


def of_numbers(axis: SweptAxis) -> SweptAxis | None:
    """The axis with only those values that are numbers: without "adaptive" among redundancies, or "unlimited"
    among rates. None where they have units of several kinds."""
    if axis.numbers is not None:
        return axis
    values = [value for value in axis.values if _is_number(value)]
    found = _axis(axis.key, values)
    return None if found.numbers is None else found


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return bool(unit_of(value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _axis(key: str, values: Sequence[Any]) -> SweptAxis:
    read = _numbers(values)
    if read is None:
        return SweptAxis(key, tuple(values), None, "")
    numbers, unit = read
    order = sorted(range(len(values)), key=lambda at: numbers[at])
    return SweptAxis(key, tuple(values[at] for at in order), tuple(numbers[at] for at in order), unit)


def _numbers(values: Sequence[Any]) -> tuple[list[float], str] | None:
    """All in the unit that most of them have."""
    if not values:
        return None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return [float(value) for value in values], ""
    if not all(isinstance(value, str) for value in values):
        return None
    written = [unit_of(value) for value in values]
    units = [canonical_unit(unit) for unit in written]
    shown = max(dict.fromkeys(units), key=units.count)
    for family in (TIME_UNITS, SIZE_UNITS, RATE_UNITS, {shown: 1}):
        if shown and all(unit in family for unit in units):
            per_shown = [float(family[unit] / family[shown]) for unit in units]
            amounts = [
                float(value.strip()[: -len(unit)]) for value, unit in zip(values, written, strict=True)
            ]
            return [amount * factor for amount, factor in zip(amounts, per_shown, strict=True)], shown
    return None
