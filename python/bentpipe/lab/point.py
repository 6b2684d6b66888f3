"""A point of the grid with one seed: what one run is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

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
