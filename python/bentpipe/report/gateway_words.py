"""One sentence on the gateways of some runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bentpipe.words.digits import digits
from bentpipe.words.wording import percent, plural, size

_FIGURES: tuple[tuple[str, str, Callable[[Mapping[str, Any], Mapping[str, Any]], float | None]], ...] = (
    ("connections", "count", lambda near, _: near.get("connections")),
    ("given to clients", "size", lambda near, _: near.get("delivered_bytes")),
    ("to servers", "size", lambda _, far: far.get("delivered_bytes")),
    ("repairs per packet down", "share", lambda _, far: _share(far, "repairs")),
    ("packets sent again down", "share", lambda _, far: _share(far, "exact_repairs")),
)
_SHOWN: Mapping[str, Callable[[float], str]] = {"count": digits, "size": size, "share": percent}


def _share(of: Mapping[str, Any], key: str) -> float | None:
    packets = of.get("packets")
    return of.get(key, 0) / packets if packets else None


def sentence(records: Sequence[Mapping[str, Any]]) -> str:
    """Of several runs the least and the greatest. Empty: there are no gateways."""
    found = [gateway for record in records if (gateway := record.get("gateway"))]
    if not found:
        return ""
    parts = []
    for words, kind, figure in _FIGURES:
        values = [figure(of.get("near", {}), of.get("far", {})) for of in found]
        known = [value for value in values if value is not None]
        if known:
            spans = dict.fromkeys((_SHOWN[kind](min(known)), _SHOWN[kind](max(known))))
            parts.append(f"{words} {' to '.join(spans)}")
    of = f"Gateways of {plural(len(found), 'run')}" if len(found) > 1 else "Gateways"
    return f"{of}: {', '.join(parts)}." if parts else ""
