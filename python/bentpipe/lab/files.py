"""A lab file on disk: found by its path or as a shipped one, read, and parsed as TOML."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from bentpipe.errors import LabError
from bentpipe.lab.keys import Document
from bentpipe.lab.shipped import shipped_labs
from bentpipe.words.faults import did_you_mean, shown

MOST_BYTES = 4 * 2**20
WOULD_DO = "expected a lab file (TOML, in UTF-8)"
_TOML_FAULTS = (
    (r"Illegal character '\\n'", "a text without a closing quote"),
    (r"Cannot declare \('(.*)',\) twice", r"the table [\1] is defined twice"),
    (r"Cannot overwrite a value", "this key is defined twice"),
    (
        r"Expected newline or end of document after a statement",
        'unexpected text after the value (a quantity needs quotes, such as "550 ms")',
    ),
    (r"Invalid value", "invalid value (a text needs quotes)"),
)
"""Sentences of tomllib, and ours."""
_TOML_PLACE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


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
        if file.suffix or len(file.parts) > 1:
            raise LabError(text, "", "no such file", "expected a lab file, or a name from `bentpipe labs`")
        asked = did_you_mean(text, shipped)
        listing = ", ".join(shipped)
        raise LabError(
            text,
            "",
            "no file and no lab of that name",
            f"{asked}Labs that come with bentpipe: {listing}",
        )
    return file


def read_text(file: Path) -> str:
    """Raises LabError."""
    try:
        if not file.is_file() or file.stat().st_size > MOST_BYTES:
            raise LabError(str(file), "", "no regular file of at most 4 MiB", WOULD_DO)
        content = file.read_bytes()
    except OSError as error:
        raise LabError(str(file), "", f"a file that cannot be read ({error.strerror})", WOULD_DO) from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise LabError(
            f"{file}:{line}", "", f"byte 0x{content[error.start]:02x}, which is not UTF-8", WOULD_DO
        ) from None


def parsed(text: str, where: str) -> Document:
    """The document of a TOML text; `where` names it in messages. Raises LabError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise LabError(where, "", "tables nested beyond measure", WOULD_DO) from None
    except ValueError as error:
        match = _TOML_PLACE.fullmatch(str(error))
        reason = match.group(1) if match else str(error)
        at_end = f"{where}:{max(1, len(text.splitlines()))}"
        at = f"{where}:{match.group(2)}:{match.group(3)}" if match and match.group(2) else at_end
        raise LabError(
            at, "", f"invalid TOML: {_reworded(reason)}", f"{WOULD_DO}; see https://toml.io"
        ) from None


def _reworded(reason: str) -> str:
    for theirs, ours in _TOML_FAULTS:
        if match := re.fullmatch(theirs, reason):
            return match.expand(ours)
    return f"{reason[:1].lower()}{reason[1:]}"
