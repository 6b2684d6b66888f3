"""Whether the path was full, and at which rate: by what one end sees.

A path is full if more in flight gives no higher rate. Of a path that is not full, F in flight are fewer
than the BDP: F < C R. So its own bursts wait F / C < R at most, and R / 2 on average. Hence four
tests, of which one is enough:

1. **long wait**: q > R / 2, and four segments or more wait. No burst of a flow that leaves the path
   idle waits so long, if it is no longer than R.
2. **plateau**: among samples that differ in flight by 25 % or more, the elasticity d log(rate) / d
   log(flight) is below 1/2. With bursts alone it is R / (R + F / 2C), more than 2/3. What the rate does not
   follow of the flight, the round trip has to (Little's law): else the flights are those of single moments.
3. **constant**: a window is full most of the time, and the rate is the same within 1 % though the round trip
   varies by 8 % and more. Without a queue the rate would be window / RTT.
4. **more than a burst**: q x rate exceeds 64 KiB, which is what a host sends at once at most, and a
   tenth of R. It does not hold of a flow that its send buffer or its application limits: these send
   larger bursts.

Neither 1 nor 4 holds where the wait was less than a quarter of that within the same round trip: what comes
and goes in each round trip is a burst. Only a capture is fine enough to show it.

Where the rates of such samples differ, only the first test holds, and also a stretch of one rate in which the
round trip varies by 8 % and more.

A rate that was exceeded by a tenth in a twentieth of the time without a queue is no path's rate, nor is
one that was reached ten times as long without a queue as with one.
"""

from collections.abc import Sequence

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, Places, stretches

QUEUED_SEGMENTS = 4
_LONG = 0.5
_STAYS = 0.25
_PLATEAU = 0.5
_ALIKE = 1 / 3
_DIFFERS = 1.25
_NARROW = 1.08
_ONE_PERCENT = 0.01
_COUNTED = 0.03
_EVEN_WINDOWS = 3
_MOSTLY = 0.5
_BURST_BYTES = 65_536
_LEAST_OF_BASE = 0.1
_EXCEEDED = 1.1
_ONE_RATE = 0.15
_AT_RATE = 0.95
_LEAST_STANDING = 0.1
_LEAST_TIME = 0.05
_LEAST_SAMPLES = 3


def standing_queue(
    *,
    queue_s: Floats,
    base_s: float,
    rate_bit_s: Floats,
    flight: Floats,
    noise_s: float,
    lowest_s: Floats,
    mss: float,
    calm: Flags,
    full: Flags,
    bursts: Flags,
    even: Sequence[Places],
    served: Floats | None = None,
) -> Flags:
    """In which samples a queue stands. `lowest_s`: the shortest wait in the round trip before; `calm`:
    neither repairing nor in slow start; `full`: the window is full; `bursts`: limited by the sender's
    application or buffer; `even`: stretches in which the rate was the same (even_stretches); `served`: the
    rate at which a queue of something else than payload serves, as of ACKs."""
    steady = calm & ~full
    with np.errstate(invalid="ignore"):
        queued_bytes = queue_s * rate_bit_s / 8
        seen = (queued_bytes >= QUEUED_SEGMENTS * mss) & (queue_s > noise_s)
        stays = lowest_s >= _STAYS * queue_s
        long = seen & stays & (queue_s > _LONG * base_s)
        many = seen & stays & ~bursts & (queued_bytes > _BURST_BYTES) & (queue_s > _LEAST_OF_BASE * base_s)
    flat = seen & _on_plateau(rate_bit_s, flight, queue_s, steady & ~bursts, base_s)
    flat |= _constant(rate_bit_s, queue_s, calm, full, base_s)
    every = long | many | flat
    return (
        every
        if _of_one_rate((rate_bit_s if served is None else served)[every & steady])
        else long | _in_steps(queue_s, even, seen & calm, base_s)
    )


def _of_one_rate(rates: Floats) -> bool:
    """A full path has one rate. Where it does not, only waits that nothing else explains count."""
    if rates.size < _LEAST_SAMPLES:
        return True
    top = float(np.median(rates))
    return float(np.median(np.abs(rates - top))) <= _ONE_RATE * top


def even_stretches(
    time_s: Floats, rate: Floats, connection: Places, window_s: float, least_bit_s: float
) -> list[Places]:
    """The samples of each stretch in which a rate over windows is the same to 1 % for four windows or more,
    and does not drift by more than twice that. `least_bit_s`: what a window's count is exact to."""
    found = []
    for number in np.unique(connection):
        own = np.flatnonzero(connection == number)
        at_s, of = time_s[own], rate[own]
        before = np.interp(at_s - window_s, at_s, of)
        even = (
            (of > 0)
            & (at_s - window_s >= at_s[0])
            & (np.abs(of - before) <= np.maximum(_ONE_PERCENT * of, least_bit_s))
        )
        even &= least_bit_s <= _COUNTED * of
        last = 0
        for begin, end in stretches(even):
            if at_s[end - 1] - at_s[begin] < _EVEN_WINDOWS * window_s:
                continue
            low, half, high = np.quantile(of[begin:end], (0.0, 0.5, 1.0))
            exact = max(_ONE_PERCENT * half, least_bit_s)
            if high - low <= 2 * exact:
                # The first window is even, too, though the one before it was not.
                first = max(int(np.searchsorted(at_s, at_s[begin] - window_s)), last)
                differs = np.flatnonzero(np.abs(of[first:begin] - half) > exact)
                found.append(own[first + (int(differs[-1]) + 1 if differs.size else 0) : end])
                last = end
    return found


def _in_steps(queue_s: Floats, even: Sequence[Places], waits: Flags, base_s: float) -> Flags:
    """Where the path's own rate is another one after a while: the stretches of one rate in which the round
    trip differs by 8 % or more. Without a queue the rate would be that of the window or of the sender."""
    found = np.zeros(queue_s.size, bool)
    for places in even:
        chosen = places[waits[places]]
        if chosen.size < _MOSTLY * places.size:
            continue
        low, high = np.quantile(queue_s[chosen], (0.1, 0.9))
        if base_s + high >= _NARROW * (base_s + low):
            found[chosen] = True
    return found


def waits_alike(rate: Floats, rtt_s: Floats, waits: Flags) -> bool:
    """Whether packets wait as long at any rate, of several: then jitter makes them wait, or a queue of ACKs.
    A queue of payload serves more slowly where the path's own rate falls: d log(R + q) / d log(rate) < -1/3.
    """
    use = waits & (rate > 0) & (rtt_s > 0)
    if use.sum() < 4 * _LEAST_SAMPLES or _of_one_rate(rate[use]):
        return False
    slope = float(np.polyfit(np.log(rate[use]), np.log(rtt_s[use]), 1)[0])
    return slope > -_ALIKE


def _on_plateau(rate: Floats, flight: Floats, queue_s: Floats, steady: Flags, base_s: float) -> Flags:
    """The samples whose flight is in the range in which the rate no longer follows it."""
    nothing = np.zeros(len(rate), bool)
    use = steady & np.isfinite(flight) & (flight > 0) & (rate > 0) & np.isfinite(queue_s)
    if use.sum() < 4 * _LEAST_SAMPLES:
        return nothing
    top = float(np.quantile(flight[use], 0.95))
    high = use & (flight >= 0.9 * top)
    low = use & (flight <= 0.9 * top / _DIFFERS) & (flight >= 0.3 * top)
    if high.sum() < _LEAST_SAMPLES or low.sum() < _LEAST_SAMPLES:
        return _narrow_plateau(rate, flight, queue_s, use)
    flights = np.median(flight[high]) / np.median(flight[low])
    rates = np.median(rate[high]) / np.median(rate[low])
    rtts = (base_s + np.median(queue_s[high])) / (base_s + np.median(queue_s[low]))
    grows = np.log(rtts) >= _PLATEAU * np.log(flights / rates)
    if np.log(rates) >= _PLATEAU * np.log(flights) or not grows:
        return _narrow_plateau(rate, flight, queue_s, use)
    return use & (rate >= 0.9 * np.median(rate[high]))


def _constant(rate: Floats, queue_s: Floats, calm: Flags, full: Flags, base_s: float) -> Flags:
    """The calm samples at one rate, if the window is full mostly and the round trip varies."""
    nothing = np.zeros(len(rate), bool)
    use = calm & (rate > 0) & np.isfinite(queue_s)
    if use.sum() < 4 * _LEAST_SAMPLES or (full & use).sum() < _MOSTLY * use.sum():
        return nothing
    slow, usual, fast = np.quantile(rate[use], (0.1, 0.5, 0.9))
    shortest, longest = base_s + np.quantile(queue_s[use], (0.1, 0.9))
    if fast - slow > _ONE_PERCENT * usual or longest < _NARROW * shortest:
        return nothing
    found: Flags = use & (np.abs(rate / usual - 1) <= _ONE_PERCENT)
    return found


def _narrow_plateau(rate: Floats, flight: Floats, queue_s: Floats, use: Flags) -> Flags:
    """The same in the upper part of the flights, which differ less: the wait grows with them, F / C - R."""
    nothing = np.zeros(len(rate), bool)
    top = float(np.quantile(flight[use], 0.98))
    upper = use & (flight >= 0.8 * top)
    if upper.sum() < 4 * _LEAST_SAMPLES:
        return nothing
    order = np.argsort(flight[upper])
    third = max(len(order) // 3, _LEAST_SAMPLES)
    low, high = order[:third], order[-third:]
    flights = np.median(flight[upper][high]) / np.median(flight[upper][low])
    if flights < _NARROW:
        return nothing
    rates = np.median(rate[upper][high]) / np.median(rate[upper][low])
    waits = np.median(queue_s[upper][high]) - np.median(queue_s[upper][low])
    if waits <= 0 or np.log(max(rates, 1e-9)) >= _PLATEAU * np.log(flights):
        return nothing
    return upper & (rate >= 0.95 * np.median(rate[upper][high]))


def path_rate_bit_s(
    rate: Floats, standing: Flags, calm: Flags, weights: Floats, alone: Flags
) -> float | None:
    """The median rate while a queue stood; None where there were too few such samples, or where the rate was
    exceeded without one. `alone`: samples that say so by themselves. The rate was the same for long, so that
    the path has several; or packets waited longer than the base round trip, so that a bucket let pass what
    came faster before, or others were not there yet. If most are such, a higher rate says nothing."""
    stands = standing & calm & (weights > 0)
    if stands.sum() < _LEAST_SAMPLES:
        return None
    found = float(np.median(rate[stands]))
    if float(weights[stands & alone].sum()) >= _MOSTLY * float(weights[stands].sum()):
        # The path's own rate changes, or a bucket let the first bytes pass faster.
        return found
    beyond = (rate > _EXCEEDED * found) & ~standing
    if float(weights[beyond].sum()) > _LEAST_TIME * float(weights[rate > 0].sum()):
        return None
    at_rate = rate >= _AT_RATE * found
    if float(weights[stands & at_rate].sum()) < _LEAST_STANDING * float(weights[at_rate].sum()):
        return None
    return found
