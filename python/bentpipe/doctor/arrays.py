"""Arrays of a transfer's samples, and what is often asked of them. Unknown figures are NaN."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
_APART = 1 / 8
_MORE_SAMPLES = 3
_MOST_SAMPLES = 1000


def middle(values: Floats, where: Flags | None = None) -> float:
    """The median of what is known; NaN of nothing."""
    chosen = values if where is None else values[where]
    chosen = chosen[np.isfinite(chosen)]
    return float(np.median(chosen)) if chosen.size else float("nan")


def grown(values: Floats, connection: Places) -> Floats:
    """How much a counter grew since the sample before of its connection; 0 where not known."""
    if not values.size:
        return values
    steps = np.diff(values, prepend=values[:1])
    steps[np.diff(connection, prepend=connection[:1] - 1) != 0] = 0.0
    return np.nan_to_num(steps, nan=0.0)


def known_at_all(values: Floats) -> bool:
    return bool((~np.isnan(values)).any())


def stretches(where: Flags) -> list[tuple[int, int]]:
    """The stretches of samples that hold: the first of each, and the one after its last."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], where, [False])).astype(int)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def summed(values: Floats, time_s: Floats, connection: Places, *, counts: bool = False) -> Floats:
    """For each sample the sum over all connections at its time, 0 of one that is not open yet. `counts`: a
    counter keeps its last value afterwards, other figures are 0 then."""
    each = np.unique(connection)
    if each.size <= 1:
        return values
    total = np.zeros_like(time_s)
    for number in each:
        own = connection == number
        known = np.nan_to_num(values[own])
        total += np.interp(time_s, time_s[own], known, left=0.0, right=None if counts else 0.0)
    return total


def since(events_s: Floats, at_s: Floats) -> Floats:
    """How long before each of these times the latest event was; infinite before the first."""
    if not events_s.size:
        return np.full_like(at_s, np.inf)
    order = np.sort(events_s)
    last = np.searchsorted(order, at_s, side="right") - 1
    return np.where(last >= 0, at_s - order[np.maximum(last, 0)], np.inf)


def whole_round_trips(base_s: float, spacing_s: float, least_s: float) -> float:
    """About `least_s`, in whole round trips, since a window's packets come in bursts. It is the first of
    these within an eighth of whole samples, since nothing is known of the time between two; if none of up to
    twice `least_s` is, the shortest."""
    spacing_s = max(spacing_s, least_s / _MOST_SAMPLES)
    fewest = max(round(least_s / spacing_s), 1)
    samples = np.arange(fewest, 2 * fewest + _MORE_SAMPLES) * spacing_s
    lengths = np.maximum(np.round(samples / base_s), 1) * base_s
    fits = np.abs(lengths - samples) <= _APART * lengths
    return float(lengths[np.argmax(fits)])
