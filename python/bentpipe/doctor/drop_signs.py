"""Figures that tell apart what can drop a transfer's packets: each is a ratio, and says why in words.

Of losses at a moment, four things can be behind it, and each has its own law:

- **random loss** strikes at any flight, at times that are independent: what is in flight at losses
  varies, and so does the time between them, by as much as its mean.
- **a short queue** adds its wait before it overflows. It loses bursts of slow start long before the path
  is full, so that later more is in flight without a loss than then.
- **a policer** passes its rate whatever is sent, so of F in flight it loses F - rate x RTT, and that is
  much more than the last round trip added: its bucket was filling meanwhile.
- **a line that holds N packets** loses what exceeds N: as much as the last round trip added, at one flight.

Logarithms are natural. A figure that is not known is NaN, for which each tree has a side.
"""

import numpy as np

from bentpipe.doctor.arrays import Flags, Floats, Places, middle
from bentpipe.doctor.start_phase import rising
from bentpipe.doctor.view import View, before_losses

_LEAST_S = 0.2
_MAD = 1.4826
_SETTLED_ROUND_TRIPS = 4
_MOST_WAITING_SEGMENTS = 1000.0


def signs(view: View) -> dict[str, float]:
    """By name; NaN where not known. Empty without a loss."""
    places = before_losses(view)
    if not places.size or not view.base_rtt_s:
        return {}
    seen = _Seen(view, places)
    return {
        **seen.start(),
        **seen.later(),
        **seen.passed(),
        **seen.waits(),
        **seen.rates(),
        **_host(view, places),
    }


def _host(view: View, places: Places) -> dict[str, float]:
    """What the hosts can do, how often a sender's TCP waits for what is late and how often for nothing, and
    for which share of the time nothing has been lost at the end."""
    of = view.evidence
    found = {"sack": float(not of.lacks_sack), "stamps": float(not of.lacks_timestamps)}
    told = view.calm | view.disorder | view.recovering
    if told.any():
        found["disorder_share"] = float(view.disorder[told].mean())
        found["calm_share"] = float(view.calm[told].mean())
    quiet_s = float(view.time_s.max() - view.time_s[places].max())
    found["quiet_share"] = quiet_s / max(float(np.ptp(view.time_s)), 1e-6)
    return found


class _Seen:
    def __init__(self, view: View, places: Places) -> None:
        self.view = view
        self.places = places
        self.rtt_s = max(view.base_rtt_s or 0.0, 1e-4)
        self.spacing_s = max(middle(view.dt_s, view.dt_s > 0), 1e-3)
        if view.knows_cwnd:
            with np.errstate(invalid="ignore"):
                starts = view["cwnd_bytes"] < view["ssthresh_bytes"]
        else:
            starts = rising(view)
        self.started = starts[places]
        # A sample may show the repair only.
        self.started[0] = self.started[0] or bool(starts[max(int(places[0]) - 2, 0)])
        self.flight = np.nan_to_num(self._flight()) / view.mss
        self.lost = self._lost()
        begin_s = view.time_s[places[0]] + _SETTLED_ROUND_TRIPS * self.rtt_s
        self.settled: Flags = (view.time_s > begin_s) & (view.total_bit_s > 0)
        if view.at_sender:
            self.settled &= ~view.recovering
        self.most = float(np.quantile(self.flight[self.settled], 0.98)) if self.settled.any() else np.nan

    def _flight(self) -> Floats:
        """At a receiver, with the base round trip: its own estimate of the RTT lags behind."""
        if self.view.at_sender:
            return self.view.flight
        return self.view.total_bit_s * self.rtt_s / 8

    def _lost(self) -> Floats:
        """At a sender what was sent again until the next episode; at a receiver what came out of order."""
        counter = self.view["retransmits"] if self.view.at_sender else self.view["out_of_order"]
        counter = np.nan_to_num(counter)
        until = np.append(self.places[1:], len(counter) - 1)
        return np.asarray(np.maximum(counter[until] - counter[self.places], 0.0))

    def start(self) -> dict[str, float]:
        """Of the loss that ended slow start."""
        if not self.started[0]:
            return {}
        flight, lost = self.flight[self.places[0]], self.lost[0]
        found = {"start_lost_of_most": _log(lost + 1, self.most + 1)}
        if self.spacing_s <= self.rtt_s and flight > 0:
            found["start_flight_of_most"] = _log(flight, self.most)
            found["start_lost_of_flight"] = _log(lost + 1, flight + 1)
        return found

    def later(self) -> dict[str, float]:
        """Of the losses after slow start."""
        chosen = ~self.started if self.started.any() else np.ones(len(self.places), bool)
        places, lost = self.places[chosen], self.lost[chosen]
        count = len(places)
        lasted_s = float(self.view.time_s[-1] - self.view.time_s[self.places[0]])
        found = {"losses_per_time": _log(count + 0.5, max(lasted_s, self.rtt_s) / self.rtt_s)}
        if not count:
            return found
        flight = np.maximum(self._peaks(places), 1.0)
        found["lost_of_flight"] = _log(float(np.median(lost)) + 0.5, float(np.median(flight)))
        grown = np.maximum(flight - self._before(places), 0.0)
        found["lost_of_growth"] = _log(float(np.median(lost)) + 0.5, float(np.median(grown)) + 0.5)
        found["flight_of_most"] = _log(float(np.median(flight)), self.most)
        if count >= 2:
            found["flight_spread"] = float(np.log(_spread(flight) + 0.01))
            left = np.maximum(flight - lost, 0.0)
            found["left_spread"] = float(np.log((_spread(left) + 0.01) / (_spread(flight) + 0.01)))
            found["rate_spread"] = float(np.log(_spread(self.view.total_bit_s[places]) + 0.01))
            found["lost_spread"] = float(np.log(_spread(lost + 1) + 0.05))
        if count >= 4:
            apart = np.diff(self.view.time_s[places])
            found["interval_spread"] = float(np.std(apart) / max(float(np.mean(apart)), 1e-9))
        if self.view.knows("timeouts"):
            timeouts = float(np.nanmax(self.view["timeouts"], initial=0.0))
            found["timeouts_per_loss"] = min(timeouts / len(self.places), 3.0)
        return found

    def passed(self) -> dict[str, float]:
        """What arrives in the round trip of a loss: a policer's rate, whatever was sent."""
        later = self.places[~self.started]
        while_lost = np.array([self._arrived(place, 0) for place in later])
        found: dict[str, float] = {}
        if later.size:
            passes = float(np.median(while_lost))
            before = np.array([self._arrived(place, -1) for place in later])
            found["passed_of_before"] = _log(passes, float(np.median(before)))
            if later.size >= 2:
                found["passed_spread"] = float(np.log(_spread(while_lost) + 0.005))
                found["cycle_of_passed"] = _log(self._between(later), passes)
        else:
            passes = (
                float(np.quantile(self.view.total_bit_s[self.settled], 0.98)) if self.settled.any() else 0.0
            )
        if self.started[0] and passes > 0:
            at_start = _log(self._arrived(self.places[0], 1), passes)
            found["start_of_passed"] = at_start
            found["start_is_passed"] = float(np.log(abs(at_start) + 0.01))
        return found

    def _arrived(self, place: int, round_trips: int) -> float:
        """The rate at which segments arrive in the round trip after a place, or so many later."""
        counter = self._counter()
        took_s = max(self.rtt_s, self.spacing_s)
        begin_s = self.view.time_s[place] + round_trips * took_s
        ends = np.interp([begin_s, begin_s + took_s], self.view.time_s, counter)
        return float(ends[1] - ends[0]) * 8 / took_s

    def _between(self, places: Places) -> float:
        """The rate from each loss to the next, in the median."""
        counter, time_s = self._counter()[places], self.view.time_s[places]
        return float(np.median(np.diff(counter) * 8 / np.maximum(np.diff(time_s), 1e-6)))

    def _counter(self) -> Floats:
        view = self.view
        if view.at_sender and view.knows("arrived_bytes"):
            return np.nan_to_num(view["arrived_bytes"])
        if not view.at_sender and view.knows("segments_sent"):
            return np.asarray(np.nan_to_num(view["segments_sent"]) * view.mss)
        return np.nan_to_num(view["delivered_bytes"])

    def waits(self) -> dict[str, float]:
        """What waits before losses after slow start, over what waits at 70 to 90 % of that flight."""
        later = self.places[~self.started]
        view = self.view
        found = {"standing_share": float(view.standing.mean())}
        rate = float(np.quantile(view.total_bit_s, 0.98))
        waits = view.queue_s * rate / 8 / view.mss
        calm = self.settled & np.isfinite(waits)
        if calm.sum() >= 8:
            top = self.flight >= np.quantile(self.flight[calm], 0.9)
            low = (self.flight <= np.quantile(self.flight[calm], 0.5)) & calm
            if (top & calm).any() and low.any():
                gain = middle(waits, top & calm) - middle(waits, low)
                found["wait_of_flight"] = float(np.arcsinh(np.clip(gain, -5.0, _MOST_WAITING_SEGMENTS)))
        if not later.size or not calm.any():
            return found
        near = np.zeros(view.size, bool)
        for place in later:
            begin_s = view.time_s[place] - max(self.rtt_s, 2 * self.spacing_s)
            near |= (view.time_s >= begin_s) & (np.arange(view.size) <= place)
        flight = float(np.median(self.flight[later]))
        mid = calm & (self.flight < 0.9 * flight) & (self.flight > 0.7 * flight)
        if mid.any():
            gain = middle(waits, near) - middle(waits, mid)
            if np.isfinite(gain):
                found["wait_before_losses"] = float(np.arcsinh(np.clip(gain, -5.0, _MOST_WAITING_SEGMENTS)))
        return found

    def rates(self) -> dict[str, float]:
        """How far rates exceed what passes while packets are lost."""
        view = self.view
        found: dict[str, float] = {}
        usual = middle(view.total_bit_s, self.settled)
        if usual > 0:
            found["highest_of_usual"] = _log(float(view.total_bit_s.max()), usual)
            found["burst_of_flight"] = _log(self._bucket(usual) + 1, usual * self.rtt_s / 8 / view.mss + 1)
        if view.knows("delivery_rate_bit_s") and usual > 0:
            delivery = view["delivery_rate_bit_s"][self.settled]
            found["delivery_of_usual"] = _log(float(np.nanquantile(delivery, 0.98)), usual)
        if view.knows("reordering_segments"):
            found["reordering"] = _log(float(np.nanmax(view["reordering_segments"])), 3.0)
        if view.knows("out_of_order"):
            found["late_share"] = float((view.grown("out_of_order") > 0).mean())
            arrived = np.nan_to_num(view["segments_sent"])
            found["late_of_arrived"] = _log(
                float(np.nanmax(view["out_of_order"])) + 1, float(arrived.max()) + 1
            )
        counted = view["arrived_bytes"] if view.knows("arrived_bytes") else view["delivered_bytes"]
        idle = (np.diff(np.nan_to_num(counted), prepend=0.0) <= 0) & (view.dt_s > 0)
        found["idle_share"] = (
            float(idle.mean())
            if self.spacing_s >= self.rtt_s
            else float((idle & (view.total_bit_s <= 0)).mean())
        )
        return found

    def _bucket(self, rate_bit_s: float) -> float:
        """Segments beyond the usual rate, at most, after the first loss."""
        view = self.view
        arrived = view["arrived_bytes"] if view.knows("arrived_bytes") else view["delivered_bytes"]
        own = (view.connection == view.connection[self.places[0]]) & self.settled
        if own.sum() < 2:
            return 0.0
        time_s = view.time_s[own]
        level = np.nan_to_num(arrived[own]) - rate_bit_s / 8 * (time_s - time_s[0])
        return float((level - np.minimum.accumulate(level)).max()) / view.mss

    def _peaks(self, places: Places) -> Floats:
        """The most in flight within a round trip before each loss."""
        found = []
        for place in places:
            begin = np.searchsorted(self.view.time_s, self.view.time_s[place] - self.rtt_s)
            found.append(self.flight[min(int(begin), int(place)) : int(place) + 1].max())
        return np.array(found)

    def _before(self, places: Places) -> Floats:
        """In flight a round trip before each loss, or a sample."""
        time_s = self.view.time_s[places] - max(self.rtt_s, self.spacing_s)
        found: Floats = np.interp(time_s, self.view.time_s, self.flight)
        # Of samples that are further apart than a round trip, the part of the growth that one makes.
        return np.asarray(
            self.flight[places]
            - (self.flight[places] - found) * min(self.rtt_s / max(self.rtt_s, self.spacing_s), 1.0)
        )


def _log(value: float, over: float) -> float:
    return float(np.log(value / over)) if value > 0 and over > 0 and np.isfinite(over) else float("nan")


def _spread(values: Floats) -> float:
    half = float(np.median(values))
    return _MAD * float(np.median(np.abs(values - half))) / half if half > 0 else 0.0
