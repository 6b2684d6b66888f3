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


def envelope(
    x: Sequence[float], y: Sequence[float | None], width: int
) -> tuple[list[float], list[float | None]]:
    """Two points for each pixel's width, its lowest and its highest in their order, at its first x and at its
    middle one: so a peak is at most a pixel from its place, and curves over the same x still share it.

    Coarser than `indices`, and half of it. A gap narrower than a pixel is closed.
    """
    count = len(y)
    if count <= 2 * width:
        return list(x), list(y)
    kept: list[tuple[float, float | None]] = []
    for pixel in range(width):
        start, end = pixel * count // width, (pixel + 1) * count // width
        known = [(value, i) for i in range(start, end) if (value := y[i]) is not None]
        ends = sorted((min(known), max(known)), key=lambda found: found[1]) if known else []
        places = (x[start], x[(start + end) // 2])
        kept += zip(places, [value for value, _ in ends] or (None, None), strict=True)
    return [place for place, _ in kept], [value for _, value in kept]
