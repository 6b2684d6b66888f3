"""Text from lab files, run folders and imported files, made safe to show.

Control characters move a terminal's cursor, set its title or hide text; directional characters change the
order in which text is read. Each is shown by its escape: `\\x1b`, `\\u202e`. All that is printed to a
terminal, and every text of a page or a chart, goes through here. Files for programs (CSV, Parquet) keep the
text as it is; JSON keeps it too, with escapes of its own.
"""

import json
import re
import unicodedata
from typing import Any

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's categories: control, format, surrogate; separators of lines and of paragraphs."""
_JOINERS = "\u200c\u200d"
"""Needed to write some languages; they move and hide nothing."""
_TEXT_LINES = "\n\t"


class _Escapes(dict[int, str]):
    """What stands for each character, as str.translate asks for it."""

    def __init__(self, kept: str) -> None:
        super().__init__((ord(each), each) for each in kept + _JOINERS)

    def __missing__(self, code: int) -> str:
        character = chr(code)
        hidden = unicodedata.category(character) in _HIDDEN
        found = ascii(character)[1:-1] if hidden else character
        return self.setdefault(code, found)


_ONE_LINE, _LINES = _Escapes(""), _Escapes(_TEXT_LINES)


def printable(text: str) -> str:
    """On one line."""
    return text.translate(_ONE_LINE)


def printable_lines(text: str) -> str:
    """Of several lines, which stay; so do tabs."""
    return text.replace("\r\n", "\n").translate(_LINES)


def printable_json(value: Any) -> str:
    """JSON on one line. Reading it gives the very same text."""
    return _NOT_ASCII.sub(_json_escape, json.dumps(value, ensure_ascii=False, allow_nan=False))


_NOT_ASCII = re.compile(r"[^\x20-\x7e]")


def _json_escape(found: re.Match[str]) -> str:
    character = found[0]
    return character if printable(character) == character else json.dumps(character)[1:-1]
