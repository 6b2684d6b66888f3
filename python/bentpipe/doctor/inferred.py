"""What a capture lets one infer of a sender's congestion window, which is not in its packets.

- **All sent**: a sender that has more to send fills its segments. A segment that is not full, or a pause
  with nothing in flight, says that everything written had been sent: the sample is limited by the
  application, and so are those up to a round trip after it.
- **cwnd**: a sender that has more to send, and room in the receive window, has cwnd in flight. So cwnd is
  what is in flight there. Where the application or the receive window limits, cwnd is larger by an unknown
  amount, so it is unknown.
- **ssthresh**: infinite while the flight grows by 30 % or more per round trip before any loss. If it grows
  by less than that and still grows, slow start has ended: zero, which stands for "below cwnd". If it does not
  grow, something other than cwnd limits it: unknown. After a loss it is 0.7 of the flight before it,
  as CUBIC has it, and never above cwnd unless the flight grows as in slow start.
"""

import numpy as np
import polars as pl

from bentpipe.doctor.arrays import Flags, Floats

_SLOW_START_GROWTH = 1.3
_STILL_GROWS = 1.02
_AVOIDS_FOR_RTTS = 4
_FREE_SEGMENTS = 3
_CUBIC_KEEPS = 0.7


def with_sender_state(frame: pl.DataFrame, mss: int, base_rtt_s: float) -> pl.DataFrame:
    """The samples of one connection, by time (regular.py), with `cwnd_bytes`, `ssthresh_bytes`,
    `notsent_bytes` and `app_limited`. `frame` has the counter `short_segments`."""
    rtt_s = max(base_rtt_s, 1e-4)
    time_s = frame["time_s"].to_numpy()
    flight, window, in_flight = (
        frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name in ("outstanding_bytes", "rwnd_bytes", "in_flight_bytes")
    )
    retransmits = frame["retransmits"].to_numpy().astype(float)
    recovering = frame["recovery"].is_in(["recovery", "loss"]).to_numpy()
    all_sent = frame["short_segments"].diff().fill_null(0).to_numpy() > 0
    all_sent = _within(all_sent | (flight == 0), time_s, rtt_s)
    with np.errstate(invalid="ignore"):
        window_full = flight + _FREE_SEGMENTS * mss >= window
    cwnd = np.where(recovering | window_full | all_sent, np.nan, in_flight)
    limited = all_sent | window_full
    peaks = _peaks(time_s, flight, rtt_s)
    ssthresh = _ssthresh(time_s, peaks, cwnd, retransmits, limited, rtt_s=rtt_s)
    return frame.with_columns(
        pl.Series("app_limited", all_sent),
        pl.Series("notsent_bytes", np.where(all_sent, 0.0, np.nan)).fill_nan(None).cast(pl.Int64),
        pl.Series("cwnd_bytes", cwnd).fill_nan(None).cast(pl.Int64),
        pl.Series("ssthresh_bytes", ssthresh).fill_nan(None),
    )


def _within(where: Flags, time_s: Floats, after_s: float) -> Flags:
    """Where it holds, or held at most so long before."""
    last = np.maximum.accumulate(np.where(where, time_s, -np.inf)) if time_s.size else time_s
    found: Flags = time_s - last <= after_s
    return found


def _ssthresh(
    time_s: Floats, peaks: Floats, cwnd: Floats, retransmits: Floats, limited: Flags, *, rtt_s: float
) -> Floats:
    ssthresh = np.full_like(time_s, np.nan)
    lost_at = np.flatnonzero(np.diff(retransmits, prepend=0.0) > 0)
    before = _earlier(time_s, peaks, rtt_s)
    long_before = _earlier(time_s, peaks, _AVOIDS_FOR_RTTS * rtt_s)
    with np.errstate(invalid="ignore"):
        rises = ~limited & ((peaks >= _SLOW_START_GROWTH * before) | np.isnan(before))
        grows = ~limited & (peaks >= _STILL_GROWS * long_before)
    first_loss = lost_at[0] if lost_at.size else time_s.size
    ssthresh[:first_loss] = np.where(rises, np.inf, np.where(grows, 0.0, np.nan))[:first_loss]
    at_loss = np.nan
    lost = set(lost_at.tolist())
    for place in range(first_loss, time_s.size):
        if place in lost and (place == first_loss or not rises[place]):
            at_loss = _CUBIC_KEEPS * peaks[place]
        low = cwnd[place] if np.isfinite(cwnd[place]) else np.inf
        ssthresh[place] = at_loss if rises[place] else min(at_loss, low)
    return ssthresh


def _peaks(time_s: Floats, values: Floats, back_s: float) -> Floats:
    """The largest value in the time before each sample, its own included."""
    begins = np.searchsorted(time_s, time_s - back_s)
    known = np.nan_to_num(values)
    return np.array([known[begin : place + 1].max() for place, begin in enumerate(begins)])


def _earlier(time_s: Floats, values: Floats, back_s: float) -> Floats:
    """The value of the last sample that is so much older; NaN where there is none."""
    places = np.searchsorted(time_s, time_s - back_s, side="right") - 1
    return np.where(places >= 0, values[np.maximum(places, 0)], np.nan)
