"""One test of another program, in the terms of a run."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bentpipe.interchange.foreign import LONGEST_S

Row = dict[str, Any]


@dataclass(frozen=True)
class Exported:
    """What a file that bentpipe exported says of the run that it was."""

    lab: str
    title: str | None
    variant: str
    point: Mapping[str, Any]
    seed: int


@dataclass
class Imported:
    """One test. Tables' rows have the columns that are known; the others are null."""

    tool: str
    version: str | None
    test: str
    """What tells this test from every other, whichever of its ends wrote the file."""
    text: str
    """The file's own, whole."""
    title: str | None = None
    host: str | None = None
    """With whom the test was."""
    local_host: str | None = None
    started: datetime.datetime | None = None
    kernel: str | None = None
    sysctl: dict[str, str] = field(default_factory=dict)
    """As it stood where the file was written."""
    entries: dict[str, Row] = field(default_factory=dict)
    """By workload, as in a run's record."""
    asked: list[Row] = field(default_factory=list)
    """What was asked of each workload, in plain numbers, as in a record's spec."""
    flows: list[Row] = field(default_factory=list)
    pings: list[Row] = field(default_factory=list)
    sockets: list[Row] = field(default_factory=list)
    pipes: dict[str, Row] = field(default_factory=dict)
    queue: dict[str, Row] = field(default_factory=dict)
    path: Row = field(default_factory=dict)
    """What is known of the path's own figures and settings, as in a record."""
    failed: bool = False
    why: list[str] = field(default_factory=list)
    """What went wrong; empty: nothing."""
    not_taken: list[str] = field(default_factory=list)
    """What the file has and a run has no place for, but in the table `tools`."""
    exported: Exported | None = None


def mbit_s(carried: float | None, seconds: float | None) -> float | None:
    """Of bytes; None where there was no time to speak of."""
    return carried * 8 / seconds / 1e6 if carried is not None and seconds and seconds >= _LEAST_S else None


def spread_over_seconds(pieces: list[tuple[float, float, float]]) -> list[float]:
    """Mbit/s of each second, from what was carried in pieces of time: (start_s, seconds, bytes), in order.

    Pieces of about a second are taken as they are; others are shared out over the seconds that they touch, a
    last second that is not half there being left out. Where most are longer, nothing is known by the second.
    """
    whole = [piece for piece in pieces if piece[1] >= _TOO_SHORT_S]
    if all(abs(seconds - 1) <= _NEARLY for _, seconds, _ in whole[:-1]) and len(whole) > 1:
        return [carried * 8e-6 / seconds for _, seconds, carried in whole]
    lengths = sorted(seconds for _, seconds, _ in whole)
    if not whole or lengths[len(lengths) // 2] > 1 + _NEARLY or lengths[-1] > _RARELY_S:
        return []
    zero = whole[0][0]
    length = max(start + seconds for start, seconds, _ in whole) - zero
    if length > LONGEST_S:
        return []
    carried_in = [0.0] * max(round(length), 1)
    for start, seconds, carried in whole:
        first, last = start - zero, start - zero + seconds
        for second in range(max(int(first), 0), min(int(last) + 1, len(carried_in))):
            overlap = min(last, second + 1) - max(first, second)
            carried_in[second] += carried * max(overlap, 0.0) / seconds
    covered = [min(length - second, 1.0) for second in range(len(carried_in))]
    return [carried * 8e-6 / part for carried, part in zip(carried_in, covered, strict=True)]


_TOO_SHORT_S = 0.05
"""The last interval may be a few microseconds long; its rate says nothing."""
_NEARLY = 0.1
_RARELY_S = 10.0
_LEAST_S = 1e-6
