"""Numbers, texts and axes in the form that plotly.js needs."""

import html
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bentpipe.charts.ranges import Range

_DIGITS = 5
_FEW = 40
"""Values that are written one by one sooner than together."""
_POWERS = np.array([10.0**power for power in range(23)])
"""Those that a float holds exactly."""


def plain(text: str) -> str:
    """plotly.js reads some HTML in its texts; ours has none."""
    return html.escape(text, quote=False)


def short(value: float | None) -> float | None:
    """Five significant digits: finer than any screen, half the page's size."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{_DIGITS}g}")


def shorts(values: NDArray[np.float64]) -> list[float | None]:
    """The same of each. The integer of five digits and the power of ten are exact, so their quotient is the
    float nearest to the decimal; what lies about between two decimals is left to the exact way."""
    if values.size < _FEW:
        return [short(value) for value in values.tolist()]
    with np.errstate(all="ignore"):
        power = _DIGITS - 1 - np.floor(np.log10(np.abs(values)))
        is_plain = np.isfinite(power) & (np.abs(power) < _POWERS.size)
        power = np.where(is_plain, power, 0).astype(np.intp)
        up, down = _POWERS[np.maximum(power, 0)], _POWERS[np.maximum(-power, 0)]
        scaled = values * up / down
        found = np.rint(scaled) / up * down
        is_between = np.abs(np.abs(scaled - np.trunc(scaled)) - 0.5) < 1e-4
    listed: list[float | None] = found.tolist()
    for at in np.flatnonzero(~is_plain | is_between).tolist():
        listed[at] = short(float(values[at]))
    return listed


def levels(values: NDArray[np.float64]) -> list[float | None]:
    """Each to five significant digits of the largest one: on a linear axis finer than a screen."""
    size = np.abs(values)
    top = float(np.max(size, where=np.isfinite(size), initial=0.0))
    if top == 0.0:
        return shorts(values)
    listed: list[float | None] = np.round(values, _DIGITS - 1 - math.floor(math.log10(top))).tolist()
    for at in np.flatnonzero(~np.isfinite(values)).tolist():
        listed[at] = None
    return listed


def scale(found: Range, log: bool) -> dict[str, Any]:
    """An axis of that range."""
    if log:
        return {"type": "log", "range": [short(math.log10(end)) for end in found], "dtick": 1}
    return {"type": "linear", "range": [short(end) for end in found]}
