"""The files that `bentpipe doctor` writes beside what it prints: a lab, metrics, a page.

They are checked before anything is watched or run, and written before anything is printed.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bentpipe.cli.saying import say
from bentpipe.errors import StoreError
from bentpipe.whole_file import is_written_through

if TYPE_CHECKING:
    from bentpipe.cli.doctor_sources import Diagnosed
    from bentpipe.doctor.cures import Cure
    from bentpipe.doctor.path_seen import PathSeen
    from bentpipe.doctor.reproduced import Reproduced


@dataclass(frozen=True)
class Judged:
    """A source's transfers with their paths and cures."""

    of: "Diagnosed"
    paths: "Sequence[PathSeen]"
    """Of each transfer."""
    cures: "Sequence[Sequence[Cure]]"
    """Of each transfer."""
    simulated: "Sequence[Reproduced | None]"
    """Each transfer on the lab of its path."""
    entry: dict[str, Any]
    """What `--json` prints."""


@dataclass(frozen=True)
class Outputs:
    """None: not asked for."""

    lab: Path | None
    prometheus: Path | None
    html: Path | None

    def __bool__(self) -> bool:
        return any(True for _ in self._given())

    def check(self, source: str | None) -> None:
        """Raises StoreError where one cannot be written, or would destroy the source or another one.

        `source`: a file or a folder that is read; None: nothing is.
        """
        seen: dict[Path, str] = {}
        for option, file in self._given():
            _check_place(option, file)
            if is_written_through(file):
                continue
            place = file.resolve()
            if place in seen:
                raise StoreError(f"{option} {file}: {seen[place]} writes to the same file")
            seen[place] = option
            if source is not None and file.exists() and _is_same(file, source):
                raise StoreError(f"{option} {file}: this is the file to read; expected another name")
        self._check_lab()

    def write(self, judged: Sequence[Judged]) -> None:
        """Raises StoreError where one cannot be written."""
        if self.lab is not None:
            _write_lab(self.lab, judged)
        if self.prometheus is not None:
            from bentpipe.doctor.prometheus import write_metrics

            write_metrics(self.prometheus, [each.entry for each in judged])
        if self.html is not None:
            from bentpipe.report import doctor_page

            doctor_page.write(self.html, [_on_page(each) for each in judged])

    def _given(self) -> Iterator[tuple[str, Path]]:
        for option, file in (("--lab", self.lab), ("--prometheus", self.prometheus), ("--html", self.html)):
            if file is not None:
                yield option, file

    def _check_lab(self) -> None:
        from bentpipe.doctor.lab_seen import is_lab_seen

        if self.lab is not None and self.lab.is_file() and not is_lab_seen(self.lab):
            raise StoreError(
                f"--lab {self.lab}: found a file that `doctor --lab` did not write; expected another name"
            )


def _check_place(option: str, file: Path) -> None:
    if file.is_dir():
        raise StoreError(f"{option} {file}: found a folder; expected the name of a file")
    for folder in (file.parent, file.resolve().parent):
        if not folder.is_dir():
            raise StoreError(f"{option} {file}: there is no folder {folder}")
    if not os.access(file if is_written_through(file) else file.resolve().parent, os.W_OK):
        raise StoreError(f"{option} {file}: Permission denied")


def _is_same(file: Path, source: str) -> bool:
    return Path(source).exists() and file.samefile(source)


def _write_lab(file: Path, judged: Iterable[Judged]) -> None:
    """Of the first source that has a transfer."""
    from bentpipe.doctor.lab_seen import write_lab
    from bentpipe.doctor.path_seen import telling

    for each in judged:
        found = each.of.found
        if found:
            path = each.paths[telling(found)]
            own = [of for of, its in zip(found, each.paths, strict=True) if its is path]
            chosen = write_lab(file, path, own)
            say(f"Written: {file}: the path of {each.of.heading}, {chosen.evidence.name}")
            return
    say(f"--lab {file}: no transfer was sampled, so nothing was written")


def _on_page(judged: Judged) -> Any:
    from bentpipe.report.doctor_page import Source

    of = judged.of
    return Source(of.heading, of.found, judged.cures, judged.simulated, judged.paths, of.remarks)
