"""Which way the packets wait: that of the payload, or that of the acknowledgements.

A queue that stands serves at a constant rate, whatever goes through it. Where the payload waits, payload
arrives at a constant rate; how many acknowledgements come for it changes with losses, delayed ACKs and
offloads. Where the ACKs wait, they arrive at a constant rate, and how much payload each stands for changes
with what is in flight. So the queue is on the way whose rate is the constant one.

The rates are compared over windows within which a queue stands throughout: a round trip, 0.2 s or 40
segments (20 where that gives fewer than five windows), whichever is longest. Their spread is that between
the first and the ninth tenth. A count of segments in a window is exact to two.

A queue's rate is constant to a tenth, or to what counting does. Where the ACKs' rate is as constant as they
can be counted, a payload rate that varies by three times as much and by 1 % is enough.

A receiver does not see which of its ACKs arrive. There the payload's rate alone counts: of a queue on its
way it would be constant, and a path whose own rate varies looks the same. Where no segment came late, 4 %
are enough. Behind a queue of its own payload comes at the same rate from one window to the next, to 0.1 % or
what counting does, also where the path's rate is another one after a while. ACKs hardly ever release it so
evenly. It also sees that payload came sooner than a queue of that rate would let it:
the first window of a transfer mostly does, where its ACKs wait. Another's traffic through that queue would
look the same.
"""

from dataclasses import dataclass

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, Places, stretches, summed

_LEAST_S = 0.2
_LEAST_SEGMENTS = (40, 20)
"""Of a window. The second where the first gives too few windows, as over slow paths."""
_LEAST_WINDOWS = (5, 4)
_EXACT_SEGMENTS = 2
_ONE_SEGMENT = 1.05
STEADY = 0.1
"""How much a queue's rate is allowed to vary: others use it too."""
_OF_THE_PAYLOADS = 0.5
_AS_COUNTED = 2.0
_TIMES_COUNTED = 3.0
_LEAST_SPREAD = 0.01
"""Less than this varies behind a queue too, as link layers and offloads make it."""
_LEAST_AT_RECEIVER = 0.04
_EVEN = 0.001
_CONSTANT = 0.01
_EVEN_COUNTED = 0.04
_ALIKE = 0.75
_DRIFTS, _SLOWLY = 0.5, 0.2
_OF_THE_COUNT = 0.6
_LONGER = 3
_LEFT = 2.0
_SOONER_SAMPLES = (1, 2, 3, 4, 6, 8)
_SOONER_SEGMENTS = 4
_SOONER_S = 0.02
_SOONER_OF_BASE = 0.25
"""Paths that deliver in bunches, as radio does, and jitter make packets early by less."""


@dataclass(frozen=True)
class Spreads:
    """How much rates differed from window to window while a queue stood: 0 is not at all."""

    payload: float
    acks: float | None
    """None: not seen at this end."""
    exact: float
    """What counting whole segments does by itself."""
    nothing_late: bool = False
    """Whether no segment was lost or came late, as behind a queue that never overflowed."""

    lasting: float = np.inf
    """How much of the payload's may be more than jitter."""
    local: float = np.inf
    """By how much the payload's rate differed from one window to the next, in the median."""

    alike: float = 0.0
    """Share of the windows that had as many segments as the one before, to one."""

    @property
    def served_evenly(self) -> bool:
        """Whether payload came at the same rate throughout, or at least from one window to the next."""
        if self.alike >= _ALIKE:
            return True
        by_window = self.local <= max(_OF_THE_COUNT * self.exact, _EVEN)
        return self.exact <= _EVEN_COUNTED and (by_window or self.payload <= _CONSTANT)

    @property
    def waits_on_return(self) -> bool:
        """Whether the queue is on the ACKs' way."""
        if self.acks is not None and self.acks <= _AS_COUNTED * self.exact:
            # The ACKs' rate is as constant as whole segments can be counted; there are about half as many.
            least = max(_TIMES_COUNTED * max(self.acks, self.exact), _LEAST_SPREAD)
            if self.payload >= least:
                return True
        if self.acks is None and self.nothing_late:
            least = max(_TIMES_COUNTED * self.exact, _LEAST_AT_RECEIVER)
            if self.payload <= STEADY + self.exact:
                return min(self.payload, self.lasting) >= least
        if self.payload <= STEADY + self.exact:
            return False
        if self.acks is None:
            return True
        return self.acks <= min(_OF_THE_PAYLOADS * self.payload, STEADY + self.exact)


def spreads(
    *,
    time_s: Floats,
    connection: Places,
    segments: Floats,
    acks: Floats | None,
    standing: Flags,
    base_s: float,
    nothing_late: bool,
) -> Spreads | None:
    """`segments` and `acks` are counters; those of all connections count, which share a queue. None: no queue
    stood long enough to tell."""
    segments = summed(segments, time_s, connection, counts=True)
    returned_at = np.zeros_like(time_s) if acks is None else summed(acks, time_s, connection, counts=True)
    numbers, sizes = np.unique(connection, return_counts=True)
    own = connection == numbers[np.argmax(sizes)]
    for least, enough in zip(_LEAST_SEGMENTS, _LEAST_WINDOWS, strict=True):
        found = _windows(
            time_s[own],
            segments[own],
            returned_at[own],
            standing[own],
            least_s=max(base_s, _LEAST_S),
            least_segments=least,
        )
        if len(found) >= enough:
            payload, returned, counts = np.array(found).T
            exact = _EXACT_SEGMENTS / float(np.median(counts)) if np.median(counts) > 0 else 1.0
            return Spreads(
                _spread(payload),
                None if acks is None else _spread(returned),
                exact,
                nothing_late,
                _lasting(payload),
                _local(payload),
                _alike(payload, counts),
            )
    return None


def sooner_s(*, time_s: Floats, segments: Floats, per_s: float, base_s: float) -> float:
    """By how much segments came sooner at most than a queue of `per_s` segments per second would let them; 0
    if that may be a bunch or jitter. Over eight samples at most, so that a wrong rate does not add up."""
    most = 0.0
    for width in _SOONER_SAMPLES:
        if time_s.size > width:
            allowed = per_s * (1 + STEADY) * (time_s[width:] - time_s[:-width])
            most = max(most, float(np.max(segments[width:] - segments[:-width] - allowed)))
    found = most / per_s
    return found if most >= _SOONER_SEGMENTS and found >= max(_SOONER_S, _SOONER_OF_BASE * base_s) else 0.0


def _windows(
    time_s: Floats,
    segments: Floats,
    acks: Floats,
    standing: Flags,
    *,
    least_s: float,
    least_segments: int,
) -> list[tuple[float, float, float]]:
    """Of each window: payload's rate, ACKs' rate, segments."""
    found = []
    for begin, end in stretches(standing):
        place = int(begin)
        while place < end:
            until = int(np.searchsorted(time_s, time_s[place] + least_s - 1e-9))
            until = max(until, int(np.searchsorted(segments, segments[place] + least_segments)))
            if until >= end:
                break
            took_s, count = time_s[until] - time_s[place], segments[until] - segments[place]
            found.append((count / took_s, (acks[until] - acks[place]) / took_s, float(count)))
            place = until
    return found


def _lasting(rates: Floats) -> float:
    """Twice what is left of a spread over windows three times as long: jitter moves payload from one window
    to the next, so a third of that is left. Infinite where there are too few."""
    count = rates.size // _LONGER
    if count < _LEAST_WINDOWS[0]:
        return np.inf
    means: Floats = rates[: count * _LONGER].reshape(count, _LONGER).mean(axis=1)
    return _LEFT * _spread(means)


def _local(rates: Floats) -> float:
    half = float(np.median(rates))
    return float(np.median(np.abs(np.diff(rates)))) / half if half > 0 and rates.size > 1 else np.inf


def _alike(rates: Floats, counts: Floats) -> float:
    """`counts`: the segments of each window, which may be of different lengths. 0 where they mostly grow, or
    mostly fall, one by one: cwnd does so."""
    if rates.size < 2:
        return 0.0
    differ = np.diff(rates) * counts[1:] / np.maximum(rates[1:], 1e-9)
    alike = np.abs(differ) <= _ONE_SEGMENT
    drifts = abs(float(differ[alike].sum())) > max(
        _DRIFTS * float(np.abs(differ[alike]).sum()), _SLOWLY * differ.size
    )
    return 0.0 if drifts else float(alike.mean())


def _spread(rates: Floats) -> float:
    low, half, high = np.quantile(rates, (0.1, 0.5, 0.9))
    return float((high - low) / half) if half > 0 else 0.0
