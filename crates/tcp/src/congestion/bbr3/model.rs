//! What BBR v3 believes of the path: rounds, rates, the full pipe, the smallest RTT, and what losses say
//! (draft-ietf-ccwg-bbr-06, sections 5.2.3, 5.3.1.2, 5.3.4.3 and 5.5).

use super::{Bbr3, INFINITE, Sample, State};
use crate::congestion::delivery_rate::Rate;
use crate::congestion::{AckSample, CaState, LostSegment, Window};
use bentpipe_base::time::Nanos;

/// A flight that loses more than this is too high: 2 %.
const LOSS_PERCENT: u64 = 2;
/// Lost ranges in a round that end `Startup`.
const STARTUP_LOSSES: u32 = 6;
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
const PROBE_RTT_INTERVAL: Nanos = Nanos::from_secs(5);
const PROBE_RTT_TIME: Nanos = Nanos::from_millis(200);
const FULL_ROUNDS: u32 = 3;
const DRAIN_ROUNDS: u32 = 3;
const EXTRA_ACKED_ROUNDS: u32 = 10;

impl Bbr3 {
    pub(super) fn max_rate(&self) -> Rate {
        self.max_rate[0].max(self.max_rate[1])
    }

    pub(super) fn update_model(&mut self, window: &mut Window, ack: &AckSample) {
        let valid = ack.delivered >= 0 && ack.interval.0 >= 1000;
        self.sample = Sample {
            rate: if valid {
                Rate::of(ack.delivered as u64, ack.interval.0 as u64 / 1000)
            } else {
                Rate::default()
            },
            acked: ack.acked_sacked,
            app_limited: ack.is_app_limited,
            sent_in_flight: ack.sent_in_flight,
            lost: window.lost.saturating_sub(ack.prior_lost),
        };
        self.round_start = false;
        self.loss_round_start = false;
        if valid {
            self.update_delivery_signals(window, ack);
            self.update_aggregation(window);
            self.check_full();
            self.check_startup_done(window, ack);
            self.check_drain_done(window);
            self.update_cycle(window);
        }
        self.update_min_rtt(window, ack);
        self.check_probe_rtt(window, ack);
        if self.loss_round_start {
            self.rate_latest = self.sample.rate;
            self.inflight_latest = ack.delivered as u32;
        }
        self.rate = self.max_rate().min(self.bandwidth_shortterm);
    }

    pub(super) fn start_round(&mut self, window: &Window) {
        self.round_end = window.delivered;
    }

    fn update_delivery_signals(&mut self, window: &Window, ack: &AckSample) {
        self.rate_latest = self.rate_latest.max(self.sample.rate);
        self.inflight_latest = self.inflight_latest.max(ack.delivered as u32);
        if ack.prior_delivered >= self.loss_round_end {
            self.loss_round_end = window.delivered;
            self.loss_round_start = true;
        }
        if ack.prior_delivered >= self.round_end {
            self.start_round(window);
            self.round_count += 1;
            self.rounds_since_up += 1;
            self.round_start = true;
        }
        let rate = self.sample.rate;
        if rate.0 > 0 && (rate >= self.max_rate() || !ack.is_app_limited) {
            self.max_rate[1] = self.max_rate[1].max(rate);
        }
        if self.loss_round_start {
            if self.loss_in_round && !self.state.accelerates() {
                self.adapt_to_losses(window);
            }
            self.loss_in_round = false;
        }
    }

    /// The maximum covers this cycle and the last.
    pub(super) fn advance_max_rate(&mut self) {
        if self.max_rate[1].0 > 0 {
            self.max_rate = [self.max_rate[1], Rate::default()];
        }
    }

    /// Once per round with losses, outside probes: towards what was delivered, by at most 30 %.
    fn adapt_to_losses(&mut self, window: &Window) {
        if self.bandwidth_shortterm == Rate::INFINITE {
            self.bandwidth_shortterm = self.max_rate();
        }
        if self.inflight_shortterm == INFINITE {
            self.inflight_shortterm = window.cwnd;
        }
        let beta = Rate(self.bandwidth_shortterm.0 / 10 * 7);
        self.bandwidth_shortterm = self.rate_latest.max(beta);
        self.inflight_shortterm = self
            .inflight_latest
            .max((u64::from(self.inflight_shortterm) * 7 / 10) as u32);
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.rate_latest = Rate::default();
        self.inflight_latest = 0;
    }

    pub(super) fn reset_shortterm(&mut self) {
        self.bandwidth_shortterm = Rate::INFINITE;
        self.inflight_shortterm = INFINITE;
    }

    fn update_aggregation(&mut self, window: &Window) {
        let elapsed_us = (window.now - self.extra_start).0.max(0) as u64 / 1000;
        let mut expected = self.rate.segments_in(elapsed_us);
        if self.extra_delivered <= expected {
            self.extra_delivered = 0;
            self.extra_start = window.now;
            expected = 0;
        }
        self.extra_delivered += u64::from(self.sample.acked);
        let extra = self
            .extra_delivered
            .saturating_sub(expected)
            .min(u64::from(window.cwnd));
        let rounds = if self.full_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        self.extra_acked.update(rounds, self.round_count, extra);
    }

    pub(super) fn reset_full(&mut self, rate: Rate) {
        self.full_rate = rate;
        self.full_rounds = 0;
        self.full_now = false;
    }

    fn check_full(&mut self) {
        if self.full_now || !self.round_start || self.sample.app_limited {
            return;
        }
        if self.sample.rate.0 >= self.full_rate.0 / 4 * 5 {
            self.reset_full(self.sample.rate);
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.full_reached |= self.full_now;
    }

    pub(super) fn is_inflight_too_high(&self) -> bool {
        self.sample.lost * 100 > u64::from(self.sample.sent_in_flight) * LOSS_PERCENT
    }

    fn check_startup_done(&mut self, window: &Window, ack: &AckSample) {
        if self.state != State::Startup {
            return;
        }
        if !self.full_reached {
            self.startup_losses += u32::from(ack.losses > 0);
            if self.loss_round_start {
                if window.state == CaState::Recovery
                    && self.startup_losses >= STARTUP_LOSSES
                    && self.is_inflight_too_high()
                {
                    self.undo.state = Some(State::Startup);
                    self.full_reached = true;
                    self.inflight_longterm = self.bdp().max(self.inflight_latest);
                }
                self.startup_losses = 0;
            }
        }
        if self.full_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    fn check_drain_done(&mut self, window: &mut Window) {
        if self.state == State::Drain
            && (window.in_flight() <= self.inflight_target(window)
                || self.round_count > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down(window);
        }
    }

    /// Section 5.5.10.2: a segment sent while probing was lost; was the flight then too high?
    pub(super) fn handle_lost(&mut self, window: &mut Window, segment: &LostSegment) {
        self.note_loss(window);
        if !self.is_probe_sample {
            return;
        }
        self.sample.sent_in_flight = segment.sent_in_flight;
        self.sample.lost = window.lost.saturating_sub(segment.prior_lost);
        self.sample.app_limited = segment.app_limited;
        if self.is_inflight_too_high() {
            self.sample.sent_in_flight = segment.sent_in_flight.saturating_sub(1);
            self.handle_inflight_too_high(window);
        }
    }

    fn note_loss(&mut self, window: &Window) {
        if !self.loss_in_round {
            self.loss_round_end = window.delivered;
            self.save_state_upon_loss(window);
        }
        self.loss_in_round = true;
    }

    /// A tail-loss probe has repaired a loss that nothing else has told of.
    pub(super) fn handle_probe_repair(&mut self, window: &mut Window) {
        self.note_loss(window);
        if !self.is_probe_sample {
            return;
        }
        self.sample.lost = 1;
        self.sample.sent_in_flight = self.inflight_latest + 1;
        if self.is_inflight_too_high() {
            self.handle_inflight_too_high(window);
        }
    }

    fn save_state_upon_loss(&mut self, window: &Window) {
        self.save_cwnd(window);
        self.undo.state = None;
        self.undo.bandwidth_shortterm = self.bandwidth_shortterm;
        self.undo.inflight_shortterm = self.inflight_shortterm;
        self.undo.inflight_longterm = self.inflight_longterm;
    }

    pub(super) fn handle_spurious_loss(&mut self, window: &Window) {
        self.loss_in_round = false;
        self.reset_full(Rate::default());
        self.bandwidth_shortterm = self.bandwidth_shortterm.max(self.undo.bandwidth_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        let probing_rtt = self.state == State::ProbeRtt;
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_reached = false;
                if !probing_rtt {
                    self.state = State::Startup;
                }
            }
            Some(State::ProbeUp) if self.state != State::ProbeUp && !probing_rtt => {
                self.start_refill(window);
            }
            _ => {}
        }
    }

    fn update_min_rtt(&mut self, window: &Window, ack: &AckSample) {
        self.probe_rtt_expired = window.now - self.probe_rtt_min_at > PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt {
            let us = rtt.0 as u64 / 1000;
            if self.probe_rtt_expired || self.probe_rtt_min_us.is_none_or(|min| us < min) {
                self.probe_rtt_min_us = Some(us);
                self.probe_rtt_min_at = window.now;
            }
        }
        let expired = window.now - self.min_rtt_at > MIN_RTT_WINDOW;
        let lower = match (self.probe_rtt_min_us, self.min_rtt_us) {
            (Some(probe), Some(min)) => probe < min,
            (probe, _) => probe.is_some(),
        };
        if lower || expired {
            self.min_rtt_us = self.probe_rtt_min_us;
            self.min_rtt_at = self.probe_rtt_min_at;
        }
    }

    fn check_probe_rtt(&mut self, window: &mut Window, ack: &AckSample) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd(window);
            self.probe_rtt_end = None;
            self.ack_phase = super::AckPhase::ProbeStopping;
            self.start_round(window);
        }
        if self.state == State::ProbeRtt {
            window.app_limited = (window.delivered + u64::from(window.in_flight())).max(1);
            if self.probe_rtt_end.is_some() {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(window);
                }
            } else if window.in_flight() <= self.probe_rtt_cwnd() {
                self.probe_rtt_end = Some(window.now + PROBE_RTT_TIME);
                self.probe_rtt_round_done = false;
                self.start_round(window);
            }
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window) {
        if self.probe_rtt_end.is_none_or(|end| window.now <= end) {
            return;
        }
        self.probe_rtt_min_at = window.now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.reset_shortterm();
        if self.full_reached {
            self.start_down(window);
            self.state = State::ProbeCruise;
        } else {
            self.state = State::Startup;
        }
    }
}
