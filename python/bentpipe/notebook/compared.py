"""The effect of changes, as sentences, tables and a data frame."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Group, RenderableType

from bentpipe.analysis.comparisons import Comparison
from bentpipe.analysis.required import Check
from bentpipe.notebook.tables import as_html, paragraph
from bentpipe.report import comparison, requirements
from bentpipe.words.console import as_text
from bentpipe.words.written import written

_COLUMNS: dict[str, Any] = {
    "metric": pl.String,
    "unit": pl.String,
    "thing": pl.String,
    "baseline": pl.String,
    "point": pl.String,
    "pairs": pl.Int64,
    "baseline_mean": pl.Float64,
    "mean": pl.Float64,
    "difference": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "verdict": pl.String,
}


@dataclass(frozen=True, repr=False)
class Compared:
    """Comparisons over pairs of runs of the same point and seed (docs/compare.md).

    Attributes:
        comparisons: one for each metric of each thing tried: first over all points, then at each.
        checks: what was required, at each point; empty where nothing was.
    """

    comparisons: Sequence[Comparison]
    checks: Sequence[Check]

    @property
    def met(self) -> bool:
        """Whether all that was required holds."""
        return all(check.met for check in self.checks)

    @property
    def table(self) -> pl.DataFrame:
        """A row per comparison, in the metric's own unit, with the ends of the intervals; `point` is null
        over all points. `ratio` is the geometric mean of ours over the baseline's."""
        return pl.DataFrame([_row(each) for each in self.comparisons], schema=_COLUMNS)

    def as_json(self) -> list[dict[str, Any]]:
        """The objects that `bentpipe compare --json` prints, without their words."""
        of_checks = [check.as_json() for check in self.checks]
        return [each.as_json() for each in self.comparisons] + of_checks

    def __repr__(self) -> str:
        parts: list[RenderableType] = []
        if self.comparisons:
            parts.append(comparison.render(self.comparisons))
        if self.checks:
            parts.append(requirements.render(self.checks))
        return as_text(Group(*parts))

    def _repr_html_(self) -> str:
        parts: list[str] = []
        for told in comparison.told(self.comparisons) if self.comparisons else ():
            lines = [f"{name}: {words}" for name, words in (*told.verdicts, *told.unchanged)]
            parts += [paragraph(told.title), *map(paragraph, lines), as_html(told.sheet)]
        if self.comparisons:
            parts.append(paragraph(comparison.how_compared(self.comparisons)))
        if self.checks:
            parts += map(paragraph, as_text(requirements.render(self.checks)).splitlines())
        return "".join(parts)


def _row(of: Comparison) -> dict[str, Any]:
    found = of.as_json()
    point = None if of.point is None else ", ".join(f"{k} = {written(v)}" for k, v in of.point.items())
    ends = {
        f"{name}_{end}": (found[f"{name}_interval"] or (None, None))[number]
        for name in ("difference", "ratio")
        for number, end in enumerate(("low", "high"))
    }
    return {name: value for name, value in (found | ends | {"point": point}).items() if name in _COLUMNS}
