"""Gradient-boosted decision trees that are already fitted: the chance of each cause, by signs.

A tree asks at each node whether one sign is at most a threshold; an unknown sign goes to a side of its own.
Each cause has as many trees as the others, unless no lab of the training had it: then its chance is next to
nothing. The score of a cause is one figure of its own and the sum of the leaves that the signs lead to. Its
chance is proportional to exp(score) (Friedman, "Greedy Function Approximation: A Gradient Boosting Machine",
2001, section 4.6). The trees are fitted by benches/doctor/train.py and kept in a file of arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, Places


@dataclass(frozen=True)
class Trees:
    """Those of one end, one after another. Of a leaf, both sides are the leaf itself."""

    names: Sequence[str]
    """Of the signs."""
    causes: Sequence[str]
    score: Floats
    """Of each cause, before any tree."""
    root: Places
    """The first node of each tree."""
    cause: Places
    """Of each tree."""
    depth: int
    sign: Places
    """Of each node, and so below."""
    most: Floats
    """The threshold: of a sign that is larger, the right side holds."""
    left_unknown: Flags
    left: Places
    right: Places
    value: Floats
    """Of leaves."""

    def of(self, found: Mapping[str, float]) -> dict[str, float]:
        """The chance of each cause. A sign that is missing or not finite is unknown."""
        signs = np.array([found.get(name, np.nan) for name in self.names])
        unknown = ~np.isfinite(signs)
        node = self.root
        for _ in range(self.depth):
            sign = self.sign[node]
            goes_left = np.where(unknown[sign], self.left_unknown[node], signs[sign] <= self.most[node])
            node = np.where(goes_left, self.left[node], self.right[node])
        scores = self.score + np.bincount(self.cause, self.value[node], minlength=len(self.causes))
        return dict(zip(self.causes, map(float, chances(scores)), strict=True))

    def as_arrays(self, end: str) -> dict[str, Any]:
        return {f"{end}/{each.name}": np.asarray(getattr(self, each.name)) for each in fields(self)}


def chances(scores: Floats) -> Floats:
    """exp(score) over their sum."""
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())


def from_arrays(arrays: Mapping[str, Any], end: str) -> Trees:
    """Those of an end that `as_arrays` gave."""
    of = {each.name: arrays[f"{end}/{each.name}"] for each in fields(Trees)}
    told = {name: [str(each) for each in of[name]] for name in ("names", "causes")}
    places = {name: of[name].astype(np.int64) for name in ("root", "cause", "sign", "left", "right")}
    figures = {name: of[name].astype(float) for name in ("score", "most", "value")}
    return Trees(**{**of, **told, **places, **figures, "depth": int(of["depth"])})
