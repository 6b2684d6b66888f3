"""The input of one run: a point of the grid with one seed; and all runs of one cell of the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, overload

from bentpipe.lab.spec import RunSpec


@dataclass(frozen=True)
class Point:
    """One run to do.

    Attributes:
        lab: short name of the lab (the file's name without its suffix).
        title: the lab's line for people.
        published: key of the published figures, or None.
        variant: name of the variant, "as is" for the plain lab.
        point: the swept keys with their values as written in the lab.
        seed: seed of all that is random in this run.
        repeat_index: 0 for the first run of this cell.
        spec: the run in plain numbers.
    """

    lab: str
    title: str
    published: str | None
    variant: str
    point: dict[str, Any]
    seed: int
    repeat_index: int
    spec: RunSpec

    def with_seed(self, seed: int) -> Self:
        return replace(self, seed=seed)


@dataclass(frozen=True)
class CellRuns(Sequence[Point]):
    """The runs of one cell of the grid, made when they are asked for: a sweep may have a million."""

    first: Point
    seeds: Sequence[int]

    def __len__(self) -> int:
        return len(self.seeds)

    @overload
    def __getitem__(self, index: int) -> Point: ...

    @overload
    def __getitem__(self, index: slice) -> list[Point]: ...

    def __getitem__(self, index: int | slice) -> Point | list[Point]:
        if isinstance(index, slice):
            return [self[each] for each in range(len(self))[index]]
        at = range(len(self))[index]
        return replace(self.first, seed=self.seeds[at], repeat_index=at) if at else self.first
