"""A change: a value put over a dotted key of the lab, and where it comes from.

Sweeps, variants and `--set` are all made of these; what is wrong with one names its place.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import Any

from bentpipe.errors import LabError
from bentpipe.lab.errors import FaultError
from bentpipe.lab.keys import Document, Location, check_key
from bentpipe.words.faults import shown
from bentpipe.words.written import toml_value


@dataclass(frozen=True)
class Origin:
    """Where a value comes from: a place in the file, or an option of the command line (`where`, instead)."""

    location: Location = ()
    where: str = ""


@dataclass(frozen=True)
class Change:
    """A value for a dotted key."""

    key: str
    value: Any
    origin: Origin


@dataclass(frozen=True)
class Setting:
    """A value that was asked for over the lab, on the command line or in Python.

    Attributes:
        where: what a message calls it: `--set path.rtt=30`, `replace("path.rtt", ..)`.
        option: what it is on the command line.
        text: the value as it was typed.
    """

    where: str
    option: str
    key: str
    value: Any
    text: str

    @classmethod
    def typed(cls, text: str, option: str) -> Setting:
        """Of `key=value`. Raises LabError."""
        key, value = parse_set(text, option)
        return cls(option, option, key, value, text.partition("=")[2].strip())

    @classmethod
    def replacing(cls, key: str, value: Any) -> Setting:
        """Of a key and a plain value."""
        where = f'replace("{key}", {shown(value)})'
        written = toml_value(value)
        return cls(where, f"--set {key}={written}", key, value, written)


class ChangeError(Exception):
    """A fault in a change, with where the change comes from."""

    def __init__(self, fault: FaultError, origin: Origin) -> None:
        self.fault = fault
        self.origin = origin
        super().__init__(str(fault))


def fault(origin: Origin, key: str, found: str, remedy: str) -> ChangeError:
    """What is wrong with a change or a table of changes."""
    return ChangeError(FaultError(remedy, found=found, key=key), origin)


def known(key: str, base: Document, origin: Origin) -> None:
    """Raises `ChangeError` if the lab knows no such key."""
    try:
        check_key(key, base)
    except FaultError as wrong:
        raise ChangeError(FaultError(wrong.remedy, found=wrong.found, key=key), origin) from None


def set_of_changes(table: dict[str, Any], base: Document, location: Location) -> tuple[Change, ...]:
    """The changes of a table of dotted keys that stands at a place in the file. Raises `ChangeError`."""
    changes = []
    for key, value in table.items():
        origin = Origin((*location, key))
        known(key, base, origin)
        if key == "repeat":
            raise fault(origin, key, "repeat among changes", "expected any other key: repeats are not points")
        if isinstance(value, dict) and any("." in below for below in value) and "sysctl" not in key:
            raise fault(origin, key, shown(value), "expected each dotted key in quotes of its own")
        changes.append(Change(key, value, origin))
    return tuple(changes)


def parse_set(text: str, where: str) -> tuple[str, Any]:
    """Reads `key=value`. The value is read as TOML (`0.01`, `true`, `["a", "b"]`), and as plain text where
    it is not TOML.
    """
    key, equals, written = text.partition("=")
    key, written = key.strip(), written.strip()
    if not equals or not key or not written:
        raise LabError(where, "", shown(text), 'expected a key and a value, such as --set path.rtt="30 ms"')
    try:
        value = tomllib.loads(f"value = {written}")
    except (ValueError, RecursionError):
        return key, written
    return (key, value["value"]) if set(value) == {"value"} else (key, written)


def overlap(one: str, other: str) -> bool:
    """Whether one key is the other, or lies above it."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")
