"""Reads untrusted files of other programs: with size limits, every value checked.

A fault is one message with the file, the place in it, what was found and what was expected.
"""

import bz2
import datetime
import gzip
import json
import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bentpipe.errors import StoreError
from bentpipe.words.faults import shown

MOST_BYTES = 64 << 20
"""Of a file's text, unpacked. Python holds JSON in up to twenty times its length."""
LONGEST_S = 30 * 86400
"""Of a test."""
_WHOLE = "expected the file as iperf3 -J or flent wrote it"
_LONGEST = "30 days"
_LARGEST = 1 << 63
YEAR_3000_S = 32_503_680_000


class ForeignFileError(StoreError):
    """A file that cannot be read as what it seems to be. `str()` is the whole message for the user."""

    def __init__(self, where: str, found: str, remedy: str) -> None:
        super().__init__(printable(f"{where}: found {found}; {remedy}"))


def read_text(path: Path) -> str:
    """The file's text, unpacked where it is gzip or bzip2. Never more than `MOST_BYTES`."""
    where = str(path)
    if not path.exists():
        raise ForeignFileError(where, "no such file", "name one that is there")
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "something that is not a file"
        raise ForeignFileError(where, kind, "expected a file, or several")
    try:
        content = _unpacked(path)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ForeignFileError(where, f"damaged gzip ({error})", "write it again") from error
    except OSError as error:
        if error.errno is not None:
            raise ForeignFileError(where, str(error.strerror), "expected a file that may be read") from error
        raise ForeignFileError(where, f"damaged bzip2 ({error})", "write it again") from error
    if len(content) > MOST_BYTES:
        raise ForeignFileError(
            where,
            f"more than {MOST_BYTES >> 20} MiB of text",
            "expected a shorter test or fewer of them",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ForeignFileError(f"{where}, byte {error.start}", "a byte that is not UTF-8", _WHOLE) from error


def _unpacked(path: Path) -> bytes:
    """At most one byte more than may be."""
    with path.open("rb") as file:
        begins = file.read(3)
        file.seek(0)
        if begins[:2] == b"\x1f\x8b":
            with gzip.GzipFile(fileobj=file) as packed:
                return packed.read(MOST_BYTES + 1)
        if begins == b"BZh":
            with bz2.BZ2File(file) as bzipped:
                return bzipped.read(MOST_BYTES + 1)
        return file.read(MOST_BYTES + 1)


def documents(text: str, where: str) -> Iterator[tuple[str, Any]]:
    """Each JSON document of a text, with the text it came from. Most files have one, a server's log several.

    NaN and the infinities, which some write, are null: not known.
    """
    decoder = json.JSONDecoder(parse_constant=lambda _word: None)
    at = _skip_blank(text, 0)
    if at == len(text):
        raise ForeignFileError(where, "an empty file", _WHOLE)
    while at < len(text):
        try:
            document, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise ForeignFileError(
                f"{where}, line {error.lineno}, column {error.colno}",
                f"text that is not JSON ({error.msg[:1].lower()}{error.msg[1:]})",
                _WHOLE,
            ) from error
        except (RecursionError, ValueError) as error:
            what = "values nested too deeply" if isinstance(error, RecursionError) else "a number too long"
            raise ForeignFileError(where, what, _WHOLE) from error
        yield text[at:end], document
        at = _skip_blank(text, end)


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def printable(text: str) -> str:
    """On one line, and without what would drive a terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _storable(text: str) -> str:
    """JSON may have, escaped, what no UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True)
class Found:
    """A value of a document and where it stands. What is absent is null; null is None."""

    value: Any
    file: str
    place: str = ""
    """Dotted, as `start.test_start.protocol`; empty for the whole document."""

    def __getitem__(self, key: str) -> "Found":
        """A member; null where there is none."""
        place = f"{self.place}.{key}" if self.place else key
        return Found(self._members().get(key), self.file, place)

    def __contains__(self, key: str) -> bool:
        return self._members().get(key) is not None

    def fault(self, remedy: str, found: str | None = None) -> ForeignFileError:
        where = f"{self.file}: {self.place}" if self.place else self.file
        return ForeignFileError(where, found or ("null" if self.value is None else shown(self.value)), remedy)

    def _members(self) -> dict[str, Any]:
        if self.value is None:
            return {}
        if not isinstance(self.value, dict):
            raise self.fault("expected an object")
        return self.value

    def members(self) -> Iterator[tuple[str, "Found"]]:
        for key in self._members():
            yield _storable(key), self[key]

    def elements(self) -> list["Found"]:
        """Of an array; none of null."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self.fault("expected an array")
        return [Found(each, self.file, f"{self.place}[{n}]") for n, each in enumerate(self.value)]

    def text(self) -> str | None:
        if self.value is not None and not isinstance(self.value, str):
            raise self.fault("expected text")
        return None if self.value is None else _storable(self.value)

    def flag(self) -> bool | None:
        """Also written as 0 or 1."""
        if self.value is not None and self.value not in (0, 1):
            raise self.fault("expected true or false")
        return None if self.value is None else bool(self.value)

    def number(self) -> float | None:
        """None also for one that is not finite."""
        if self.value is None:
            return None
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.fault("expected a number")
        if isinstance(self.value, float) and not math.isfinite(self.value):
            return None
        if abs(self.value) >= _LARGEST:
            raise self.fault("expected a number below 2^63")
        return float(self.value)

    def positive(self) -> float | None:
        """A number of 0 or more."""
        found = self.number()
        if found is not None and found < 0:
            raise self.fault("expected a number of 0 or more")
        return found

    def seconds(self) -> float | None:
        """A length of time."""
        found = self.positive()
        if found is not None and found > LONGEST_S:
            raise self.fault(f"expected {_LONGEST} or less")
        return found

    def since(self, zero_s: float, zero: str) -> float | None:
        """A time, in seconds since `zero_s`, which is called `zero`."""
        found = self.number()
        if found is not None and abs(found - zero_s) > LONGEST_S:
            raise self.fault(f"expected a time within {_LONGEST} of {zero}")
        return None if found is None else found - zero_s

    def moment(self) -> datetime.datetime | None:
        """Of seconds since 1970."""
        found = self.positive()
        if found is not None and found >= YEAR_3000_S:
            raise self.fault("expected seconds since 1970")
        return None if found is None else datetime.datetime.fromtimestamp(found, datetime.UTC)

    def count(self) -> int | None:
        """A whole number of 0 or more."""
        found = self.positive()
        if found is not None and found != int(found):
            raise self.fault("expected a whole number of 0 or more")
        return None if found is None else int(self.value)
