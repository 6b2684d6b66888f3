"""The axes of `[sweep]`: a list of values of one key, or a table that names sets of changes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from bentpipe.lab.grid.changes import (
    Change,
    Origin,
    fault,
    known,
    overlap,
    set_of_changes,
)
from bentpipe.lab.grid.meaning import meaning
from bentpipe.lab.keys import Document
from bentpipe.lab.models.lab import LabFile
from bentpipe.words.faults import did_you_mean, shown

_EXAMPLE = '"path.rtt" = ["11 ms", "30 ms"]'
_NAMED_EXAMPLE = 'GEO = { "path.rtt" = "550 ms", "path.rate" = "16 Mbit/s" }'
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LONGEST_VALUE_NAME = 80


@dataclass(frozen=True)
class AxisValue:
    """One value of an axis: what points call it, and what it changes."""

    shown: Any
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Axis:
    """An axis of the grid. `name` is the swept key, or with `named` a name of the lab's own."""

    name: str
    named: bool
    values: tuple[AxisValue, ...]

    @property
    def keys(self) -> set[str]:
        """Every key that any of its values changes."""
        return {change.key for value in self.values for change in value.changes}

    def pinned(self, value: Any, origin: Origin) -> Axis:
        """The axis with one value: any for a swept key, one of its own for a named axis."""
        if not self.named:
            return Axis(self.name, False, (AxisValue(value, (Change(self.name, value, origin),)),))
        return Axis(self.name, True, (self.value_named(value, self.name, origin),))

    def value_named(self, name: Any, key: str, origin: Origin) -> AxisValue:
        """The value that points call so. Raises `ChangeError`, with the nearest that there is."""
        for value in self.values:
            if meaning(self.name, value.shown) == meaning(self.name, name):
                return value
        there = [value.shown if isinstance(value.shown, str) else shown(value.shown) for value in self.values]
        asked = did_you_mean(name, there) if isinstance(name, str) else ""
        raise fault(
            origin,
            key,
            f"{shown(name)}, which is not a value of {self.name}",
            f"{asked}Values: {', '.join(there)}",
        )


def axes_of(document: Document, base: Document) -> dict[str, Axis]:
    """The axes in the lab's order. Raises `ChangeError`."""
    if "sweep" not in document:
        return {}
    sweep = document["sweep"]
    here = Origin(("sweep",))
    if not isinstance(sweep, dict):
        raise fault(here, "sweep", shown(sweep), f"expected a table, with {_EXAMPLE}")
    if not sweep:
        raise fault(
            here, "sweep", "nothing in it", f"expected a key in it, such as {_EXAMPLE}, or no [sweep]"
        )
    axes: dict[str, Axis] = {}
    for name, written in sweep.items():
        if isinstance(written, dict) and not _is_dotted(name):
            axis = _named_axis(name, written, base)
        else:
            axis = Axis(name, False, tuple(_listed(name, written, base)))
        _apart(axis, axes)
        axes[name] = axis
    return axes


def _is_dotted(name: str) -> bool:
    """Whether the name is a key of the lab with its dots."""
    return "." in name


def _listed(key: str, values: Any, base: Document) -> Iterator[AxisValue]:
    origin = Origin(("sweep", key))
    known(key, base, origin)
    if key == "repeat":
        raise fault(origin, key, "repeat in a sweep", "expected any other key: repeats are not points")
    if not isinstance(values, list):
        raise fault(origin, key, shown(values), f"expected a list of values, such as {_EXAMPLE}")
    if not values:
        raise fault(origin, key, "an empty list", "expected at least one value")
    seen: dict[Hashable, Any] = {}
    for index, value in enumerate(values):
        here = Origin(("sweep", key, index))
        means = meaning(key, value)
        if means in seen:
            twin = seen[means]
            found = f"{shown(value)} twice" if twin == value else f"{shown(twin)} and {shown(value)}"
            raise fault(here, key, found, "expected each value once")
        seen[means] = value
        yield AxisValue(value, (Change(key, value, here),))


def _named_axis(name: str, written: dict[str, Any], base: Document) -> Axis:
    """A table below `[sweep]`: an axis of that name, each of its values a set of changes."""
    origin = Origin(("sweep", name))
    place = f"sweep.{name}"
    if name in LabFile.model_fields:
        # `path.rtt` without quotes makes TOML see a table `path`.
        below = next(iter(written), "...")
        raise fault(
            origin,
            place,
            f"a table {name}",
            f'expected the key in quotes: "{name}.{below}" = [..] (without quotes TOML makes it a table)',
        )
    if not _NAME.fullmatch(name):
        raise fault(
            origin, place, f"an axis called {shown(name)}", "expected up to 64 letters, digits, - and _"
        )
    if not written:
        raise fault(origin, place, "nothing in it", f"expected a value, such as {_NAMED_EXAMPLE}")
    values = []
    for value, changes in written.items():
        key = f"{place}.{value}"
        here = Origin((*origin.location, value))
        if not value.strip() or not value.isprintable() or len(value) > _LONGEST_VALUE_NAME:
            raise fault(here, place, f"a value called {shown(value)}", "expected a name of 1 to 80 letters")
        if not isinstance(changes, dict):
            raise fault(
                here,
                key,
                shown(changes),
                f"expected a set of changes, such as {_NAMED_EXAMPLE}; "
                f"to sweep a key of the lab, write it in quotes, {_EXAMPLE}",
            )
        values.append(AxisValue(value, set_of_changes(changes, base, here.location)))
    return Axis(name, True, tuple(values))


def _apart(axis: Axis, others: dict[str, Axis]) -> None:
    """Raises `ChangeError` where two axes would change the same."""
    for other in others.values():
        for value in axis.values:
            for change in value.changes:
                clash = next((key for key in sorted(other.keys) if overlap(key, change.key)), None)
                if clash is None:
                    continue
                of = f" of the axis {other.name}" if other.named else ""
                origin = change.origin if axis.named else Origin(("sweep", axis.name))
                found = f'"{change.key}" beside "{clash}"{of}, which overlap'
                raise fault(origin, change.key, found, "expected one of them")
