"""Fewer points for the same picture: of each pixel's width the first, lowest, highest and last are kept.

After U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation" (VLDB 2014): drawn
as a line at that width, the result covers the same pixels, so no peak is lost.

NaN is a gap.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]


def indices(y: Floats, width: int) -> Places:
    """Which points to keep, in order. All of them where there are not many more than the width can show."""
    count = y.size
    if count <= 4 * width:
        return np.arange(count)
    starts = _starts(count, width)
    lowest, highest = _extremes(y, starts, last=False)
    is_gap = np.isnan(y)
    begins = is_gap & ~np.concatenate(([False], is_gap[:-1]))
    begins[starts] |= is_gap[starts]
    ends = np.append(starts[1:], count) - 1
    return np.unique(np.concatenate((starts, ends, np.flatnonzero(begins), lowest, highest)))


def envelope(x: Floats, y: Floats, width: int) -> tuple[Floats, Floats]:
    """Two points for each pixel's width, its lowest and its highest in their order, at its first x and at its
    middle one: so a peak is at most a pixel from its place, and curves over the same x still share it.

    Coarser than `indices`, and half of it. A gap narrower than a pixel is closed.
    """
    count = y.size
    if count <= 2 * width:
        return x, y
    starts = _starts(count, width)
    middles = (starts + np.append(starts[1:], count)) // 2
    lowest, highest = _extremes(y, starts, last=True)
    is_known = np.add.reduceat(~np.isnan(y), starts) > 0
    first, second = np.full(width, np.nan), np.full(width, np.nan)
    first[is_known] = y[np.minimum(lowest, highest)]
    second[is_known] = y[np.maximum(lowest, highest)]
    return np.stack((x[starts], x[middles]), 1).ravel(), np.stack((first, second), 1).ravel()


def _starts(count: int, width: int) -> Places:
    """Of each pixel, its first point."""
    return np.arange(width) * count // width


def _extremes(y: Floats, starts: Places, *, last: bool) -> tuple[Places, Places]:
    """Of each pixel that has a known value, the place of its lowest, and of its highest; of several highest
    ones the last, or else the first."""
    is_gap = np.isnan(y)
    pixels = np.repeat(np.arange(starts.size), np.diff(np.append(starts, y.size)))
    low = np.minimum.reduceat(np.where(is_gap, np.inf, y), starts)
    high = np.maximum.reduceat(np.where(is_gap, -np.inf, y), starts)
    lowest = np.flatnonzero(~is_gap & (y == low[pixels]))
    highest = np.flatnonzero(~is_gap & (y == high[pixels]))
    _, at = np.unique(pixels[lowest], return_index=True)
    if last:
        _, from_end = np.unique(pixels[highest][::-1], return_index=True)
        return lowest[at], highest[::-1][from_end]
    _, of_highest = np.unique(pixels[highest], return_index=True)
    return lowest[at], highest[of_highest]
