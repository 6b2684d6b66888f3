"""One sentence on the tunnels of some runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bentpipe.words.wording import duration, percent, plural

_FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("repairs sent", "redundancy_sent", percent),
    ("used", "redundancy_used", percent),
    ("useless", "redundancy_useless", percent),
    ("lost for good", "residual_loss", percent),
    ("delay of recovered packets, median", "decoding_delay_s_p50", duration),
    ("p95", "decoding_delay_s_p95", duration),
)


def sentence(records: Sequence[Mapping[str, Any]]) -> str:
    """Of the direction that carried more; of several runs the least and the greatest. Empty: no tunnel."""
    runs = [tunnel for record in records if (tunnel := record.get("tunnel"))]
    found = [max(tunnel.values(), key=lambda of: of.get("inner_bytes") or 0) for tunnel in runs if tunnel]
    if not found:
        return ""
    parts = []
    for words, key, shown in _FIGURES:
        values = [entry[key] for entry in found if entry.get(key) is not None]
        if values:
            spans = dict.fromkeys((shown(min(values)), shown(max(values))))
            parts.append(f"{words} {' to '.join(spans)}")
    of = f"Tunnel of {plural(len(found), 'run')}" if len(found) > 1 else "Tunnel"
    return f"{of}, per packet: {', '.join(parts)}." if parts else ""
