"""The rate of a path that was never full, by the round trips of slow start, as sockets show them.

In slow start each acknowledgement sends two segments, so each round trip ends with a queue of up to half a
window, though the path as a whole idles. The smoothed round trip holds that wait, which is inversely
proportional to the path's rate. How much of it a socket shows depends on its acknowledgements, on its windows
and on when it is read. So the start is simulated over paths of several rates, and the rate is that whose
simulated waits are nearest to the seen ones when as many bytes were delivered (least absolute differences).

1. A wait is a round trip less the shortest one. What is seen has to differ from the waits over a path without
   a limit by more than noise, and the rate has to explain most of that.
2. The last segment of a round may wait for a delayed acknowledgement, 40 ms, or not: of the simulated waits
   within two segments the nearest one counts.
3. Only what came before the first loss counts, and only until a round trip after the window stopped growing:
   then segments come as evenly as the path's rate has spaced them, and no longer wait. Of samples between
   which nothing was delivered one counts.
4. The transfer has to be one connection, seen from its beginning. A receiver knows its round trip to a
   millisecond, so it seldom tells the rate of a fast path.
5. The simulated sender does not pace its segments. A sender whose pacing rate is below what Linux sets of
   itself is left out. Of others, and at a receiver, only what a rate does not explain can show pacing.
6. The interval holds the rates that explain the waits nearly as well.
7. What would take more than some million segments to simulate is left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from bentpipe.doctor.arrays import Flags, Floats
from bentpipe.doctor.buffers_seen import buffers_of_hosts
from bentpipe.doctor.diagnosis import Diagnosis
from bentpipe.doctor.evidence import SeenFrom
from bentpipe.doctor.from_run import transfers
from bentpipe.doctor.simulating import run_of
from bentpipe.doctor.told_rate import ToldRate
from bentpipe.doctor.view import HEADERS_BYTES, View
from bentpipe.engines.base import EngineOptions
from bentpipe.errors import BentpipeError

_GROWN = 0.9
_AFTER_ROUND_TRIPS = 1
_LEAST_SAMPLES = 4
_LEAST_SIGNAL_S = 0.002
_LEAST_OF_BASE = 0.004
_RECEIVERS_STEP_S = 0.001
_UNEXPLAINED = 0.15
"""Share of the seen waits that may be left."""
_LEAST_SHARE = 0.7
_NEAR_SEGMENTS = 2
_NO_LESS = 0.97
_MOST_TIMES = 64.0
_STEPS = 12
_REFINED = 3
_AS_GOOD = 2.0
_AS_GOOD_SHARE = 0.1
_MOST_SPREAD = 2.0
_FINE_S = 0.01
_FINE_OF_ROUND_TRIP = 1 / 16
_MOST_OF_THEM = 0.9
_MOST_SEGMENTS = 1e6
_PACED_WINDOWS = 1.15
"""Linux paces CUBIC and Reno by 1.2 or 2 windows per round trip, whether or not that holds anything back."""
_MOSTLY = 0.5
_LEAST_MTU = 576
_BEFORE_ROUND_TRIPS = 7
_BEFORE_S = 0.5


def start_rate(of: Diagnosis, least_bit_s: float) -> ToldRate | None:
    """Of IP bytes. `least_bit_s`: what the path carried at least. None: the start does not tell."""
    view, evidence = of.view, of.evidence
    base_s = view.base_rtt_s
    if base_s is None or evidence.of_packets or not evidence.begun or len(view.connections) != 1:
        return None
    if least_bit_s <= 0 or _is_paced(view):
        return None
    chosen = _of_the_start(of, base_s)
    if chosen.sum() < _LEAST_SAMPLES:
        return None
    waits = view.rtt_s[chosen] - base_s
    until_s = float(view.time_s[chosen].max()) - evidence.start_s
    segments = until_s / base_s * float(np.nanmax(view.flight[chosen], initial=0.0)) / view.mss
    if np.quantile(waits, _MOST_OF_THEM) < _least_wait_s(of) or not segments <= _MOST_SEGMENTS:
        return None
    try:
        return _fitted(of, _Start(view["delivered_bytes"][chosen], waits), least_bit_s, until_s)
    except BentpipeError:
        return None


def _is_paced(view: View) -> bool:
    """Whether a sender mostly paces by less than Linux does of itself. A receiver does not know."""
    if not view.knows("pacing_rate_bit_s", "cwnd_bytes") or not view.base_rtt_s:
        return False
    with np.errstate(invalid="ignore", divide="ignore"):
        slow = view["pacing_rate_bit_s"] * view.rtt_s < _PACED_WINDOWS * 8 * view["cwnd_bytes"]
    return bool(slow.any() and np.mean(slow[np.isfinite(view["pacing_rate_bit_s"])]) > _MOSTLY)


def _least_wait_s(of: Diagnosis) -> float:
    """What is more than noise."""
    known_to_s = 0.0 if of.view.at_sender else _RECEIVERS_STEP_S
    return max(_LEAST_SIGNAL_S, _LEAST_OF_BASE * (of.view.base_rtt_s or 0.0), known_to_s)


@dataclass(frozen=True)
class _Start:
    delivered: Floats
    wait_s: Floats
    """Beyond the base round trip."""

    def nearest(self, other: "_Start", within_bytes: float) -> Floats:
        """How far this one's waits are from the other's when as much was delivered; NaN beyond what was. Of
        what the other has within so many bytes the nearest wait counts."""
        if not other.delivered.size:
            return np.full_like(self.wait_s, np.nan)
        off = np.abs(
            np.interp(self.delivered, other.delivered, other.wait_s, left=np.nan, right=np.nan) - self.wait_s
        )
        begins = np.searchsorted(other.delivered, self.delivered - within_bytes)
        ends = np.searchsorted(other.delivered, self.delivered + within_bytes, side="right")
        for place, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if end > begin and np.isfinite(off[place]):
                near = np.abs(other.wait_s[begin:end] - self.wait_s[place]).min()
                off[place] = min(off[place], near)
        return off


def _of_the_start(of: Diagnosis, base_s: float) -> Flags:
    view = of.view
    whole = np.nan_to_num(view["delivered_bytes"])
    use = np.isfinite(view.rtt_s) & (view.rtt_s > 0) & (whole > 0) & view.unharmed
    if not use.any():
        return use
    flight = np.where(use, np.nan_to_num(view.flight), 0.0)
    grown_s = float(view.time_s[int(np.argmax(flight >= _GROWN * flight.max()))])
    use &= view.time_s <= grown_s + _AFTER_ROUND_TRIPS * base_s
    # Of samples with as many bytes the last one, after all their acknowledgements.
    last = np.diff(whole[use], append=np.inf) > 0
    use[np.flatnonzero(use)[~last]] = False
    return use


def _fitted(of: Diagnosis, seen: _Start, least_bit_s: float, until_s: float) -> ToldRate | None:
    near = _NEAR_SEGMENTS * of.view.mss
    waits = seen.nearest(_simulated(of, None, until_s), near)
    counted = np.isfinite(waits)
    if counted.sum() < _LEAST_SAMPLES or np.quantile(waits[counted], _MOST_OF_THEM) < _least_wait_s(of):
        return None
    tried: dict[float, float] = {}

    def left(rate_bit_s: float) -> float:
        """The share of the seen waits that this rate does not explain."""
        if rate_bit_s not in tried:
            off = seen.nearest(_simulated(of, rate_bit_s, until_s), near)
            both = counted & np.isfinite(off)
            enough = both.sum() >= max(_LEAST_SAMPLES, _LEAST_SHARE * counted.sum())
            tried[rate_bit_s] = float(off[both].sum() / waits[both].sum()) if enough else np.inf
        return tried[rate_bit_s]

    step = _MOST_TIMES ** (1 / _STEPS)
    rates = [_NO_LESS * least_bit_s * step**number for number in range(_STEPS + 1)]
    for rate in rates:
        left(rate)
    for _ in range(_REFINED):
        step **= 0.5
        best = min(tried, key=lambda each: tried[each])
        left(max(best / step, rates[0]))
        left(best * step)
    best = min(tried, key=lambda each: tried[each])
    if tried[best] > _UNEXPLAINED:
        return None
    as_good = [
        each
        for each, share in tried.items()
        if share <= max(_AS_GOOD * tried[best], tried[best] + _AS_GOOD_SHARE)
    ]
    low, high = min(as_good), max(as_good)
    if high > _MOST_SPREAD * low or not rates[0] < best < rates[-1]:
        return None
    return ToldRate(best, low / step, high * step)


def _simulated(of: Diagnosis, rate_bit_s: float | None, until_s: float) -> _Start:
    """The start of the same transfer over a path of this rate that drops nothing. None: without a limit."""
    evidence, base_s = of.evidence, of.view.base_rtt_s or 0.0
    down = (evidence.direction or "down") == "down"
    sender, receiver = ("server", "client") if down else ("client", "server")
    path: dict[str, Any] = {"rtt": f"{base_s * 1e3:.3f} ms"}
    if evidence.mss_bytes:
        path["mtu"] = max(evidence.mss_bytes + HEADERS_BYTES, _LEAST_MTU)
    if rate_bit_s is not None:
        path |= {"rate": f"{round(rate_bit_s)} bit/s", "queue": "unlimited"}
    document: dict[str, Any] = {
        # Before its first byte come iperf3's own five round trips.
        "duration": f"{until_s + _BEFORE_ROUND_TRIPS * base_s + _BEFORE_S:.3f} s",
        "path": path,
        "host": {"congestion_control": evidence.congestion_control or "cubic"},
        **buffers_of_hosts(of, sender, receiver),
        "workload": [{"name": "transfer", "kind": "bulk", "direction": "down" if down else "up"}],
    }
    every_s = min(max(_FINE_OF_ROUND_TRIP * base_s, 0.001), _FINE_S)
    options = EngineOptions(sample_interval_ns=round(every_s * 1e9))
    record, frames = run_of(document, options)
    seen_from: SeenFrom = "sender" if of.view.at_sender else "receiver"
    found = next(iter(transfers(record, frames, seen_from)), None)
    if found is None:
        return _Start(np.empty(0), np.empty(0))
    samples = found.samples.drop_nulls(["delivered_bytes", "srtt_s"]).filter(pl.col("delivered_bytes") > 0)
    delivered, rtt_s = (samples[name].cast(pl.Float64).to_numpy() for name in ("delivered_bytes", "srtt_s"))
    if not delivered.size:
        return _Start(delivered, rtt_s)
    shortest = [float(rtt_s.min())]
    if samples["min_rtt_s"].null_count() < samples.height:
        shortest.append(float(samples["min_rtt_s"].min()))  # type: ignore[arg-type]
    # The base as the seen one: with the handshake or pings, whose packets are short, or without.
    if found.handshake_rtt_s and (evidence.handshake_rtt_s or evidence.pings.height):
        shortest.append(found.handshake_rtt_s)
    return _Start(delivered, rtt_s - min(shortest))
