"""Packs the runs' parts of a page, so the page stays small with many runs.

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

import numpy as np
from numpy.typing import NDArray

from bentpipe.report.packed_columns import codes, floats, leb128

PAGE_BYTES = 4_900_000
"""What a page may have: below 5 MB, with a little room."""
PIXELS = (900, 600, 450, 300, 200, 120, 60, 30, 15, 0)
"""Widths for which charts over time may be thinned, the finest first; 0: they are left out."""
_GROUP_RUNS = 16
_SAMPLES, _NEIGHBOURS = 4, 8
SAMPLED_RUNS = _SAMPLES * _NEIGHBOURS
_POINT, _COLUMN = "$", "#"
_NONE = np.empty(0, dtype=np.uint64)
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


def blank(count: int) -> Packed:
    """The groups of so many runs without the runs, for the length of the rest of the page and its notes."""
    return Packed(("",) * len(_groups(count)), _GROUP_RUNS, PIXELS[1])


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
    """As the page's script unpacks it: JSON, a line feed, and the columns of numbers (packed_columns.py)."""
    pool = _Pool()
    found = _json(pool.of(value))
    text = f"[{found},[{','.join(pool.held)}]]\n".encode()
    return deflated(text + leb128(np.concatenate([_NONE, *pool.columns])))


def deflated(content: bytes) -> str:
    """A zlib stream in base64."""
    return b64encode(zlib.compress(content, 9)).decode()


class _Pool:
    """Long texts and lists of plain values, each held once."""

    def __init__(self) -> None:
        self.held: list[str] = []
        """JSON; of a column, its head."""
        self.columns: list[NDArray[np.uint64]] = []
        self._places: dict[str | bytes, int] = {}
        self._seen: dict[int, int] = {}

    def of(self, value: Any) -> Any:
        """The same, with references to what is held."""
        kind = type(value)  # asked some hundred times for each run: `isinstance` takes twice as long
        if kind is str:
            return value if len(value) < _LONG_TEXT else self._reference(value)
        if kind is dict:
            return {key: self.of(inner) for key, inner in value.items()}
        if kind is not list and kind is not tuple:
            return value
        if len(value) >= _LONG_LIST and _are_plain(value):
            return self._reference(value)
        return [self.of(inner) for inner in value]

    def _reference(self, value: Any) -> dict[str, int]:
        if id(value) not in self._seen:  # what is packed holds it, so that nothing else takes its id
            self._seen[id(value)] = self._place(value)
        return {_POINT: self._seen[id(value)]}

    def _place(self, value: Any) -> int:
        array = None if isinstance(value, str) else floats(value)
        key = _json(value) if array is None else array.tobytes()
        if key not in self._places:
            self._places[key] = len(self.held)
            packed = None if array is None else codes(array)
            if packed:
                self.columns.append(packed[1])
            self.held.append(_json({_COLUMN: packed[0]} if packed else value))
        return self._places[key]


def _groups(count: int) -> list[range]:
    return [range(start, min(start + _GROUP_RUNS, count)) for start in range(0, count, _GROUP_RUNS)]


def _group(part: Draw, pixels: int, numbers: Sequence[int]) -> str:
    return pack([part(number, pixels) for number in numbers])


def _size(part: Draw, pixels: int, numbers: Sequence[int]) -> int:
    return len(_group(part, pixels, numbers))


def _are_plain(values: Sequence[Any]) -> bool:
    return all(issubclass(kind, _PLAIN) for kind in set(map(type, values)))


_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
