"""When two values of a swept key, and two points, are the same: "550 ms" is "0.55 s"."""

import json
import math
from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any

from bentpipe.lab.units import quantity

NAMES = frozenset({"file", "name", "title", "trace"})
"""Last parts of the keys that may hold any text. "1.s" may be a file, and not a time."""
PointMeaning = tuple[tuple[str, Hashable], ...]
"""Of every key what its value means, sorted by the keys."""


def meaning(key: str, value: Any) -> Hashable:
    """Equal for two values of a key that mean the same.

    Texts with units are compared as quantities and numbers as numbers. Names are the same only where they are
    written the same: the values of a named axis, whose own name has no dot, and those of the keys in `NAMES`.
    """
    if "." not in key or key.rpartition(".")[2] in NAMES:
        return value if isinstance(value, str) else canonical(value)
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return _of_text(value if isinstance(value, str) else repr(value))
    return canonical(value)


def point_meaning(point: Mapping[str, Any]) -> PointMeaning:
    """Equal for two points that are the same, however and in whatever order they are written."""
    return tuple(sorted(((key, meaning(key, value)) for key, value in point.items()), key=lambda of: of[0]))


@lru_cache(maxsize=4096)
def _of_text(text: str) -> Hashable:
    return quantity(text) or text


def canonical(value: object) -> str:
    """A TOML value as text, the same for the same value."""
    return json.dumps(value, sort_keys=True, default=str, separators=(",", ":"), ensure_ascii=False)
