//! BBR v3's pacing rate and window (draft-ietf-ccwg-bbr-06, section 5.6).

use super::{Bbr3, INFINITE, MIN_BURST, MIN_CWND, PROBE_RTT_CWND_GAIN, STARTUP_GAIN, State};
use crate::congestion::delivery_rate::{self, Gain, Rate, UNIT};
use crate::congestion::{CaState, Window};
use bentpipe_base::time::Nanos;

impl Bbr3 {
    pub(super) fn init_pacing_rate(&mut self, window: &mut Window) {
        self.has_seen_rtt = window.srtt > Nanos::ZERO;
        let rtt_us = if self.has_seen_rtt {
            window.srtt.0 as u64 / 1000
        } else {
            1000
        };
        let rate = Rate::of(u64::from(window.cwnd), rtt_us.max(1));
        window.set_pacing_rate(rate.pacing(window.mss, STARTUP_GAIN));
    }

    pub(super) fn set_pacing_rate(&mut self, window: &mut Window, gain: Gain) {
        if !self.has_seen_rtt && window.srtt > Nanos::ZERO {
            self.init_pacing_rate(window);
        }
        let rate = self.rate.pacing(window.mss, gain);
        if self.full_reached || window.pacing_rate.is_none_or(|present| rate > present) {
            window.set_pacing_rate(rate);
        }
    }

    /// At least three bursts and four segments, so that the hosts' batches do not starve the path.
    pub(super) fn with_batches(&self, window: &Window, segments: u32) -> u32 {
        let least = (3 * delivery_rate::burst(window).max(MIN_BURST)).max(MIN_CWND);
        segments.max(least) + if self.state == State::ProbeUp { 2 } else { 0 }
    }

    pub(super) fn inflight_target(&self, window: &Window) -> u32 {
        self.with_batches(window, self.bdp_of(self.rate, UNIT))
    }

    pub(super) fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp_of(self.rate, PROBE_RTT_CWND_GAIN).max(MIN_CWND)
    }

    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let good = window.state < CaState::Recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if good {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }

    pub(super) fn set_cwnd(&self, window: &mut Window) {
        let acked = self.sample.acked;
        let target = self.bdp_of(self.rate, self.state.gains().1);
        let most = self.with_batches(window, target + self.extra_acked.get() as u32);
        let mut cwnd = window.cwnd;
        if self.full_reached {
            cwnd = (cwnd + acked).min(most);
        } else if cwnd < most || window.delivered < u64::from(self.initial_cwnd) {
            cwnd += acked;
        }
        cwnd = cwnd.max(MIN_CWND);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        let limit = match self.state {
            State::ProbeDown | State::ProbeRefill | State::ProbeUp => self.inflight_longterm,
            State::ProbeCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => INFINITE,
        };
        let limit = limit.min(self.inflight_shortterm).max(MIN_CWND);
        window.cwnd = cwnd.min(limit).min(window.cwnd_clamp);
    }
}
