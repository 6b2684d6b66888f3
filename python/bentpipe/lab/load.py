"""From a lab file to points, with every fault named by its place. The one edge at which a lab is checked."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bentpipe.lab.errors import LabError, Wrong, nearest, shown
from bentpipe.lab.faults import Places, first_fault
from bentpipe.lab.keys import Document
from bentpipe.lab.locate import key_lines
from bentpipe.lab.models.lab import LabFile
from bentpipe.lab.point import Point
from bentpipe.lab.resolve import resolve
from bentpipe.lab.shipped import shipped_labs
from bentpipe.lab.spec import RunSpec
from bentpipe.lab.sweep import Misplaced, canonical, grid_of
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
    spec: RunSpec
    spec_digest: str


@dataclass(frozen=True)
class Lab:
    """A lab that is legal in every cell of its grid.

    Attributes:
        file: where it was read from.
        name: the file's name without its suffix.
        title: its line for people.
        published: key of the published figures, or None.
        repeat: runs per cell.
        document: the file as TOML gives it, for the record.
        sets: what was set on the command line.
        variants: names of the variants that were chosen.
        digest: names the experiment: the file, its traces and what was set on keys that are not swept. Pins of swept
            keys, the choice of variants, seed and repeat are not in it, so a folder can be gone on with in parts.
    """

    file: Path
    name: str
    title: str
    published: str | None
    repeat: int
    document: Mapping[str, Any]
    sets: tuple[str, ...]
    variants: tuple[str, ...]
    digest: str
    _cells: tuple[_Checked, ...]

    @classmethod
    def load(
        cls,
        path_or_name: str | Path,
        set: Sequence[str] = (),  # noqa: A002 - the option's own name
        seed: int | None = None,
        repeat: int | None = None,
        variants: Sequence[str] | None = None,
    ) -> Lab:
        """Reads and checks a lab: a file, or the name of a shipped one.

        Args:
            path_or_name: a path, or a shipped lab's name.
            set: `key=value` texts, as after `--set`.
            seed: instead of the lab's seed, in every cell.
            repeat: instead of the lab's repeat.
            variants: names of the variants to run, "as is" for the plain lab; None for all.

        Raises:
            LabError: for anything that is wrong with it; the message is for the user.
        """
        options = [*set]
        options += [] if seed is None else [f"seed={seed}"]
        options += [] if repeat is None else [f"repeat={repeat}"]
        file = find(path_or_name)
        text, document = _read(file)
        places = Places(
            str(path_or_name) if file.name not in str(path_or_name) else str(file), key_lines(text)
        )
        try:
            grid = grid_of(document, options, variants)
            traces = Traces(file.parent)
            cells: list[_Checked] = []
            lab: LabFile | None = None
            for cell in grid.cells():
                lab = _validated(cell.document, places.over(cell.placed))
                try:
                    spec = resolve(lab, traces)
                except Wrong as wrong:
                    raise places.over(cell.placed).error(
                        cell.document, tuple(wrong.key.split(".")), wrong
                    ) from None
                text_of_spec = spec.model_dump_json()
                cells.append(
                    _Checked(
                        cell.variant,
                        cell.point,
                        lab.seed,
                        spec,
                        hashlib.sha256(text_of_spec.encode()).hexdigest(),
                    )
                )
        except Misplaced as fault:
            raise places.of_origin(fault.origin, fault.wrong) from None
        assert lab is not None
        if lab.repeat * len(cells) > MOST_RUNS:
            found = f"{lab.repeat} repeats of {len(cells)} points"
            raise LabError(places.file, "repeat", found, f"at most {MOST_RUNS} runs would do")
        name = file.stem
        plain = [
            option for option in set if option.split("=", 1)[0].strip() not in (*grid.axes, "seed", "repeat")
        ]
        return cls(
            file=file,
            name=name,
            title=lab.title or name,
            published=lab.published,
            repeat=lab.repeat,
            document=document,
            sets=tuple(options),
            variants=tuple(grid.variants),
            digest=hashlib.sha256(canonical([document, sorted(plain), traces.digest()]).encode()).hexdigest(),
            _cells=tuple(cells),
        )

    def points(self) -> list[Point]:
        """Every run to do: the plain lab's cells first, each cell's repeats together."""
        return [
            Point(
                lab=self.name,
                title=self.title,
                published=self.published,
                variant=cell.variant,
                point=dict(cell.point),
                seed=cell.seed + index,
                repeat_index=index,
                spec=cell.spec,
                spec_digest=cell.spec_digest,
            )
            for cell in self._cells
            for index in range(self.repeat)
        ]


def find(path_or_name: str | Path) -> Path:
    """The file of a lab: the path itself, or a shipped lab of that name. Raises `LabError`."""
    text = str(path_or_name)
    shipped = shipped_labs()
    if isinstance(path_or_name, str) and text in shipped and not Path(text).is_file():
        return shipped[text]
    if "\0" in text or not text:
        raise LabError("LAB", "", shown(text), "a lab file or the name of a shipped lab would do")
    file = Path(text)
    if file.is_dir():
        raise LabError(text, "", "a folder", "a lab file would do")
    if not file.exists():
        near = nearest(file.stem, shipped)
        asked = f'did you mean "{near}"? ' if near else ""
        listing = ", ".join(shipped)
        raise LabError(
            text, "", "no such file and no shipped lab of that name", f"{asked}Shipped labs: {listing}"
        )
    return file


def _read(file: Path) -> tuple[str, Document]:
    would_do = "a lab file (TOML, in UTF-8) would do"
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
        reason, line, column = match.groups() if match else (str(error), None, None)
        at = f"{file}:{line}:{column}" if line else f"{file}:{text.count(chr(10)) + 1}"
        raise LabError(
            at, "", f"what is not TOML: {reason[:1].lower()}{reason[1:]}", f"{would_do}; see https://toml.io"
        ) from None


def _validated(document: Document, places: Places) -> LabFile:
    try:
        return LabFile.model_validate(document)
    except ValidationError as error:
        raise first_fault(error, document, places) from None
