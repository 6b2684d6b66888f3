"""Trace files: delivery opportunities (mahimahi's format), losses, and flows' sizes, read once per load.

mahimahi's format (mahimahi(1), mm-link): one line per opportunity to deliver 1500 bytes, the milliseconds
since the trace's start as a whole number; lines may repeat a number and never go back; after the last the
trace starts again.

A lab may name any file that its user can read. So a message about a line never quotes it, unless it is a
short number: the file need not be a trace, and messages are passed on.
"""

from __future__ import annotations

import re
from pathlib import Path

from bentpipe.errors import LabError
from bentpipe.lab.errors import FaultError
from bentpipe.words.faults import shown

_MOST_BYTES = 64 * 2**20
_MOST_MS = 10**12
_LARGEST_BYTES = 10**15
_QUOTED_NUMBER = re.compile(r"(?=.{1,20}\Z)[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


class Traces:
    """The trace files of one lab. Paths are relative to the lab file's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opportunities: dict[str, list[int]] = {}
        self._losses: dict[str, list[bool]] = {}
        self._sizes: dict[str, list[int]] = {}

    def opportunities_ns(self, name: str) -> list[int]:
        """Times of the delivery opportunities in nanoseconds. Raises `FaultError` or, for a line in it,
        `LabError`.
        """
        if name not in self._opportunities:
            self._opportunities[name] = _read_opportunities(self._folder / name, self._text(name))
        return self._opportunities[name]

    def losses(self, name: str) -> list[bool]:
        """Per packet, whether it is lost. Raises `FaultError` or, for a line in it, `LabError`."""
        if name not in self._losses:
            self._losses[name] = _read_losses(self._folder / name, self._text(name))
        return self._losses[name]

    def sizes(self, name: str) -> list[int]:
        """Sizes in bytes. Raises `FaultError` or, for a line in it, `LabError`."""
        if name not in self._sizes:
            self._sizes[name] = _read_sizes(self._folder / name, self._text(name))
        return self._sizes[name]

    def _text(self, name: str) -> str:
        if "\0" in name or not name:
            raise FaultError("expected the name of a file")
        file = self._folder / name
        would_do = f"expected a file, by its path relative to the lab's folder ({self._folder})"
        try:
            if not file.exists():
                raise FaultError(would_do, found=f"{shown(name)}, which does not exist")
            if not file.is_file():
                raise FaultError(would_do, found=f"{shown(name)}, which is not a regular file")
            if file.stat().st_size > _MOST_BYTES:
                raise FaultError(
                    "expected a trace of at most 64 MiB", found=f"{shown(name)}, which is larger"
                )
            return file.read_text(encoding="ascii")
        except UnicodeDecodeError:
            raise FaultError(
                "expected a text file", found=f"{shown(name)}, which is not plain ASCII"
            ) from None
        except OSError as error:
            raise FaultError(
                would_do, found=f"{shown(name)}, which cannot be read ({error.strerror})"
            ) from None


def _read_opportunities(file: Path, text: str) -> list[int]:
    times_ns: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.strip()
        where = f"{file}:{number}"
        if not word.isdigit() or len(word) > 13 or int(word) > _MOST_MS:
            raise LabError(
                where,
                "",
                _found(word),
                "expected whole milliseconds since the trace's start, one number per line",
            )
        time_ns = int(word) * 1_000_000
        if times_ns and time_ns < times_ns[-1]:
            raise LabError(
                where, "", f"{word} after {times_ns[-1] // 1_000_000}", "expected times that never go back"
            )
        times_ns.append(time_ns)
    if not times_ns:
        raise LabError(str(file), "", "an empty trace", "expected at least one line")
    if times_ns[-1] == 0:
        raise LabError(
            f"{file}:{len(times_ns)}",
            "",
            "a trace that ends at 0 ms",
            "expected a last line above 0: it is the period",
        )
    return times_ns


def _read_losses(file: Path, text: str) -> list[bool]:
    lost: list[bool] = []
    for number, line in enumerate(text.splitlines(), start=1):
        for mark in line.split("#", 1)[0]:
            if mark in "01":
                lost.append(mark == "1")
            elif not mark.isspace():
                raise LabError(
                    f"{file}:{number}",
                    "",
                    "another character",
                    "expected 0 (arrives) and 1 (lost), and # for a remark",
                )
    if not lost:
        raise LabError(str(file), "", "an empty trace", "expected at least one 0 or 1")
    return lost


def _read_sizes(file: Path, text: str) -> list[int]:
    sizes: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        word = line.split("#", 1)[0].strip()
        if not word:
            continue
        if not word.isdigit() or not 0 < int(word) <= _LARGEST_BYTES:
            raise LabError(
                f"{file}:{number}", "", _found(word), "expected a whole number of bytes above 0, one per line"
            )
        sizes.append(int(word))
    if not sizes:
        raise LabError(str(file), "", "no sizes", "expected at least one line with a number of bytes")
    return sizes


def _found(word: str) -> str:
    """What stands in a line, without its text unless that is a short number."""
    if not word:
        return "an empty line"
    return f'"{word}"' if _QUOTED_NUMBER.fullmatch(word) else "text that is not shown"
