"""The runs' parts of a page, packed so that the page stays small however many runs there are.

Runs stand in groups, each compressed as one: what they have alike (settings, axes of time, words) costs
little more than once, and opening a run unpacks one group only. What a group holds more than once, it holds
once and points at. The charts over time are drawn from as many points as the page's size allows.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PAGE_BYTES = 9_500_000
"""What a page may have: below 10 MB, with a little room."""
PIXELS = (900, 300, 120, 60, 30, 15, 0)
"""Widths for which charts over time may be thinned, the finest first; 0: they are left out."""
_GROUP_RUNS = 16
_SAMPLES, _NEIGHBOURS = 4, 8
SAMPLED_RUNS = _SAMPLES * _NEIGHBOURS
_POINT = "$"
_LONG_TEXT = 60
_LONG_LIST = 8

Part = Mapping[str, Any]


@dataclass(frozen=True)
class Packed:
    groups: tuple[str, ...]
    """Base64 of compressed JSON."""
    group_runs: int
    """How many runs a group holds, the last one excepted."""
    pixels: int
    """For which the charts over time are thinned."""

    @property
    def thinned(self) -> bool:
        return self.pixels < PIXELS[0]


def packed_runs(count: int, part: Callable[[int, int], Part], most_bytes: int) -> Packed:
    """`part(run's number, pixels)` of every run, at the finest width that keeps them below `most_bytes`."""
    for pixels in PIXELS[:-1]:
        if _sampled_bytes(count, part, pixels) > most_bytes:
            continue
        groups = [pack(parts) for parts in _grouped(range(count), part, pixels)]
        if sum(map(len, groups)) <= most_bytes:  # else the sample did not stand for all
            return Packed(tuple(groups), _GROUP_RUNS, pixels)
    groups = [pack(parts) for parts in _grouped(range(count), part, PIXELS[-1])]
    return Packed(tuple(groups), _GROUP_RUNS, PIXELS[-1])


def pack(value: Any) -> str:
    """As the page's script unpacks it."""
    pool: dict[str, int] = {}
    held: list[Any] = []

    def pooled(of: Any) -> Any:
        if isinstance(of, Mapping):
            return {key: pooled(inner) for key, inner in of.items()}
        is_text = isinstance(of, str)
        if isinstance(of, (list, tuple)) and not (len(of) >= _LONG_LIST and all(map(_is_plain, of))):
            return [pooled(inner) for inner in of]
        if not isinstance(of, (list, tuple)) and not (is_text and len(of) >= _LONG_TEXT):
            return of
        number = pool.setdefault(_json(of), len(held))
        if number == len(held):
            held.append(of)
        return {_POINT: number}

    found = pooled(value)
    return b64encode(zlib.compress(_json([found, held]).encode(), 9)).decode()


def _sampled_bytes(count: int, part: Callable[[int, int], Part], pixels: int) -> float:
    """What all runs come to, judged by some neighbours here and there among them."""
    if count <= SAMPLED_RUNS:
        return sum(len(pack(parts)) for parts in _grouped(range(count), part, pixels))
    starts = [(count - _NEIGHBOURS) * at // (_SAMPLES - 1) for at in range(_SAMPLES)]
    found = [[part(start + n, pixels) for n in range(_NEIGHBOURS)] for start in starts]
    return sum(len(pack(parts)) for parts in found) * count / SAMPLED_RUNS


def _grouped(numbers: Sequence[int], part: Callable[[int, int], Part], pixels: int) -> Iterator[list[Part]]:
    for start in range(0, len(numbers), _GROUP_RUNS):
        yield [part(number, pixels) for number in numbers[start : start + _GROUP_RUNS]]


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (int, float, str))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
