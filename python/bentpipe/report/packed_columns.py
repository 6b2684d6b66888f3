"""Lists of numbers as columns of integers. They are most of a page.

A column counts in units of some decimal place. Each value is stored as the difference to the one before, in
zigzag code, as a variable-length integer (LEB128). A curve that changes little takes about a byte a point
before it is compressed. Nothing is rounded here: a list that would change is not made a column.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PLACES = 13
"""Decimal places that are tried."""
_LARGEST = 2.0**40
"""JavaScript's numbers are exact to 2^53; a zigzag code takes a bit, and so does a difference."""
_POWERS = np.array([10.0**places for places in range(_PLACES)])
_NUMBERS = {int, float, type(None)}


def floats(values: Sequence[Any]) -> Floats | None:
    """The list as an array, with NaN where it has None. None: it has other things than numbers."""
    return np.array(values, dtype=np.float64) if set(map(type, values)) <= _NUMBERS else None


def codes(values: Floats) -> tuple[list[int], NDArray[np.uint64]] | None:
    """`[length, decimal places, whether it has gaps]`, and a code for each value. With gaps, 0 is a gap.

    None where the values have too many decimal places or are too large.
    """
    is_gap = np.isnan(values)
    has_gaps = bool(is_gap.any())
    known = values[~is_gap] if has_gaps else values
    if not (np.abs(known) < _LARGEST).all():
        return None
    found = _wholes(known)
    if found is None:
        return None
    places, whole = found
    wholes = whole.astype(np.int64)
    steps = wholes.copy()
    steps[1:] -= wholes[:-1]
    zigzag = ((steps << 1) ^ (steps >> 63)).astype(np.uint64)
    head = [values.size, places, int(has_gaps)]
    if not has_gaps:
        return head, zigzag
    with_gaps = np.zeros(values.size, dtype=np.uint64)
    with_gaps[~is_gap] = zigzag + np.uint64(1)
    return head, with_gaps


def _wholes(values: Floats) -> tuple[int, Floats] | None:
    """The fewest decimal places that give every value exactly, and the values in units of the last one."""
    for places, power in enumerate(_POWERS):
        whole = np.rint(values * power)
        if (whole / power == values).all():
            return (places, whole) if (np.abs(whole) < _LARGEST).all() else None
    return None


def leb128(found: NDArray[np.uint64]) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    rest, columns = found.copy(), []
    length = np.ones(found.size, dtype=np.intp)
    while True:
        columns.append((rest & np.uint64(127)).astype(np.uint8))
        rest >>= np.uint64(7)
        if not rest.any():
            break
        length += rest > 0
    table = np.stack(columns, axis=1)
    place = np.arange(table.shape[1])
    table |= np.where(place < length[:, None] - 1, 128, 0).astype(np.uint8)
    return table[place < length[:, None]].tobytes()
