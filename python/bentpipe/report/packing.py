"""The runs' parts of a page, packed so that the page stays small however many runs there are.

Runs stand in groups, each compressed as one: what they have alike (settings, axes of time, words) costs
little more than once, and opening a run unpacks one group only. What a group holds more than once, it holds
once and points at. The charts over time are drawn from as many points as the page's size allows.
"""

import json
import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
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
_PLAIN = (int, float, str, type(None))

Part = Mapping[str, Any]
Draw = Callable[[int, int], Part]
Map = Callable[[Callable[[Sequence[int]], Any], Sequence[Sequence[int]]], Iterable[Any]]


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


def packed_runs(
    count: int,
    part: Draw,
    most_bytes: int,
    mapped: Map = map,
    told: Callable[[int], None] = lambda _runs: None,
) -> Packed:
    """`part(run's number, pixels)` of every run, at the finest width that keeps them below `most_bytes`.

    `mapped` applies a function to each of several groups; `told` hears how many more runs are packed.
    """
    for pixels in _widths(count, part, most_bytes, mapped):
        told(0)
        groups = []
        for numbers, packed in zip(
            _groups(count), mapped(partial(_group, part, pixels), _groups(count)), strict=True
        ):
            groups.append(packed)
            told(len(numbers))
        if pixels == PIXELS[-1] or sum(map(len, groups)) <= most_bytes:
            return Packed(tuple(groups), _GROUP_RUNS, pixels)
        told(-count)  # the sample did not stand for all
    raise AssertionError("the last width has no limit")


def _widths(count: int, part: Draw, most_bytes: int, mapped: Map) -> Iterator[int]:
    """Those at which the runs may have room, the finest first; of many runs judged by a sample."""
    if count <= SAMPLED_RUNS:
        yield from PIXELS
        return
    starts = [(count - _NEIGHBOURS) * at // (_SAMPLES - 1) for at in range(_SAMPLES)]
    samples = [range(start, start + _NEIGHBOURS) for start in starts]
    for pixels in PIXELS:
        if (
            pixels == PIXELS[-1]
            or sum(mapped(partial(_size, part, pixels), samples)) * count / SAMPLED_RUNS <= most_bytes
        ):
            yield pixels


def pack(value: Any) -> str:
    """As the page's script unpacks it."""
    pool: dict[str, int] = {}
    seen: dict[int, int] = {}

    def pooled(of: Any) -> Any:
        if isinstance(of, Mapping):
            return {key: pooled(inner) for key, inner in of.items()}
        is_text = isinstance(of, str)
        if isinstance(of, (list, tuple)) and not (len(of) >= _LONG_LIST and _are_plain(of)):
            return [pooled(inner) for inner in of]
        if not isinstance(of, (list, tuple)) and not (is_text and len(of) >= _LONG_TEXT):
            return of
        if id(of) not in seen:  # `value` holds it, so that nothing else takes its id
            seen[id(of)] = pool.setdefault(_json(of), len(pool))
        return {_POINT: seen[id(of)]}

    found = _json(pooled(value))
    return b64encode(zlib.compress(f"[{found},[{','.join(pool)}]]".encode(), 9)).decode()


def _groups(count: int) -> list[range]:
    return [range(start, min(start + _GROUP_RUNS, count)) for start in range(0, count, _GROUP_RUNS)]


def _group(part: Draw, pixels: int, numbers: Sequence[int]) -> str:
    return pack([part(number, pixels) for number in numbers])


def _size(part: Draw, pixels: int, numbers: Sequence[int]) -> int:
    return len(_group(part, pixels, numbers))


def _are_plain(values: Sequence[Any]) -> bool:
    return all(issubclass(kind, _PLAIN) for kind in set(map(type, values)))


_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
