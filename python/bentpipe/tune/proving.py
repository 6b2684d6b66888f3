"""Measures whether a change is better: pairs with and without it, until the interval decides.

Each pair measures both, one after the other; the order alternates from pair to pair, so that a drift of the
path cancels. The figure is the mean logarithm of with / without, and its interval that of `compare`
(analysis/intervals.py). The interval is looked at after 3, 4, 6, 9, ... pairs. All looks together have a
confidence of 95 % (Bonferroni), so several looks do not raise the chance of a false find.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bentpipe.analysis.intervals import LEVEL, interval, ratio_of, repeats_to_see, spread, together_at
from bentpipe.errors import TuneError
from bentpipe.tune.measuring import Figure, Measurement

Which = Literal["before", "after"]
LOOKS = (3, 4, 6, 9, 12, 16, 20, 30)
"""Numbers of pairs at which the interval is looked at."""


@dataclass(frozen=True)
class Proof:
    measure: str
    unit: str
    pairs: Sequence[tuple[float, float]]
    """(before, after)."""
    less_is_better: bool
    times: float
    """How many times better after is, as a geometric mean."""
    low: float
    high: float
    would_take: int | None
    """Pairs that would show a difference of this size; None where that is above 10,000."""

    @property
    def verdict(self) -> Literal["better", "worse", "not shown"]:
        if self.low > 1:
            return "better"
        return "worse" if self.high < 1 else "not shown"

    def as_json(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "unit": self.unit,
            "less_is_better": self.less_is_better,
            "pairs": [list(each) for each in self.pairs],
            "times": self.times,
            "interval": [self.low, self.high],
            "verdict": self.verdict,
        }


def prove(
    measure: Measurement,
    switch: Callable[[Which], None],
    most_pairs: int,
    on_pair: Callable[[int, Figure, Figure], None],
) -> Proof:
    """Measure in pairs until the interval of their ratio leaves 1 out, or there are `most_pairs`.

    `switch` sets the old or the new values. Raises TuneError where a measurement fails.
    """
    looks = [look for look in LOOKS if look < most_pairs] + [most_pairs]
    level = together_at(LEVEL, len(looks))
    pairs: list[tuple[float, float]] = []
    first: Figure | None = None
    while True:
        order: tuple[Which, Which] = ("after", "before") if len(pairs) % 2 else ("before", "after")
        found: dict[Which, Figure] = {}
        for which in order:
            switch(which)
            found[which] = measure()
            first = first or found[which]
            if (found[which].unit, found[which].less_is_better) != (first.unit, first.less_is_better):
                raise TuneError(f"{measure.words}: it printed a number one time and none another time")
        pairs.append((found["before"].value, found["after"].value))
        on_pair(len(pairs), found["before"], found["after"])
        if len(pairs) in looks:
            proof = judged(measure.words, first, pairs, level)
            if proof.verdict != "not shown" or len(pairs) >= most_pairs:
                return proof


def judged(words: str, like: Figure | None, pairs: Sequence[tuple[float, float]], level: float) -> Proof:
    less = like is not None and like.less_is_better
    sign = -1 if less else 1
    logs = [sign * math.log(after / before) for before, after in pairs]
    found = interval(logs, level)
    if found is None:
        raise TuneError("a proof takes two pairs or more")
    mean, low, high = map(ratio_of, (found.mean, found.low, found.high))
    deviation = spread(logs)
    would_take = repeats_to_see(found.mean, deviation) if deviation else len(pairs)
    unit = like.unit if like else ""
    return Proof(words, unit, tuple(pairs), less, mean, low, high, would_take)
