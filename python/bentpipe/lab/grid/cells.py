"""The grid: every combination of the swept values, crossed with the variants, under what `--set` asks for.

A sweep, a variant and a `--set` are the same thing: values put over dotted keys of the lab. They are put in
that order, so a `--set` holds everywhere; set on an axis it pins that axis to the one value.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bentpipe.lab.errors import FaultError
from bentpipe.lab.grid.axes import Axis, AxisValue, axes_of
from bentpipe.lab.grid.changes import Change, ChangeError, Origin, Setting, fault, known
from bentpipe.lab.grid.variants import Variant, chosen, variants_of
from bentpipe.lab.keys import Document, Location, put

MOST_CELLS = 100_000


@dataclass(frozen=True)
class Cell:
    """One cell of the grid: which values, and the lab's document with them in place.

    `placed` says where each changed value stands in the document and where it came from.
    """

    variant: str
    point: dict[str, Any]
    document: Document
    placed: dict[Location, Origin]


@dataclass(frozen=True)
class Grid:
    """The axes and the variants of a lab, checked. `base` is the document without them."""

    base: Document
    axes: Mapping[str, Axis]
    variants: Mapping[str, Variant]
    sets: Sequence[Change]

    def __len__(self) -> int:
        return sum(math.prod(map(len, self._values(variant))) for variant in self.variants.values())

    def cells(self) -> Iterator[Cell]:
        """Every cell, the plain lab first. Raises `ChangeError` for a key that lies in no table."""
        for variant in self.variants.values():
            for combination in itertools.product(*self._values(variant)):
                yield self._cell(variant, dict(zip(self.axes, combination, strict=True)))

    def _values(self, variant: Variant) -> list[list[AxisValue]]:
        """Per axis, the values that a variant is crossed with."""
        return [
            [value for value in axis.values if variant.meets(name, value)] for name, axis in self.axes.items()
        ]

    def _cell(self, variant: Variant, swept: Mapping[str, AxisValue]) -> Cell:
        document = copy.deepcopy(self.base)
        placed: dict[Location, Origin] = {}
        points = [change for value in swept.values() for change in value.changes]
        for change in (*points, *variant.changes, *self.sets):
            try:
                placed[put(document, change.key, copy.deepcopy(change.value))] = change.origin
            except FaultError as wrong:
                raise ChangeError(wrong, change.origin) from None
        point = {name: value.shown for name, value in swept.items()}
        return Cell(variant.name, point, document, placed)


def grid_of(document: Document, settings: Sequence[Setting], variants: Sequence[str] | None) -> Grid:
    """The grid of a lab's document, with `settings` over it. Raises `ChangeError` or `LabError`."""
    base = {key: value for key, value in document.items() if key not in ("sweep", "variant")}
    axes = axes_of(document, base)
    named = chosen(variants_of(document, base, axes), variants)
    plain: list[Change] = []
    for setting in settings:
        key, value = setting.key, setting.value
        origin = Origin(where=setting.where)
        if key in axes:
            if axes[key].named and not isinstance(value, str):
                value = setting.text  # a name may look like a number
            axes[key] = axes[key].pinned(value, origin)
            continue
        known(key, base, origin)
        swept = (each for axis in axes.values() for each in sorted(axis.keys))
        below = next((each for each in swept if each.startswith(f"{key}.")), None)
        if below is not None:
            remedy = f'expected the swept key itself, "{below}"'
            raise fault(origin, key, "a key above a swept one", remedy)
        plain.append(Change(key, value, origin))
    grid = Grid(base, axes, named, plain)
    _some_but_not_too_many(grid, settings)
    return grid


def _some_but_not_too_many(grid: Grid, settings: Sequence[Setting]) -> None:
    if len(grid) > MOST_CELLS:
        remedy = f"expected at most {MOST_CELLS}; --set pins a swept key"
        raise fault(Origin(("sweep",)), "sweep", f"{len(grid)} points", remedy)
    if not len(grid):
        where = settings[-1].where if settings else f"--variant {next(iter(grid.variants))}"
        only = "; ".join(
            f"{variant.name} is crossed with {axis} = {' or '.join(sorted(values))} only"
            for variant in grid.variants.values()
            for axis, values in variant.only.items()
        )
        raise fault(Origin(where=where), "", "no point that is left", f"expected another value: {only}")
