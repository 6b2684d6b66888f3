"""Numbers, texts and axes as plotly.js wants them."""

import html
import math
from typing import Any

from bentpipe.charts.ranges import Range


def plain(text: str) -> str:
    """plotly.js reads some HTML in its texts; ours has none."""
    return html.escape(text, quote=False)


def short(value: float | None) -> float | None:
    """Five significant digits: finer than any screen, half the page's size."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")


def scale(found: Range, log: bool) -> dict[str, Any]:
    """An axis of that range."""
    if log:
        return {"type": "log", "range": [short(math.log10(end)) for end in found], "dtick": 1}
    return {"type": "linear", "range": [short(end) for end in found]}
