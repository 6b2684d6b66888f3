"""One published figure, and the runs that it may be compared with."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bentpipe.words.direction import Direction


@dataclass(frozen=True)
class Figure:
    label: str
    """What was measured, in the words of the publication."""
    kind: str
    """Of work, or `pipe`: a key of `results.kinds`."""
    measure: str
    """Which measure of that kind."""
    unit: str
    """In which it was published, and in which it is shown."""
    values: tuple[float, ...]
    """Every one that was published: repeats, intervals, or the two ends of a range."""
    fits: Callable[[Mapping[str, Any], str], bool]
    """Whether a run's workload (or pipe) of that name is what was measured."""
    rtt_s: float | None = None
    """Where a series of round trips was measured."""
    direction: Direction = Direction.DOWN

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)
