//! What BBR believes of the path, and the modes by which it finds out: the delivery rate, whether the pipe is full,
//! the gain cycle, the smallest RTT (Linux's `bbr_update_model`).

use super::policer::Verdict;
use super::{Bbr, CYCLE, MIN_CWND, Mode};
use crate::congestion::delivery_rate::{Rate, UNIT};
use crate::congestion::{AckSample, Window};
use bentpipe_base::time::Nanos;
use core::cmp::Ordering;

/// The cycle begins in any of this many phases, never in the one that gives way.
const CYCLE_STARTS: u32 = 7;
const RATE_ROUNDS: u32 = 10;
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
const PROBE_RTT_TIME: Nanos = Nanos::from_millis(200);
/// The pipe is full when the rate has not grown by a quarter in three rounds.
const FULL_GROWTH: u64 = UNIT as u64 * 5 / 4;
const FULL_ROUNDS: u32 = 3;

impl Bbr {
    pub(super) fn update_rate(&mut self, window: &mut Window, sample: &AckSample) {
        self.round_start = false;
        if sample.delivered < 0 || sample.interval.0 < 1000 {
            return;
        }
        if sample.prior_delivered >= self.round_end {
            self.round_end = window.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(window, sample);
        let rate = Rate::of(sample.delivered as u64, sample.interval.0 as u64 / 1000);
        // What the application held back says nothing of the path, unless it is more than was known.
        if !sample.is_app_limited || rate >= self.max_rate() {
            self.max_rate.update(RATE_ROUNDS, self.rounds, rate.0);
        }
        self.aggregation
            .on_ack(window, sample, self.rate(), self.round_start);
    }

    pub(super) fn sample_policer(&mut self, window: &mut Window, sample: &AckSample) {
        let probing = self.mode == Mode::ProbeBw;
        match self
            .policer
            .on_ack(window, sample, self.round_start, probing)
        {
            Verdict::Nothing => {}
            Verdict::Policed => self.pacing_gain = UNIT,
            Verdict::Expired => self.enter_probe_bw(window),
        }
    }

    pub(super) fn update_phase(&mut self, window: &Window, sample: &AckSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let elapsed_us = (window.delivered_at - self.cycle_start).0 / 1000;
        let whole = self.min_rtt_us.is_some_and(|us| elapsed_us > us as i64);
        let in_flight = self.in_network_at_departure(window, sample.prior_in_flight);
        let over = match self.pacing_gain.cmp(&UNIT) {
            Ordering::Equal => whole,
            Ordering::Greater => {
                let target = self.inflight_target(window, self.pacing_gain);
                whole && (sample.losses > 0 || in_flight >= target)
            }
            Ordering::Less => whole || in_flight <= self.inflight_target(window, UNIT),
        };
        if over {
            self.next_phase(window);
        }
    }

    pub(super) fn check_full(&mut self, sample: &AckSample) {
        if self.full || !self.round_start || sample.is_app_limited {
            return;
        }
        if self.max_rate().0 >= (self.full_rate.0 * FULL_GROWTH) / u64::from(UNIT) {
            self.full_rate = self.max_rate();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    pub(super) fn check_drain(&mut self, window: &mut Window) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.ssthresh = self.inflight_target(window, UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network_at_departure(window, window.in_flight())
                <= self.inflight_target(window, UNIT)
        {
            self.enter_probe_bw(window);
        }
    }

    pub(super) fn update_min_rtt(&mut self, window: &mut Window, sample: &AckSample) {
        let expired = window.now - self.min_rtt_at > MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt {
            let us = rtt.0 as u64 / 1000;
            let lower = self.min_rtt_us.is_none_or(|min| us < min);
            if lower || (expired && !sample.is_ack_delayed) {
                self.min_rtt_us = Some(us);
                self.min_rtt_at = window.now;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd_for_probe_rtt(window);
        }
        if self.mode == Mode::ProbeRtt {
            // The low rate of this mode is our own doing.
            window.app_limited = (window.delivered + u64::from(window.in_flight())).max(1);
            if self.probe_rtt_end.is_none() && window.in_flight() <= MIN_CWND {
                self.probe_rtt_end = Some(window.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.round_end = window.delivered;
            } else if self.probe_rtt_end.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(window);
                }
            }
        }
        if sample.delivered > 0 {
            self.idle_restart = false;
        }
    }

    pub(super) fn save_cwnd_for_probe_rtt(&mut self, window: &Window) {
        self.mode = Mode::ProbeRtt;
        self.save_cwnd(window);
        self.probe_rtt_end = None;
    }

    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window) {
        if self.probe_rtt_end.is_none_or(|end| window.now <= end) {
            return;
        }
        self.min_rtt_at = window.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full {
            self.enter_probe_bw(window);
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn enter_probe_bw(&mut self, window: &mut Window) {
        self.mode = Mode::ProbeBw;
        self.cycle = CYCLE.len() - 1 - window.draw(CYCLE_STARTS) as usize;
        self.next_phase(window);
    }

    pub(super) fn next_phase(&mut self, window: &Window) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_start = window.delivered_at;
    }
}
