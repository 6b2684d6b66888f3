//! BBR version 3 after draft-ietf-ccwg-bbr-06. As version 1 it paces at what the path delivers; beyond that it keeps the
//! flight below what lost more than 2 % of it (`inflight_longterm`), slows down to what is delivered when packets
//! are lost outside a probe (`bandwidth_shortterm`, `inflight_shortterm`), and probes in four steps: down, cruise,
//! refill, up.
//!
//! Compared with the draft step by step, and with Google's Linux branch (`net/ipv4/tcp_bbr.c`, version 3) where the draft leaves
//! something open. Never compared with a kernel: none in use here has it. Departures from the draft:
//!
//! 1. Counts segments where the draft counts bytes. Segments are lost one at a time, hence the part of a burst that
//!    was safe (`InflightAtLoss`) is all that was sent before the lost segment.
//! 2. Lost ranges in a round of `Startup` are counted as ACKs that tell of a loss, as Google's branch does.
//! 3. ECN changes nothing: the draft defines no response to it.
//! 4. An ACK without a valid rate sample updates neither rates nor rounds.
//! 5. SACK is taken as present (`C.has_selective_acks`): without it, neither does `Startup` end at the first loss, nor is a flight too
//!    high that lost one segment.
//! 6. `SaveStateUponLoss` is called at the first loss of a round (`NoteLoss`) and not again when a recovery or a timeout begins. As in
//!    Linux, losses are marked before that: by then the model may have been reduced, and cwnd been cut.
//! 7. A timeout outside a probe starts `inflight_shortterm` at cwnd before it, as Google's branch does. In the draft it would start at
//!    the next round's cwnd, which the timeout has cut to a segment.
//! 8. A loss that a tail-loss probe repaired counts as one lost segment, as in Google's branch; the draft says only that it counts.
//! 9. Where nothing was sampled in a cycle, the maximum of the rate keeps that of the cycle before, as in Google's branch.
//! 10. The initial pacing rate too is 1 % below what it is computed from, as in Google's branch.
//! 11. The send quantum is Linux's (`tcp_tso_autosize`), which is larger than the draft's where the RTT is below 3 ms.
//! 12. In `Drain` `inflight_longterm` does not bound cwnd: so says `BoundCwndForModel`, though not the table of section 5.6.1.
//!
//! Google's branch differs from the draft in more, and there the draft is followed: gains of `Drain` (0.35) and `ProbeDown` (0.91), a
//! full window's flight in `ProbeRtt`, at most 100 ms of extra acknowledged data over 5 to 10 rounds, a plateau found at any ACK, the flight
//! at the earliest departure, a reset of the plateau's estimate by a timeout, and ECN.

use super::delivery_rate::{Gain, Rate, UNIT};
use super::windowed_max::WindowedMax;
use super::{
    AckSample, CaState, CongestionControl, CwndEvent, LostSegment, Made, Parameters, Window,
};
use bentpipe_base::time::{Nanos, Time};

mod model;
mod probing;
mod sending;

const STARTUP_GAIN: Gain = UNIT * 277 / 100 + 1;
const DRAIN_GAIN: Gain = UNIT / 2;
const DOWN_GAIN: Gain = UNIT * 90 / 100;
const UP_GAIN: Gain = UNIT * 5 / 4;
const CWND_GAIN: Gain = UNIT * 2;
const UP_CWND_GAIN: Gain = UNIT * 9 / 4;
const PROBE_RTT_CWND_GAIN: Gain = UNIT / 2;
const MIN_CWND: u32 = 4;
/// Least send quantum in segments (section 5.6.3).
const MIN_BURST: u32 = 2;
/// No limit of the flight is known.
const INFINITE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeDown,
    ProbeCruise,
    ProbeRefill,
    ProbeUp,
    ProbeRtt,
}

impl State {
    fn in_probe_bw(self) -> bool {
        matches!(
            self,
            Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill | Self::ProbeUp
        )
    }

    /// Whether losses are what the present probe risked.
    fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeRefill | Self::ProbeUp)
    }

    /// Pacing and window gain (section 5.6.1).
    fn gains(self) -> (Gain, Gain) {
        match self {
            Self::Startup => (STARTUP_GAIN, CWND_GAIN),
            Self::Drain => (DRAIN_GAIN, CWND_GAIN),
            Self::ProbeDown => (DOWN_GAIN, CWND_GAIN),
            Self::ProbeCruise | Self::ProbeRefill => (UNIT, CWND_GAIN),
            Self::ProbeUp => (UP_GAIN, UP_CWND_GAIN),
            Self::ProbeRtt => (UNIT, PROBE_RTT_CWND_GAIN),
        }
    }
}

/// What the ACKs of now say of which part of a bandwidth probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What a spurious loss recovery took, to be given back.
#[derive(Debug)]
struct Undo {
    state: Option<State>,
    bandwidth_shortterm: Rate,
    inflight_shortterm: u32,
    inflight_longterm: u32,
}

/// The ACK under way, as far as more than one step reads it.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    rate: Rate,
    acked: u32,
    app_limited: bool,
    sent_in_flight: u32,
    lost: u64,
}

#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, named as in the draft"
)]
pub struct Bbr3 {
    state: State,
    sample: Sample,
    // Rounds (section 5.5.1).
    round_count: u32,
    round_end: u64,
    round_start: bool,
    // Rate: of the last and the present probing cycle, and what is paced at.
    max_rate: [Rate; 2],
    rate: Rate,
    // Full pipe (section 5.3.1.2).
    full_rate: Rate,
    full_rounds: u32,
    full_now: bool,
    full_reached: bool,
    drain_start_round: u32,
    startup_losses: u32,
    // Delay and `ProbeRtt` (section 5.3.4).
    min_rtt_us: Option<u64>,
    min_rtt_at: Time,
    probe_rtt_min_us: Option<u64>,
    probe_rtt_min_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_end: Option<Time>,
    probe_rtt_round_done: bool,
    has_seen_rtt: bool,
    idle_restart: bool,
    // Bandwidth probing (section 5.3.3).
    ack_phase: AckPhase,
    cycle_start: Time,
    probe_wait: Nanos,
    rounds_since_up: u32,
    up_acked: u32,
    up_acked_per_step: u32,
    up_rounds: u32,
    is_probe_sample: bool,
    previous_too_high: bool,
    previous_precautionary: bool,
    // Congestion (section 5.5.10).
    loss_round_end: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    rate_latest: Rate,
    inflight_latest: u32,
    bandwidth_shortterm: Rate,
    inflight_shortterm: u32,
    inflight_longterm: u32,
    undo: Undo,
    prior_cwnd: u32,
    initial_cwnd: u32,
    // ACK aggregation (section 5.5.9).
    extra_acked: WindowedMax,
    extra_start: Time,
    extra_delivered: u64,
}

impl Bbr3 {
    pub fn new() -> Self {
        Self {
            state: State::Startup,
            sample: Sample::default(),
            round_count: 0,
            round_end: 0,
            round_start: false,
            max_rate: [Rate::default(); 2],
            rate: Rate::default(),
            full_rate: Rate::default(),
            full_rounds: 0,
            full_now: false,
            full_reached: false,
            drain_start_round: 0,
            startup_losses: 0,
            min_rtt_us: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min_us: None,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            has_seen_rtt: false,
            idle_restart: false,
            ack_phase: AckPhase::Init,
            cycle_start: Time::ZERO,
            probe_wait: Nanos::ZERO,
            rounds_since_up: 0,
            up_acked: 0,
            up_acked_per_step: INFINITE,
            up_rounds: 0,
            is_probe_sample: false,
            previous_too_high: false,
            previous_precautionary: false,
            loss_round_end: 0,
            loss_round_start: false,
            loss_in_round: false,
            rate_latest: Rate::default(),
            inflight_latest: 0,
            bandwidth_shortterm: Rate::INFINITE,
            inflight_shortterm: INFINITE,
            inflight_longterm: INFINITE,
            undo: Undo {
                state: None,
                bandwidth_shortterm: Rate::INFINITE,
                inflight_shortterm: INFINITE,
                inflight_longterm: INFINITE,
            },
            prior_cwnd: 0,
            initial_cwnd: 0,
            extra_acked: WindowedMax::default(),
            extra_start: Time::ZERO,
            extra_delivered: 0,
        }
    }
}

pub(super) fn make(_: &mut Parameters) -> Made {
    Ok(Box::new(Bbr3::new()))
}

impl CongestionControl for Bbr3 {
    fn name(&self) -> &'static str {
        "bbr3"
    }

    fn init(&mut self, window: &mut Window) {
        self.min_rtt_us = window.min_rtt.map(|rtt| rtt.0 as u64 / 1000);
        self.probe_rtt_min_us = self.min_rtt_us;
        self.min_rtt_at = window.now;
        self.probe_rtt_min_at = window.now;
        self.extra_start = window.now;
        self.initial_cwnd = window.initial_cwnd;
        self.init_pacing_rate(window);
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        self.save_cwnd(window);
        window.ssthresh
    }

    /// Never asked: [`cong_control`](Self::cong_control) decides.
    fn cong_avoid(&mut self, _window: &mut Window, _acked: u32) {}

    fn cong_control(&mut self, window: &mut Window, sample: &AckSample) {
        self.update_model(window, sample);
        self.set_pacing_rate(window, self.state.gains().0);
        self.set_cwnd(window);
    }

    fn controls_all(&self) -> bool {
        true
    }

    fn segment_lost(&mut self, window: &mut Window, segment: &LostSegment) {
        self.handle_lost(window, segment);
    }

    fn undo_cwnd(&mut self, window: &mut Window) -> u32 {
        self.handle_spurious_loss(window);
        window.cwnd.max(self.prior_cwnd)
    }

    fn set_state(&mut self, window: &mut Window, new: CaState) {
        if new == CaState::Loss {
            if self.inflight_shortterm == INFINITE && !self.state.accelerates() {
                self.inflight_shortterm = window.cwnd.max(self.prior_cwnd);
            }
        } else if window.state >= CaState::Recovery && new < CaState::Recovery {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
    }

    fn cwnd_event(&mut self, window: &mut Window, event: CwndEvent) {
        if event == CwndEvent::TlpRecovered {
            self.handle_probe_repair(window);
        }
        if event != CwndEvent::TxStart || window.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.extra_start = window.now;
        if self.state.in_probe_bw() {
            self.set_pacing_rate(window, UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(window);
        }
    }

    fn send_buffer_factor(&self) -> u32 {
        3
    }

    fn min_tso_segments(&self, window: &Window) -> u32 {
        let _ = window;
        MIN_BURST
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
