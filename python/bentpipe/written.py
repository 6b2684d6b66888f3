"""A lab's value as it is written in TOML: `true`, `[1, 2]`, `name = "cubic", beta = 0.5`."""

import json
from typing import Any


def written(value: Any) -> str:
    """The value for people: a text without quotes, a table without braces."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_inside(inner)}" for key, inner in value.items())
    return _inside(value)


def _inside(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {written(value)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_inside, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else str(value)
