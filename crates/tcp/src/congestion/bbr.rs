//! BBR version 1 as in Linux 6.x (`net/ipv4/tcp_bbr.c`; Cardwell and others, "BBR: congestion-based congestion
//! control", 2016): a model of the path, the largest delivery rate of ten rounds and the smallest RTT of ten
//! seconds, sets the pacing rate and the window. Loss and delay as such do not.
//!
//! 1. The clocks of the ten seconds and of `ProbeRtt` count nanoseconds; Linux counts jiffies.
//! 2. The phase in which the gain cycle begins comes from the connection's seeded random numbers.
//! 3. No `SO_MAX_PACING_RATE`.

use super::delivery_rate::{self, Gain, Rate, UNIT};
use super::windowed_max::WindowedMax;
use super::{
    AckSample, CaState, CongestionControl, CwndEvent, INFINITE_SSTHRESH, Made, Parameters, Window,
};
use bentpipe_base::time::Time;

mod aggregation;
mod model;
mod policer;
mod sending;
use aggregation::Aggregation;
use policer::Policer;

/// 2 / ln 2: the smallest that lets the rate double each round.
const HIGH_GAIN: Gain = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: Gain = UNIT * 1000 / 2885;
const PROBE_CWND_GAIN: Gain = 2 * UNIT;
/// The phases of `ProbeBw`, one smallest RTT each: probe, give way, cruise.
const CYCLE: [Gain; 8] = [
    UNIT * 5 / 4,
    UNIT * 3 / 4,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
    UNIT,
];
const MIN_CWND: u32 = 4;
const INITIAL_CWND: u32 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, as in Linux"
)]
pub struct Bbr {
    mode: Mode,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    /// Largest delivery rate; its clock counts rounds.
    max_rate: WindowedMax,
    rounds: u32,
    round_end: u64,
    round_start: bool,
    min_rtt_us: Option<u64>,
    min_rtt_at: Time,
    has_seen_rtt: bool,
    full_rate: Rate,
    full_rounds: u32,
    full: bool,
    cycle: usize,
    cycle_start: Time,
    probe_rtt_end: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    previous_state: CaState,
    packet_conservation: bool,
    /// Last window that was not cut for recovery or `ProbeRtt`.
    prior_cwnd: u32,
    policer: Policer,
    aggregation: Aggregation,
}

impl Bbr {
    pub fn new() -> Self {
        Self {
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            max_rate: WindowedMax::default(),
            rounds: 0,
            round_end: 0,
            round_start: false,
            min_rtt_us: None,
            min_rtt_at: Time::ZERO,
            has_seen_rtt: false,
            full_rate: Rate::default(),
            full_rounds: 0,
            full: false,
            cycle: 0,
            cycle_start: Time::ZERO,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            previous_state: CaState::Open,
            packet_conservation: false,
            prior_cwnd: 0,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
        }
    }

    fn max_rate(&self) -> Rate {
        Rate(self.max_rate.get())
    }

    fn rate(&self) -> Rate {
        self.policer.rate().unwrap_or_else(|| self.max_rate())
    }

    fn bdp(&self, rate: Rate, gain: Gain) -> u32 {
        self.min_rtt_us
            .map_or(INITIAL_CWND, |us| rate.product(us, gain))
    }

    /// `segments` and what the hosts' own batches need: three bursts, an even number.
    fn with_batches(&self, window: &Window, segments: u32) -> u32 {
        let even = (segments + 3 * delivery_rate::burst(window) + 1) & !1;
        let probes = self.mode == Mode::ProbeBw && self.cycle == 0;
        even + if probes { 2 } else { 0 }
    }

    fn inflight_target(&self, window: &Window, gain: Gain) -> u32 {
        self.with_batches(window, self.bdp(self.max_rate(), gain))
    }

    /// Segments in the network when the next paced burst leaves, of `in_flight` now.
    fn in_network_at_departure(&self, window: &Window, in_flight: u32) -> u32 {
        let wait_us = (window.next_departure - window.now).0.max(0) as u64 / 1000;
        let burst = if self.pacing_gain > UNIT {
            delivery_rate::burst(window)
        } else {
            0
        };
        (in_flight + burst).saturating_sub(self.rate().segments_in(wait_us) as u32)
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.rate().is_some() => (UNIT, PROBE_CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle], PROBE_CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}

pub(super) fn make(_: &mut Parameters) -> Made {
    Ok(Box::new(Bbr::new()))
}

impl CongestionControl for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn init(&mut self, window: &mut Window) {
        window.ssthresh = INFINITE_SSTHRESH;
        self.min_rtt_us = window.min_rtt.map(|rtt| rtt.0 as u64 / 1000);
        self.min_rtt_at = window.now;
        self.init_pacing_rate(window);
        self.policer.reset(window);
        self.aggregation.begin_epoch(window.now);
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        self.save_cwnd(window);
        window.ssthresh
    }

    /// Never asked: [`cong_control`](Self::cong_control) decides.
    fn cong_avoid(&mut self, _window: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, window: &mut Window, sample: &AckSample) {
        self.update_rate(window, sample);
        self.update_phase(window, sample);
        self.check_full(sample);
        self.check_drain(window);
        self.update_min_rtt(window, sample);
        self.update_gains();
        self.set_pacing_rate(window, self.pacing_gain);
        self.set_cwnd(window, sample);
    }

    fn controls_all(&self) -> bool {
        true
    }

    fn undo_cwnd(&mut self, window: &mut Window) -> u32 {
        self.full_rate = Rate::default();
        self.full_rounds = 0;
        self.policer.reset(window);
        window.cwnd
    }

    fn set_state(&mut self, window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            self.previous_state = CaState::Loss;
            self.full_rate = Rate::default();
            // A timeout ends a round.
            self.round_start = true;
            self.sample_policer(
                window,
                &AckSample {
                    losses: 1,
                    ..AckSample::default()
                },
            );
        }
    }

    fn cwnd_event(&mut self, window: &mut Window, event: CwndEvent) {
        if event != CwndEvent::TxStart || window.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin_epoch(window.now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(window, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(window),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn send_buffer_factor(&self) -> u32 {
        3
    }

    fn min_tso_segments(&self, window: &Window) -> u32 {
        delivery_rate::min_burst(window)
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
