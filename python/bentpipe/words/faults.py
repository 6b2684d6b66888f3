"""How messages show a found value, and suggest what may have been meant."""

from __future__ import annotations

from collections.abc import Iterable

_LIKE = 0.55
"""The smallest similarity of two words (0 to 1): 0.5 finds "until" for "tunnel"."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like this one, or None where none is much like it."""
    import difflib  # noqa: PLC0415 - only a fault needs it

    choices = sorted(known)
    by_folded = {choice.lower(): choice for choice in choices}
    close = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=_LIKE)
    return by_folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """The beginning of a remedy for a name that is not known: a question, or "" where nothing is like it."""
    near = nearest(word, known)
    return f'did you mean "{prefix}{near}"? ' if near else ""


def listed(names: Iterable[str]) -> str:
    """Names in one line, with commas between them; those that have a comma themselves are in quotes."""
    return ", ".join(f'"{name}"' if "," in name else name for name in names)


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
