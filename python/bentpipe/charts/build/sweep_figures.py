"""The figures that can be drawn over a sweep: measures of each workload, and of the pipe that it loads."""

from collections.abc import Sequence
from dataclasses import dataclass

from bentpipe.analysis.cells import Cell
from bentpipe.analysis.kinds import Measure
from bentpipe.analysis.kinds.pipe import PIPE
from bentpipe.runs.called import called_in_all

_UNITS = {"%", "ms"}
_SIDE_KINDS = {"ping", "exec"}
"""What is measured beside the work."""


@dataclass(frozen=True)
class Figure:
    """A measure of one piece of work, or of a pipe."""

    measure: Measure
    cells: tuple[Cell, ...]

    @property
    def kind(self) -> str:
        return self.cells[0].kind.name

    @property
    def header(self) -> str:
        words = self.measure.header.split()
        return " ".join(words[:-1] if words[-1] in _UNITS else words)

    @property
    def unit(self) -> str:
        """Empty for a count; a narrow column has it in its header."""
        last = self.measure.header.split()[-1]
        return self.measure.unit or (last if last in _UNITS else "")

    @property
    def whose(self) -> str:
        """Of which work or pipe it is."""
        subject = self.cells[0].workload
        if self.kind == PIPE.name:
            return f"the pipe {subject}"
        return called_in_all((run for cell in self.cells for run in cell.runs), subject)

    @property
    def name(self) -> str:
        return f"{self.whose.removeprefix('the ')}, {self.header}"

    @property
    def title(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


def figures(found: Sequence[Cell]) -> list[Figure]:
    """All that differ from cell to cell, those by which kinds are compared first."""
    grouped: dict[tuple[str, str], list[Cell]] = {}
    for cell in found:
        if cell.kind.name not in _SIDE_KINDS:
            grouped.setdefault((cell.kind.name, cell.workload), []).append(cell)
    ranked = []
    for of in grouped.values():
        for measure in of[0].kind.every_measure:
            medians = {cell.figures[measure.name].median for cell in of if measure.name in cell.figures}
            if len(medians) > 1:
                ranked.append((measure is not of[0].measure, Figure(measure, tuple(of))))
    return [figure for _, figure in sorted(ranked, key=lambda each: each[0])]
