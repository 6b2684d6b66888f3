"""A lab's value as it is written in TOML: `true`, `[1, 2]`, `name = "cubic", beta = 0.5`."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def written(value: Any) -> str:
    """The value for people: a text without quotes, a table without braces unless it is empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value:
        return ", ".join(f"{_key(key)} = {toml_value(inner)}" for key, inner in value.items())
    return toml_value(value)


def toml_value(value: Any) -> str:
    """The value on one line, as after `=` in a TOML file."""
    if isinstance(value, dict):
        return f"{{ {written(value)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, str | bool):
        # Of the characters that TOML does not allow, JSON escapes all but this one.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)


def toml(document: Mapping[str, Any]) -> str:
    """A TOML file of this document: keys of its own first, then a section for each table."""
    return "".join(f"{line}\n" for line in _lines(document))


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    sections = {key: value for key, value in document.items() if _is_sections(value)}
    yield from (f"{_key(key)} = {toml_value(of)}" for key, of in document.items() if key not in sections)
    for key, value in sections.items():
        head = f"[{_key(key)}]" if isinstance(value, dict) else f"[[{_key(key)}]]"
        for table in [value] if isinstance(value, dict) else value:
            yield from ("", head)
            yield from (f"{_key(inner)} = {toml_value(of)}" for inner, of in table.items())


def _is_sections(value: Any) -> bool:
    tables = isinstance(value, list) and value and all(isinstance(each, dict) for each in value)
    return bool(isinstance(value, dict) or tables)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else toml_value(key)
