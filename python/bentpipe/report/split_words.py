"""One sentence on the proxies that split TCP in some runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bentpipe.words.digits import digits
from bentpipe.words.wording import plural, size

_FIGURES: tuple[tuple[str, str, str, Callable[[float], str]], ...] = (
    ("connections", "near", "connections", digits),
    ("passed down", "near", "down_bytes", size),
    ("up", "far", "up_bytes", size),
    ("held at far at most", "far", "buffered_bytes_max", size),
    ("at near", "near", "buffered_bytes_max", size),
)


def sentence(records: Sequence[Mapping[str, Any]]) -> str:
    """Of several runs the least and the greatest. Empty: TCP is not split."""
    found = [split for record in records if (split := record.get("split"))]
    if not found:
        return ""
    parts = []
    for words, host, key, shown in _FIGURES:
        values = [value for split in found if (value := split.get(host, {}).get(key)) is not None]
        if values:
            spans = dict.fromkeys((shown(min(values)), shown(max(values))))
            parts.append(f"{words} {' to '.join(spans)}")
    of = f"Split of {plural(len(found), 'run')}" if len(found) > 1 else "Split"
    return f"{of}: {', '.join(parts)}." if parts else ""
