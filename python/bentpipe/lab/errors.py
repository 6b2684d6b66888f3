"""What is said of a wrong lab: one message with the place, the key, what was found and what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from bentpipe.errors import BentpipeError


class LabError(BentpipeError):
    """A lab, or a change asked of it, that cannot be run as it stands. `str()` is the whole message for the
    user.

    Attributes:
        where: file and line (`labs/geo.toml:12`), or the option that asked for it (`--set path.rtt=30`).
        key: dotted key of the lab, or "" where the fault is not in one.
        found: what stands there.
        remedy: what was expected.
    """

    def __init__(self, where: str, key: str, found: str, remedy: str) -> None:
        self.where = where
        self.key = key
        self.found = found
        self.remedy = remedy
        place = f"{where}: {key}" if key else where
        super().__init__(f"{place}: found {found}; {remedy}")


class FaultError(ValueError):
    """A value that will not do, raised where only the value is known; whoever knows its place makes a
    `LabError`.

    Attributes:
        found: what stands there, or None to show the value itself.
        remedy: what was expected.
        key: where below the checked value the fault lies ("" for the value itself).
    """

    def __init__(self, remedy: str, *, found: str | None = None, key: str = "") -> None:
        self.remedy = remedy
        self.found = found
        self.key = key
        super().__init__(remedy)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, or None where none is much like it."""
    choices = sorted(known)
    by_folded = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.5)
    return by_folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """The beginning of a remedy for a name that is not known: a question, or "" where nothing is like it."""
    near = nearest(word, known)
    return f'did you mean "{prefix}{near}"? ' if near else ""


def shown(value: object) -> str:
    """A TOML value as a message shows it, shortened to a line."""
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        escaped = value.encode("unicode_escape").decode("ascii") if not value.isprintable() else value
        text = f'"{escaped}"'
    elif isinstance(value, list):
        text = f"[{', '.join(shown(item) for item in value[:8])}{', ...' if len(value) > 8 else ''}]"
    elif isinstance(value, dict):
        text = f"a table with {', '.join(str(key) for key in value)}" if value else "an empty table"
    else:
        text = str(value)
    return text if len(text) <= 100 else text[:97] + "..."
