"""Figures as a reader wants them: three digits and the unit that fits, never on two lines."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bentpipe.words.digits import digits
from bentpipe.words.printable import printable
from bentpipe.words.written import written

_NO_BREAK = "\N{NO-BREAK SPACE}"


def rate(bit_s: float) -> str:
    return _scaled(bit_s, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"))


def size(count: float) -> str:
    return _scaled(count, ("B", "kB", "MB", "GB"))


def duration(seconds: float) -> str:
    if abs(seconds) >= 1 or seconds == 0:
        return f"{digits(seconds)}{_NO_BREAK}s"
    if abs(seconds) >= 1e-3:
        return f"{digits(seconds * 1e3)}{_NO_BREAK}ms"
    if abs(seconds) < 5e-7:
        return f"{digits(seconds * 1e9)}{_NO_BREAK}ns"
    return (
        f"{digits(seconds * 1e6)}{_NO_BREAK}µs"
        if abs(seconds) < 5e-4
        else f"{digits(seconds * 1e3)}{_NO_BREAK}ms"
    )


def percent(share: float) -> str:
    return f"{digits(share * 100, 2)}{_NO_BREAK}%"


TOO_WIDE = "too wide"
TOO_WIDE_NOTE = "Too wide: its ends are a factor of 1000 or more apart; more repeats narrow it."
_TOO_WIDE = 1000.0


def ratio_interval(low: float, high: float) -> str:
    """An interval of a ratio. One that says nothing has no digits: a few pairs give ends far apart."""
    return TOO_WIDE if is_too_wide(low, high) else f"{digits(low)}–{digits(high)}"


def is_too_wide(low: float, high: float) -> bool:
    """Whether an interval of a ratio says nothing."""
    return low > 0 and high / low >= _TOO_WIDE


_UNITS = r"%|percentage points|times\b|[kMG]?bit/s|[kMG]?B\b|[mµn]?s\b"
_BEFORE_A_UNIT = re.compile(rf"(?<=\d) (?={_UNITS})")


def unbroken(words: str) -> str:
    """The sentence with no end of a line between a figure and its unit."""
    return _BEFORE_A_UNIT.sub(_NO_BREAK, words)


def plural(count: int, noun: str) -> str:
    return f"{digits(count, 12)} {noun}{'' if count == 1 else 's'}"


def listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def point_words(point: Mapping[str, Any]) -> list[str]:
    """A point in words: a key's last word with its value; of a named axis the value says it all."""
    names = short_names(list(point))
    return [value(of) if "." not in key else f"{names[key]} {value(of)}" for key, of in point.items()]


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """A dotted key's last word, or the whole key where two would be the same; a named axis in words."""
    last = [printable(key.rpartition(".")[2].replace("_", " ")) for key in keys]
    return {
        key: word if last.count(word) == 1 else printable(key) for key, word in zip(keys, last, strict=True)
    }


def slug(words: str) -> str:
    """As part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def value(of: Any) -> str:
    """A swept value as the lab has it."""
    return printable(written(of))


def _scaled(value: float, units: tuple[str, ...]) -> str:
    step = 0
    while abs(value) >= 999.5 and step < len(units) - 1:
        value /= 1000
        step += 1
    return f"{digits(value)}{_NO_BREAK}{units[step]}"
