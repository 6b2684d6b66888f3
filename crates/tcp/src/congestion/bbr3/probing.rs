//! BBR v3's search for bandwidth: down, cruise, refill, up, and the long-term limit of the flight
//! (draft-ietf-ccwg-bbr-06, section 5.3.3).

use super::{AckPhase, Bbr3, INFINITE, MIN_CWND, State};
use crate::congestion::Window;
use crate::congestion::delivery_rate::{Rate, UNIT};
use bentpipe_base::time::Nanos;

/// Time between probes: this and up to a second more, or so many rounds as Reno would take to regain a loss.
const PROBE_WAIT: Nanos = Nanos::from_secs(2);
const RENO_ROUNDS_MAX: u32 = 63;
const UP_ROUNDS_MAX: u32 = 30;

impl Bbr3 {
    pub(super) fn start_down(&mut self, window: &mut Window) {
        self.reset_congestion_signals();
        self.up_acked_per_step = INFINITE;
        self.rounds_since_up = window.draw(2);
        self.probe_wait = PROBE_WAIT + Nanos::from_micros(i64::from(window.draw(1_000_000)));
        self.cycle_start = window.now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round(window);
        self.state = State::ProbeDown;
    }

    pub(super) fn start_refill(&mut self, window: &Window) {
        self.reset_shortterm();
        self.up_rounds = 0;
        self.up_acked = 0;
        self.previous_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round(window);
        self.state = State::ProbeRefill;
    }

    fn start_up(&mut self, window: &Window) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round(window);
        self.reset_full(self.sample.rate);
        self.state = State::ProbeUp;
        self.raise_slope(window);
    }

    pub(super) fn update_cycle(&mut self, window: &mut Window) {
        if !self.full_reached || self.adapt_longterm(window) {
            return;
        }
        if self.state == State::ProbeUp && self.is_time_to_go_down(window) {
            self.previous_too_high = false;
            self.start_down(window);
            return;
        }
        match self.state {
            State::ProbeDown | State::ProbeCruise if self.is_time_to_probe(window) => {
                self.start_refill(window);
            }
            State::ProbeDown if self.is_time_to_cruise(window) => self.state = State::ProbeCruise,
            State::ProbeRefill if self.round_start => {
                self.is_probe_sample = true;
                self.start_up(window);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, window: &Window) -> bool {
        window.now > self.cycle_start + self.probe_wait
            || self.rounds_since_up >= self.target_inflight(window).min(RENO_ROUNDS_MAX)
    }

    /// What should be in flight: a BDP, unless congestion cut the window.
    fn target_inflight(&self, window: &Window) -> u32 {
        self.bdp().min(window.cwnd)
    }

    fn is_time_to_cruise(&self, window: &Window) -> bool {
        let bdp = self.with_batches(window, self.bdp_of(self.max_rate(), UNIT));
        window.in_flight() <= self.inflight_with_headroom() && window.in_flight() <= bdp
    }

    fn is_time_to_go_down(&mut self, window: &Window) -> bool {
        if self.previous_too_high && window.in_flight() >= self.inflight_longterm {
            self.previous_precautionary = true;
            return true;
        }
        if window.cwnd_limited && window.cwnd >= self.inflight_longterm {
            // The limit, not the path, holds the rate down.
            self.reset_full(self.sample.rate);
            return false;
        }
        self.full_now
    }

    /// 15 % below what was too much, for others.
    pub(super) fn inflight_with_headroom(&self) -> u32 {
        if self.inflight_longterm == INFINITE {
            return INFINITE;
        }
        let headroom = (u64::from(self.inflight_longterm) * 15 / 100).max(1) as u32;
        self.inflight_longterm
            .saturating_sub(headroom)
            .max(MIN_CWND)
    }

    /// The limit rises by 1, 2, 4 ... segments in successive rounds of `ProbeUp`.
    fn raise_slope(&mut self, window: &Window) {
        let growth = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(UP_ROUNDS_MAX);
        self.up_acked_per_step = (window.cwnd / growth).max(1);
    }

    fn raise_longterm(&mut self, window: &Window) {
        if !window.cwnd_limited || window.cwnd < self.inflight_longterm {
            return;
        }
        self.up_acked += self.sample.acked;
        let steps = self.up_acked / self.up_acked_per_step;
        self.up_acked -= steps * self.up_acked_per_step;
        self.inflight_longterm += steps;
        if self.round_start {
            self.raise_slope(window);
        }
    }

    /// Whether it has decided the next state.
    fn adapt_longterm(&mut self, window: &Window) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.in_probe_bw() {
                if !self.sample.app_limited {
                    self.advance_max_rate();
                }
                if self.previous_precautionary && !self.previous_too_high {
                    self.start_refill(window);
                    return true;
                }
            }
        }
        if self.inflight_longterm != INFINITE && !self.is_inflight_too_high() {
            self.inflight_longterm = self.inflight_longterm.max(self.sample.sent_in_flight);
            if self.state == State::ProbeUp {
                self.raise_longterm(window);
            }
        }
        false
    }

    pub(super) fn handle_inflight_too_high(&mut self, window: &mut Window) {
        self.previous_too_high = true;
        self.is_probe_sample = false;
        if !self.sample.app_limited {
            let beta = (u64::from(self.target_inflight(window)) * 7 / 10) as u32;
            self.inflight_longterm = self.sample.sent_in_flight.max(beta);
        }
        if self.state == State::ProbeUp {
            self.undo.state = Some(State::ProbeUp);
            self.start_down(window);
        }
    }

    /// The BDP at the rate in use.
    pub(super) fn bdp(&self) -> u32 {
        self.bdp_of(self.rate, UNIT)
    }

    pub(super) fn bdp_of(&self, rate: Rate, gain: u32) -> u32 {
        self.min_rtt_us
            .map_or(self.initial_cwnd, |us| rate.product(us, gain))
    }
}
