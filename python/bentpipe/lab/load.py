"""From a lab file to points, with every fault named by its place. The one edge at which a lab is checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError

from bentpipe.lab.changes import ChangeError
from bentpipe.lab.errors import FaultError, LabError, did_you_mean, shown
from bentpipe.lab.faults import Places, first_fault
from bentpipe.lab.keys import Document
from bentpipe.lab.locate import key_lines
from bentpipe.lab.models.lab import LabFile
from bentpipe.lab.point import Point
from bentpipe.lab.resolve import resolve
from bentpipe.lab.shipped import shipped_labs
from bentpipe.lab.spec import RunSpec
from bentpipe.lab.sweep import Cell, Grid, grid_of
from bentpipe.lab.traces import Traces

MOST_RUNS = 1_000_000
_MOST_BYTES = 4 * 2**20
_TOML_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True)
class _Checked:
    """A cell of the grid that is legal."""

    variant: str
    point: Mapping[str, Any]
    seed: int
    """Of its first run."""
    spec: RunSpec


@dataclass(frozen=True)
class Lab:
    """A lab that is legal in every cell of its grid.

    Attributes:
        file: where it was read from.
        name: the file's name without its suffix.
        title: its line for people.
        published: key of the published figures, or None.
        repeat: runs per cell.
        variants: names of the variants that were chosen, "as is" for the plain lab.
        asked: whether the variants were asked for by name.
        text: the file as it was written.
        options: what the command line changed of it, each as it would be typed there.
    """

    file: Path
    name: str
    title: str
    published: str | None
    repeat: int
    variants: tuple[str, ...]
    asked: bool
    text: str
    options: tuple[str, ...]
    _cells: tuple[_Checked, ...]

    @classmethod
    def load(
        cls,
        path_or_name: str | Path,
        set: Sequence[str] = (),
        seed: int | None = None,
        repeat: int | None = None,
        variants: Sequence[str] | None = None,
    ) -> Self:
        """Reads and checks a lab: a file, or the name of a shipped one.

        Args:
            path_or_name: a path, or a shipped lab's name.
            set: `key=value` texts, as after `--set`. They go before the sweep and the variants.
            seed: instead of the lab's seed.
            repeat: instead of the lab's repeat.
            variants: names of the variants to run, "as is" for the plain lab; None for all.

        Raises:
            LabError: for anything that is wrong with it; the message is for the user.
        """
        options = [(f"--set {text}", text) for text in set]
        options += [] if seed is None else [(f"--seed {seed}", f"seed={seed}")]
        options += [] if repeat is None else [(f"--repeat {repeat}", f"repeat={repeat}")]
        file = find(path_or_name)
        text, document = _read(file)
        places = Places(str(file), key_lines(text))
        traces = Traces(file.parent)
        try:
            grid = grid_of(document, options, variants)
            first, cells = _all_checked(grid, places, traces)
        except ChangeError as change:
            raise places.of_origin(change.origin, change.fault) from None
        if first.repeat * len(cells) > MOST_RUNS:
            found = f"{first.repeat} repeats of {len(cells)} points"
            raise LabError(str(file), "repeat", found, f"expected at most {MOST_RUNS} runs")
        return cls(
            file=file,
            name=file.stem,
            title=first.title or file.stem,
            published=first.published,
            repeat=first.repeat,
            variants=tuple(grid.variants),
            asked=variants is not None,
            text=text,
            options=(*(name for name, _ in options), *(f"--variant {name}" for name in variants or ())),
            _cells=tuple(cells),
        )

    def cells(self) -> Iterator[list[Point]]:
        """The runs of each cell of the grid, the plain lab's cells first."""
        for cell in self._cells:
            yield [
                Point(
                    lab=self.name,
                    title=self.title,
                    published=self.published,
                    variant=cell.variant,
                    point=dict(cell.point),
                    seed=cell.seed + index,
                    repeat_index=index,
                    spec=cell.spec,
                )
                for index in range(self.repeat)
            ]

    def points(self) -> list[Point]:
        """Every run to do: the plain lab's cells first, each cell's repeats together."""
        return [point for cell in self.cells() for point in cell]


def _all_checked(grid: Grid, places: Places, traces: Traces) -> tuple[LabFile, list[_Checked]]:
    """The lab as its first cell has it, and what is wanted of every cell: a grid may have very many."""
    first, cells = None, []
    for cell in grid.cells():
        lab, spec = _checked(cell, places.over(cell.placed), traces)
        first = first or lab
        cells.append(_Checked(cell.variant, cell.point, lab.seed, spec))
    assert first is not None  # a grid without cells is refused
    return first, cells


def _checked(cell: Cell, places: Places, traces: Traces) -> tuple[LabFile, RunSpec]:
    try:
        lab = LabFile.model_validate(cell.document)
    except ValidationError as error:
        raise first_fault(error, cell.document, places) from None
    try:
        spec = resolve(lab, traces)
    except FaultError as fault:
        location = tuple(int(part) if part.isdigit() else part for part in fault.key.split("."))
        raise places.error(cell.document, location, fault) from None
    return lab, spec


def find(path_or_name: str | Path) -> Path:
    """The file of a lab: the path itself, or a shipped lab of that name. Raises `LabError`."""
    text = str(path_or_name)
    shipped = shipped_labs()
    if isinstance(path_or_name, str) and text in shipped and not Path(text).is_file():
        return shipped[text]
    if "\0" in text or not text:
        raise LabError("LAB", "", shown(text), "expected a lab file or the name of a shipped lab")
    file = Path(text)
    if file.is_dir():
        raise LabError(text, "", "a folder", "expected a lab file")
    if not file.exists():
        asked = did_you_mean(file.stem, shipped)
        listing = ", ".join(shipped)
        raise LabError(
            text,
            "",
            "neither a file nor a lab of that name",
            f"{asked}labs that come with bentpipe: {listing}",
        )
    return file


def _read(file: Path) -> tuple[str, Document]:
    would_do = "expected a lab file (TOML, in UTF-8)"
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            raise LabError(str(file), "", "no regular file of at most 4 MiB", would_do)
        content = file.read_bytes()
    except OSError as error:
        raise LabError(str(file), "", f"a file that cannot be read ({error.strerror})", would_do) from None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LabError(
            f"{file}:{line}", "", f"byte 0x{content[error.start]:02x}, which is not UTF-8", would_do
        ) from None
    try:
        return text, tomllib.loads(text)
    except RecursionError:
        raise LabError(str(file), "", "tables nested beyond measure", would_do) from None
    except ValueError as error:
        match = _TOML_PLACE.fullmatch(str(error))
        reason = match.group(1) if match else str(error)
        at_end = f"{file}:{max(1, len(text.splitlines()))}"
        at = f"{file}:{match.group(2)}:{match.group(3)}" if match and match.group(2) else at_end
        raise LabError(
            at, "", f"invalid TOML: {reason[:1].lower()}{reason[1:]}", f"{would_do}; see https://toml.io"
        ) from None
