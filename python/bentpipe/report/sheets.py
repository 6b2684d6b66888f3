"""The tables of a report as text: one sheet per kind of workload, for the terminal and the page.

Their texts are printable.

Where things are tried, a group is a point and a row a variant, with its speed-up and its costs beside it;
where something is swept, a group is a variant and a row a point.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bentpipe.analysis.cells import Cell, cells, swept_keys
from bentpipe.analysis.kinds.costs import is_rival
from bentpipe.analysis.speed_up import baselines, place, things_tried
from bentpipe.report import columns
from bentpipe.runs.store import Results
from bentpipe.words.printable import printable, printable_lines
from bentpipe.words.wording import point_words, short_names


@dataclass(frozen=True)
class Row:
    values: tuple[str, ...]
    doubtful: bool
    """Whether some of its runs are left out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(map(printable, self.values)))


@dataclass(frozen=True)
class Sheet:
    title: str
    headers: tuple[str, ...]
    """With a line feed before the unit."""
    variants: bool
    """Whether the first column names variants, and a group is a point."""
    spare: tuple[int, ...]
    """Columns that a narrow terminal or screen may leave out, the first one first."""
    groups: tuple[tuple[str, tuple[Row, ...]], ...]
    """Heading and rows."""
    note: str
    """How to read the intervals; empty where there is none."""
    counted: str = ""
    """Over which interval and where its goodput was counted."""

    @property
    def legend(self) -> str:
        """What is said below it."""
        return " ".join(filter(None, (self.counted, self.note)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", tuple(map(printable_lines, self.headers)))
        object.__setattr__(self, "groups", tuple((printable(name), rows) for name, rows in self.groups))

    @property
    def length(self) -> int:
        return sum(len(rows) for _, rows in self.groups)

    def first(self, count: int) -> "Sheet":
        """The same with so many rows."""
        groups, left = [], count
        for name, rows in self.groups:
            if left > 0:
                groups.append((name, rows[:left]))
                left -= len(rows)
        return replace(self, groups=tuple(groups))


def sheets(results: Results) -> list[Sheet]:
    found = cells(results.records)
    keys = swept_keys(results.records)
    kinds = dict.fromkeys(cell.kind.name for cell in found)
    return [_sheet([cell for cell in found if cell.kind.name == kind], keys) for kind in kinds]


def _sheet(found: Sequence[Cell], keys: Sequence[str]) -> Sheet:
    variants = things_tried(found)
    if variants:
        found = [cell for cell in found if not is_rival(cell.runs[0], cell.workload)]
    several_works = len({cell.workload for cell in found}) > 1
    several_variants = len({cell.variant for cell in found}) > 1
    plain = baselines(found) if variants else {}
    first = {"variant": "variant"} if variants else short_names(keys)
    if not variants and (several_works or not keys):
        first |= {"workload": "workload"}

    works: dict[str, set[str]] = {}
    for cell in found:
        works.setdefault(repr(cell.point), set()).add(cell.workload)

    def heading(cell: Cell) -> str:
        if not variants:
            return cell.variant if several_variants else ""
        several = len(works[repr(cell.point)]) > 1
        return ", ".join([*point_words(cell.point), *([cell.workload] if several else [])])

    titles = columns.headers(found, first, plain)
    grouped: dict[str, list[Row]] = {}
    for cell in found:
        values = columns.row(cell, titles, plain.get(place(cell)))
        grouped.setdefault(heading(cell), []).append(Row(tuple(values), bool(cell.left_out)))
    groups = tuple((name, tuple(rows)) for name, rows in grouped.items())
    note = columns.coverage(found, plain)
    spare = tuple(list(titles).index(column) for column in columns.SPARE if column in titles)
    return Sheet(
        found[0].kind.title,
        tuple(titles.values()),
        variants,
        spare,
        groups,
        note,
        found[0].kind.counted,
    )
