"""On which line of a TOML file each key stands. `tomllib` gives values without places, so this walks the
text again.

The text has already been parsed by `tomllib`: this is not a second parser but a walker that trusts it. Where
it loses its way all the same, it stops, and what it found so far is still right.
"""

from __future__ import annotations

import re
import tomllib

Location = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' r"'''.*?'{3,5}|" r'"(?:\\.|[^"\\\n])*"|' r"'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


class _LostError(Exception):
    """The text is not what the walker takes it for."""


class _Walker:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.line = 1
        self.lines: dict[Location, int] = {}
        self._arrays: dict[Location, int] = {}

    def walk(self) -> None:
        table: Location = ()
        while self._skip_blank():
            line = self.line
            if self._at("[["):
                self._take("[[")
                table = self._array_entry(self._key())
                self._skip_blank()
                self._take("]]")
                self.lines.setdefault(table, line)
            elif self._at("["):
                self._take("[")
                table = self._below_arrays(self._key())
                self._skip_blank()
                self._take("]")
                self.lines.setdefault(table, line)
            else:
                self._pair(table)

    def _pair(self, table: Location) -> None:
        line = self.line
        key = self._key()
        self._skip_blank()
        self._take("=")
        self._skip_blank()
        for depth in range(1, len(key) + 1):
            self.lines.setdefault((*table, *key[:depth]), line)
        self._value((*table, *key))

    def _value(self, at: Location) -> None:
        self.lines.setdefault(at, self.line)
        if self._at("["):
            self._take("[")
            index = 0
            while self._skip_blank() and not self._at("]"):
                self._value((*at, index))
                index += 1
                self._skip_blank()
                if self._at(","):
                    self._take(",")
            self._take("]")
        elif self._at("{"):
            self._take("{")
            while self._skip_blank() and not self._at("}"):
                self._pair(at)
                self._skip_blank()
                if self._at(","):
                    self._take(",")
            self._take("}")
        else:
            match = _STRING.match(self.text, self.position) or _SCALAR.match(self.text, self.position)
            if match is None:
                raise _LostError
            self._take(match.group())

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip_blank()
            quoted = _STRING.match(self.text, self.position)
            match = quoted or _BARE.match(self.text, self.position)
            if match is None:
                raise _LostError
            self._take(match.group())
            parts.append(str(tomllib.loads(f"v = {match.group()}")["v"]) if quoted else match.group())
            self._skip_blank()
            if not self._at("."):
                return tuple(parts)
            self._take(".")

    def _array_entry(self, key: tuple[str, ...]) -> Location:
        array = (*self._below_arrays(key[:-1]), key[-1])
        self._arrays[array] = self._arrays.get(array, -1) + 1
        return (*array, self._arrays[array])

    def _below_arrays(self, key: tuple[str, ...]) -> Location:
        at: Location = ()
        for part in key:
            at = (*at, part)
            if at in self._arrays:
                at = (*at, self._arrays[at])
        return at

    def _at(self, token: str) -> bool:
        return self.text.startswith(token, self.position)

    def _take(self, token: str) -> None:
        if not self._at(token):
            raise _LostError
        self.position += len(token)
        self.line += token.count("\n")

    def _skip_blank(self) -> bool:
        """Goes past blanks and remarks; whether anything is left."""
        match = _BLANK.match(self.text, self.position)
        if match is not None:
            self._take(match.group())
        return self.position < len(self.text)


def key_lines(text: str) -> dict[Location, int]:
    """The line, counted from 1, of each key, table and array entry of a TOML text that `tomllib` has
    accepted.
    """
    walker = _Walker(text)
    try:
        walker.walk()
    except (_LostError, RecursionError, ValueError):
        return walker.lines
    return walker.lines
