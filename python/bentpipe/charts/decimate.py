"""Fewer points for the same picture: of each pixel's width the first, lowest, highest and last are kept.

After U. Jugel et al., "M4: A Visualization-Oriented Time Series Data Aggregation" (VLDB 2014): drawn
as a line at that width, the result covers the same pixels, so no peak is lost.
"""

from collections.abc import Sequence


def indices(y: Sequence[float | None], width: int) -> list[int]:
    """Which points to keep, in order. All of them where there are not many more than the width can show."""
    count = len(y)
    if count <= 4 * width:
        return list(range(count))
    kept: set[int] = set()
    for pixel in range(width):
        start, end = pixel * count // width, (pixel + 1) * count // width
        known = [i for i in range(start, end) if y[i] is not None]
        kept.update((start, end - 1))
        kept.update(i for i in range(start, end) if y[i] is None and (i == start or y[i - 1] is not None))
        if known:
            kept.add(min(known, key=lambda i: y[i] or 0.0))
            kept.add(max(known, key=lambda i: y[i] or 0.0))
    return sorted(kept)
