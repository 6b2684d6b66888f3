"""How a sweep of several axes is laid out in charts: one axis across or none, one as lines, the others as
small panels; and of an axis with too many values, some."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bentpipe.analysis.swept import VARIANT, SweptAxis
from bentpipe.charts.description import IN_ORDER, Dash, Role, Symbol
from bentpipe.words.wording import point_words, short_names, value

_PANELS = 12
_SOME = 3
_STYLES = tuple(
    zip(
        IN_ORDER,
        (Dash.SOLID, Dash.DASHED, Dash.DASH_DOT, Dash.DOTTED, Dash.SOLID, Dash.DASHED),
        (Symbol.CIRCLE, Symbol.SQUARE, Symbol.TRIANGLE, Symbol.DIAMOND, Symbol.CROSS, Symbol.CIRCLE),
        strict=True,
    )
)


@dataclass(frozen=True)
class Line:
    at: Mapping[str, Any]
    """Its value on the axis of lines; empty where there is no such axis."""
    label: str
    role: Role
    dash: Dash
    symbol: Symbol


@dataclass(frozen=True)
class Layout:
    lines: tuple[Line, ...]
    panels: tuple[Mapping[str, Any], ...]
    """Of each, its values on the axes that are not drawn otherwise; one without any where there are none."""
    left_out: str
    """A sentence where only some values of an axis are drawn."""


def laid_out(x: SweptAxis | None, axes: Sequence[SweptAxis], alone: str) -> Layout:
    """Lines are the variants, so that they lie over each other, or else the axis with the most values that
    still can be told apart; what is left has panels.

    `alone` is the one line's label where nothing else varies.
    """
    others = [axis for axis in axes if x is None or axis.key != x.key]
    few = [axis for axis in others if len(axis.values) <= len(IN_ORDER)]
    variants = [axis for axis in few if axis.key == VARIANT]
    along = max(variants or few or others, key=lambda axis: len(axis.values), default=None)
    across = [axis for axis in others if axis is not along]
    whole = {axis.key: len(axis.values) for axis in others}
    if along and len(along.values) > len(IN_ORDER):
        along = _some(along, len(IN_ORDER))
    while math.prod(len(axis.values) for axis in across) > _PANELS:
        widest = max(range(len(across)), key=lambda at: len(across[at].values))
        count = len(across[widest].values)
        across[widest] = _some(across[widest], min(_SOME, count - 1))
    panels: list[Mapping[str, Any]] = [{}]
    for axis in across:
        panels = [{**panel, axis.key: of} for panel in panels for of in axis.values]
    names = short_names([axis.key for axis in axes])
    drawn = [axis for axis in (along, *across) if axis and len(axis.values) < whole[axis.key]]
    left_out = [f"Of {names[a.key]}, {len(a.values)} of {whole[a.key]} values are drawn." for a in drawn]
    return Layout(_lines(along, names, alone), tuple(panels), " ".join(left_out))


def panel_words(panel: Mapping[str, Any]) -> str:
    """A panel's title."""
    point = {key: of for key, of in panel.items() if key != VARIANT}
    return ", ".join([*point_words(point), *([panel[VARIANT]] if VARIANT in panel else [])])


def _lines(axis: SweptAxis | None, names: Mapping[str, str], alone: str) -> tuple[Line, ...]:
    if axis is None:
        return (Line({}, alone, *_STYLES[0]),)
    return tuple(
        Line({axis.key: of}, value(of) if "." not in axis.key else f"{names[axis.key]} {value(of)}", *style)
        for of, style in zip(axis.values, _STYLES, strict=False)
    )


def _some(axis: SweptAxis, count: int) -> SweptAxis:
    """With so many of its values, evenly from the first to the last."""
    last = len(axis.values) - 1
    at = [round(number * last / max(count - 1, 1)) for number in range(count)]
    numbers = tuple(axis.numbers[i] for i in at) if axis.numbers else None
    return replace(axis, values=tuple(axis.values[i] for i in at), numbers=numbers)
