"""A chart as a value: its data, its unit, and the sentence that says what it shows.

Renderers know nothing of results, and builders nothing of renderers. A role names what a thing is, and each
renderer gives one colour to each role, so that a colour means the same in every chart.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from bentpipe.words.printable import printable


class Role(StrEnum):
    DOWN = "down"
    """What goes from the server to the client."""
    UP = "up"
    PUBLISHED = "published"
    CAPACITY = "capacity"
    """What the path was set to."""
    CEILING = "ceiling"
    """What a formula allows."""
    DROPS = "drops"
    """What got lost: dropped by the path, sent again by TCP."""
    CWND = "cwnd"
    RECEIVE_WINDOW = "receive window"
    SEND_BUFFER = "send buffer"
    RIVAL = "rival"
    """What is left to somebody else's flow."""
    SUMMARY = "summary"
    """What many points come to."""
    PING = "ping"
    KEYSTROKE = "keystroke"
    ENGINE = "engine"
    """What the engine says of itself."""
    FIRST = "first"
    """This one and the following: the values of what was swept, or variants, in their order."""
    SECOND = "second"
    THIRD = "third"
    FOURTH = "fourth"
    FIFTH = "fifth"
    SIXTH = "sixth"


IN_ORDER = (Role.FIRST, Role.SECOND, Role.THIRD, Role.FOURTH, Role.FIFTH, Role.SIXTH)


class Mark(StrEnum):
    LINE = "line"
    STEPS = "steps"
    """Each value holds from its x to the next one."""
    POINTS = "points"
    LINE_AND_POINTS = "line and points"
    BARS = "bars"
    SPANS = "spans"
    """In the rows of a panel of categories: a bar from `low` to `high`."""


class Dash(StrEnum):
    SOLID = "solid"
    DASHED = "dashed"
    DOTTED = "dotted"
    DASH_DOT = "dash-dot"


class Symbol(StrEnum):
    CIRCLE = "circle"
    SQUARE = "square"
    TRIANGLE = "triangle"
    CROSS = "cross"
    DIAMOND = "diamond"
    STROKE = "stroke"
    BEYOND = "beyond"
    """What lies beyond the axis, at its end."""


class _Shown:
    """Its texts come from lab files and run folders, and are printable once it is made."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if field.name not in {"name", "runs"}:
                object.__setattr__(self, field.name, _printable(getattr(self, field.name)))


def _printable(value: Any) -> Any:
    if type(value) is str:
        return printable(value)
    if isinstance(value, tuple | list) and value and isinstance(value[0], str | tuple):
        return type(value)(map(_printable, value))
    return value


@dataclass(frozen=True)
class Series(_Shown):
    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    """None: a gap."""
    role: Role
    mark: Mark = Mark.LINE
    dash: Dash = Dash.SOLID
    symbol: Symbol = Symbol.CIRCLE
    low: Sequence[float] | None = None
    """With `high`: an interval round each y; in a panel of categories, round each x."""
    high: Sequence[float] | None = None
    in_legend: bool = True
    bar_width: float | None = None
    """Of BARS, in the unit of x."""
    sets_range: bool = True
    """Whether the axis must show all of it; not so for a ceiling far above what was measured."""
    faint: bool = False
    hollow: bool = False
    band: bool = False
    """Whether the interval is drawn as a band along the line, not as a bar at each point."""
    words: Sequence[str] = ()
    """Of each point, in place of its numbers where a reader points at it."""
    runs: Sequence[tuple[str, ...]] = ()
    """Of each point, the runs that it stands for, the most typical first."""


@dataclass(frozen=True)
class Level(_Shown):
    """A horizontal line across a panel; in one of categories, a vertical one."""

    value: float
    label: str
    role: Role


@dataclass(frozen=True)
class Axis(_Shown):
    label: str
    unit: str
    log: bool = False
    ticks: tuple[float, ...] | None = None
    """Where to write numbers; None: where the renderer finds it best."""
    tick_words: tuple[str, ...] | None = None
    """What to write at `ticks`, where it is not the number itself."""
    zero: float | None = None
    """Where 0 stands on a logarithmic axis, below a break; None: nothing is 0."""
    from_zero: bool = True
    """Whether a linear axis begins at 0; not so where the differences are the matter."""
    categories: tuple[str, ...] = ()
    """Of a y axis: rows from above, and a series' y is a row's number. Else it is an axis of numbers.

    Of an x axis, only in panels of cells: their columns from the left.
    """
    headings: frozenset[int] = frozenset()
    """Rows that are only a heading of those below."""

    def at(self, value: float) -> float:
        """The value's place."""
        return value if value or self.zero is None else self.zero

    @property
    def title(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Cells(_Shown):
    """A figure for each row and column, in a panel whose x axis and y axis are both of categories."""

    words: tuple[tuple[str, ...], ...]
    """By row, the text of each cell. Empty: unknown."""
    shades: tuple[tuple[float | None, ...], ...]
    """Its place on the scale of colours, 0 the best to 1 the worst; None has no colour."""
    best: frozenset[tuple[int, int]]
    """Row and column of what is marked."""
    runs: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """By row, the runs that each stands for, the most typical first."""


@dataclass(frozen=True)
class Panel(_Shown):
    name: str
    title: str
    sentence: str
    """What it shows, with figures. Empty where the chart's own sentence says it."""
    y: Axis
    series: tuple[Series, ...]
    levels: tuple[Level, ...] = ()
    x: Axis | None = None
    """Where it is not the chart's."""
    cells: Cells | None = None
    """In place of series."""
    answers: tuple[str, ...] = ()
    """Of each piece of work the whole sentence, where `sentence` leaves out a part."""


@dataclass(frozen=True)
class Chart(_Shown):
    """Panels that share one x axis: one above the other, or side by side with the same y axis.

    Panels of categories stand `columns` in a row, and those of a row share their categories.
    """

    name: str
    title: str
    sentence: str
    x: Axis
    panels: tuple[Panel, ...]
    side_by_side: bool = False
    columns: int = 1

    @property
    def of_categories(self) -> bool:
        return bool(self.panels[0].y.categories)

    @property
    def small_multiples(self) -> bool:
        """Too many panels side by side for a legend in each."""
        return self.side_by_side and len(self.panels) > 2

    @property
    def of_cells(self) -> bool:
        return self.panels[0].cells is not None
