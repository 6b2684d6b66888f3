"""From a lab file to points, with every fault named by its place. The one edge at which a lab is checked."""

from __future__ import annotations

import numbers
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Self, Unpack

from pydantic import ValidationError

from bentpipe.errors import LabError
from bentpipe.lab.errors import FaultError
from bentpipe.lab.facts import facts
from bentpipe.lab.faults import Places, first_fault
from bentpipe.lab.files import MOST_BYTES, WOULD_DO, find, parsed, read_text
from bentpipe.lab.grid.cells import Cell, Grid, grid_of
from bentpipe.lab.grid.changes import ChangeError, Setting
from bentpipe.lab.keys import Document
from bentpipe.lab.locate import key_lines
from bentpipe.lab.models.lab import AS_IS, LabFile
from bentpipe.lab.point import CellRuns, Point
from bentpipe.lab.resolve import resolve
from bentpipe.lab.spec import RunSpec
from bentpipe.lab.traces import Traces
from bentpipe.lab.values import LabKeys, document_of, plain
from bentpipe.words.faults import shown
from bentpipe.words.printable import printable
from bentpipe.words.written import toml

MOST_RUNS = 1_000_000
_LARGEST_SEED = 2**62
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")
_KEY_EXAMPLE = 'expected a dotted key of the lab, such as "path.rtt"'


@dataclass(frozen=True)
class _Source:
    """What a lab was made from, before anything was asked over it."""

    file: Path | None
    name: str
    text: str
    document: Document
    places: Places
    folder: Path
    """Where the files are that the lab names."""

    @classmethod
    def read(cls, file: Path) -> _Source:
        text = read_text(file)
        return cls._parsed(text, str(file), file, file.stem, file.parent)

    @classmethod
    def of_text(cls, text: str, name: str, folder: Path) -> _Source:
        if not isinstance(text, str):
            raise LabError("Lab.loads", "", f"a value of the type {type(text).__name__}", WOULD_DO)
        if len(text.encode(errors="replace")) > MOST_BYTES:
            raise LabError("Lab.loads", "", "a text of more than 4 MiB", WOULD_DO)
        return cls._parsed(text, "Lab.loads", None, name, folder)

    @classmethod
    def of_values(cls, keys: Mapping[str, Any], name: str, folder: Path) -> _Source:
        document = document_of(keys, "Lab(...)")
        return cls(None, name, toml(document), document, Places("Lab(...)", {}), folder)

    @classmethod
    def _parsed(cls, text: str, where: str, file: Path | None, name: str, folder: Path) -> _Source:
        return cls(file, name, text, parsed(text, where), Places(where, key_lines(text)), folder)


@dataclass(frozen=True, init=False, repr=False)
class Lab:
    """A lab that is legal in every cell of its grid.

    Attributes:
        file: where it was read from; None: from a text or from Python values.
        name: the file's name without its suffix, or what it was called.
        title: its line for people.
        published: key of the published figures, or None.
        repeat: runs per cell.
        seeds: of the runs of each cell; None: from the lab's own seed on.
        variants: names of the variants that were chosen, "as is" for the plain lab.
        asked: whether the variants were asked for by name.
        text: the file as it was written; of Python values, as it would be.
        options: what was changed of it, each as it would be typed on the command line.
    """

    file: Path | None
    name: str
    title: str
    published: str | None
    repeat: int
    seeds: tuple[int, ...] | None
    variants: tuple[str, ...]
    asked: bool
    text: str
    options: tuple[str, ...]
    _cells: tuple[CellRuns, ...] = field(repr=False)
    _source: _Source = field(repr=False)
    _settings: tuple[Setting, ...] = field(repr=False)
    _wanted: tuple[str, ...] | None = field(repr=False)

    def __init__(self, *, name: str = "lab", folder: str | Path = ".", **keys: Unpack[LabKeys]) -> None:
        """A lab from Python values: the keys of the lab file.

        A table is a dict, or a model of `bentpipe.lab.models`. Quantities are texts with units, as in the
        file: `path={"rtt": "550 ms", "rate": "16 Mbit/s"}`.

        Args:
            name: what runs and folders call the lab.
            folder: where files are that the lab names (traces).
            keys: docs/lab-file.md lists them.

        Raises:
            LabError: for anything that is wrong with it; the message is for the user.
        """
        self._check(_Source.of_values(keys, _lab_name(name), Path(folder)))

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
        source = _Source.read(find(path_or_name))
        return cls._made(source, _typed(set, seed, repeat), variants)

    @classmethod
    def loads(
        cls,
        text: str,
        set: Sequence[str] = (),
        seed: int | None = None,
        repeat: int | None = None,
        variants: Sequence[str] | None = None,
        *,
        name: str = "lab",
        folder: str | Path = ".",
    ) -> Self:
        """Reads and checks a lab that is given as the text of a lab file (TOML).

        Args:
            text: at most 4 MiB.
            set, seed, repeat, variants: as of `load`.
            name: what runs and folders call the lab.
            folder: where files are that the lab names (traces).

        Raises:
            LabError: for anything that is wrong with it, with the line of the text.
        """
        source = _Source.of_text(text, _lab_name(name), Path(folder))
        return cls._made(source, _typed(set, seed, repeat), variants)

    def replace(self, key: str, value: Any) -> Self:
        """A new lab with `value` over a dotted key, checked at once; this one stays as it is.

        As `--set` does: the value is put over the sweep and the variants too, and set on a swept key it pins
        that key. Give quantities as texts with units: `lab.replace("path.rtt", "300 ms")`.

        Raises:
            LabError: for a key or a value that the lab cannot take.
        """
        where = f"replace({key!r}, ..)"
        if not isinstance(key, str):
            raise LabError(where, "", f"a key of the type {type(key).__name__}", _KEY_EXAMPLE)
        setting = Setting.replacing(key, plain(value, where, key))
        return type(self)._made(self._source, (*self._settings, setting), self._wanted, self.seeds)

    def with_seeds(self, seeds: Iterable[int]) -> Self:
        """A new lab that runs each point once with each of these seeds, instead of `repeat` times.

        Raises:
            LabError: where there is none, one comes twice, or one is not a whole number from 0 to 2**62.
        """
        return type(self)._made(self._source, self._settings, self._wanted, checked_seeds(seeds))

    @classmethod
    def _made(
        cls,
        source: _Source,
        settings: Sequence[Setting],
        variants: Sequence[str] | None,
        seeds: tuple[int, ...] | None = None,
    ) -> Self:
        lab = cls.__new__(cls)
        lab._check(source, settings, variants, seeds)
        return lab

    def _check(
        self,
        source: _Source,
        settings: Sequence[Setting] = (),
        variants: Sequence[str] | None = None,
        seeds: tuple[int, ...] | None = None,
    ) -> None:
        """Sets every attribute. Raises LabError."""
        if variants is not None:
            _check_texts("variants", variants, AS_IS)
        places = source.places
        try:
            grid = grid_of(source.document, settings, variants)
            first, checked = _all_checked(grid, places, Traces(source.folder))
        except ChangeError as change:
            raise places.of_origin(change.origin, change.fault) from None
        repeat = first.repeat if seeds is None else len(seeds)
        if repeat * len(checked) > MOST_RUNS:
            found = f"{repeat} repeats of {len(checked)} points"
            raise LabError(places.file, "repeat", found, f"expected at most {MOST_RUNS} runs")
        title = first.title or source.name

        def runs(cell: _Checked) -> CellRuns:
            of_cell = range(cell.seed, cell.seed + repeat) if seeds is None else seeds
            point = Point(
                lab=source.name,
                title=title,
                published=first.published,
                variant=cell.variant,
                point=cell.point,
                seed=of_cell[0],
                repeat_index=0,
                spec=cell.spec,
            )
            return CellRuns(point, of_cell)

        attributes = {
            "file": source.file,
            "name": source.name,
            "title": title,
            "published": first.published,
            "repeat": repeat,
            "seeds": seeds,
            "variants": tuple(grid.variants),
            "asked": variants is not None,
            "text": source.text,
            "options": (
                *(setting.option for setting in settings),
                *(f"--variant {name}" for name in variants or ()),
            ),
            "_cells": tuple(map(runs, checked)),
            "_source": source,
            "_settings": tuple(settings),
            "_wanted": None if variants is None else tuple(variants),
        }
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return "\n".join([self._heading, *(f"  {name:10} {words}" for name, words in self._facts())])

    def _repr_html_(self) -> str:
        rows = (f"<tr><th>{escape(name)}</th><td>{escape(words)}</td></tr>" for name, words in self._facts())
        return f"<table><caption>{escape(self._heading)}</caption><tbody>{''.join(rows)}</tbody></table>"

    @property
    def _heading(self) -> str:
        return printable(f"Lab {self.name}" + (f": {self.title}" if self.title != self.name else ""))

    def _facts(self) -> list[tuple[str, str]]:
        points = [cell.first.point for cell in self._cells]
        return facts(self._cells[0].first.spec, points, self.variants, self.repeat)

    @property
    def where(self) -> str:
        """What messages call it: its file, or how it was made."""
        return self._source.places.file

    def cells(self) -> Sequence[CellRuns]:
        """The runs of each cell of the grid, the plain lab's cells first."""
        return self._cells

    def points(self) -> list[Point]:
        """Every run to do: the plain lab's cells first, each cell's repeats together."""
        return [point for cell in self.cells() for point in cell]


def _typed(sets: Sequence[str], seed: int | None, repeat: int | None) -> list[Setting]:
    _check_texts("set", sets, "path.rtt=80 ms")
    settings = [Setting.typed(text, f"--set {text}") for text in sets]
    settings += [] if seed is None else [Setting.typed(f"seed={seed}", f"--seed {seed}")]
    settings += [] if repeat is None else [Setting.typed(f"repeat={repeat}", f"--repeat {repeat}")]
    return settings


def _check_texts(name: str, values: Sequence[str], example: str) -> None:
    """Raises LabError for anything but a list of texts; a single text is one of characters."""
    if isinstance(values, str) or not isinstance(values, Collection):
        raise LabError(name, "", shown(values), f'expected a list of texts, such as {name}=["{example}"]')
    for value in values:
        if not isinstance(value, str):
            raise LabError(name, "", shown(value), f'expected texts, such as {name}=["{example}"]')


def _lab_name(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        expected = "expected up to 64 letters, digits, -, _ and ."
        raise LabError("name", "", shown(name), f"{expected}: folders of runs are named after it")
    return name


def checked_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    """Raises LabError."""
    expected = "expected different whole numbers of 0 or more, such as range(20)"
    if not isinstance(seeds, Iterable):
        raise LabError("seeds", "", shown(seeds), expected)
    found: dict[int, None] = {}
    for seed in seeds:
        if len(found) == MOST_RUNS:
            raise LabError("seeds", "", f"more than {MOST_RUNS}", f"expected at most {MOST_RUNS} runs")
        whole = isinstance(seed, numbers.Integral) and not isinstance(seed, bool)
        if not whole or not 0 <= seed <= _LARGEST_SEED:
            raise LabError("seeds", "", shown(seed), expected)
        if seed in found:
            raise LabError("seeds", "", f"{seed} twice", expected)
        found[int(seed)] = None
    if not found:
        raise LabError("seeds", "", "none", expected)
    return tuple(found)


@dataclass(frozen=True)
class _Checked:
    """A cell of the grid that is legal."""

    variant: str
    point: dict[str, Any]
    seed: int
    """Of its first run."""
    spec: RunSpec


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
