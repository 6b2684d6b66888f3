//! Careful Resume (RFC 9959; draft-ietf-tsvwg-careful-resume): a connection that knows what an earlier one could use of the same
//! path jumps to half of that once its first window has arrived, paced over a round trip, and checks it before it goes on.
//!
//! - Reconnaissance: slow start, until all of the initial window is acknowledged without congestion and cwnd limits the sender.
//!   An RTT of half the saved one or less, or of more than ten times it, says that the path is another one.
//! - Unvalidated: cwnd is half of what was saved; what leaves is paced over an RTT. It ends with the first ACK of what it sent,
//!   after an RTT, or when the window is full.
//! - Validating: slow start from what is in flight, until the last unvalidated segment is acknowledged.
//! - Safe Retreat, at a loss or an ECN echo in the last two: cwnd comes down to half of what has been delivered since the jump
//!   and what was in flight before it (the pipe size). When the repair is done, ssthresh is half of the pipe size.
//! - Normal: slow start, and what follows it.
//!
//! What was saved comes with the lab (`saved_cwnd`, `saved_rtt`), so it is the same in each run. An earlier connection of the
//! same run saves nothing. The receiver must allow the jump: a receive buffer that begins at Linux's 128 kB holds it back.
//!
//! 1. Counts segments where the RFC counts bytes.
//! 2. Slow start is Linux's `HyStart`, after the jump with its rules for paced senders: a train of ACKs ends slow start when it is
//!    longer than an RTT.
//! 3. The Observation Phase, and how long what it saved is good for, are the lab's business.
//! 4. cwnd comes down by PRR (RFC 6937): over the recovery, not at once, and to half of the pipe size at the loss.
//! 5. CUBIC does not take the window of the jump for the maximum that the path held (`W_max`): it knows none after Safe Retreat.
//! 6. A jump that would be no larger than cwnd is not made: the phase is Normal.

use super::hystart::HyStart;
use super::{CaState, Window};
use bentpipe_base::time::{Nanos, Time};

/// What an earlier connection found.
#[derive(Clone, Copy, Debug)]
pub struct Saved {
    pub cwnd_bytes: u64,
    pub rtt: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Reconnaissance,
    Unvalidated {
        /// Sequence number of the first segment of the jump, and when it began.
        first: u64,
        since: Time,
    },
    Validating {
        /// `snd_nxt` at the end of the jump.
        last: u64,
    },
    SafeRetreat {
        /// To which the loss set ssthresh: another one after the recovery says that it was undone.
        ssthresh: u32,
    },
    Normal,
}

#[derive(Debug)]
pub struct CarefulResume {
    saved: Saved,
    phase: Phase,
    /// End of the initial window in the stream, once slow start has begun.
    initial_end: Option<u64>,
    /// Segments known to have passed the path.
    pipe_size: u32,
    delivered: u64,
    hystart: HyStart,
}

impl CarefulResume {
    pub fn new(saved: Saved) -> Self {
        Self {
            saved,
            phase: Phase::Reconnaissance,
            initial_end: None,
            pipe_size: 0,
            delivered: 0,
            hystart: HyStart::new(),
        }
    }

    /// Slow start begins; not for the first time after a timeout.
    pub fn restart(&mut self, window: &Window) {
        if self.initial_end.is_some() {
            self.phase = Phase::Normal;
        }
        let initial_bytes = u64::from(window.initial_cwnd) * u64::from(window.mss);
        self.initial_end = Some(window.snd_una + initial_bytes);
        self.hystart.restart(window);
    }

    /// Each ACK, before losses are marked.
    pub fn on_delivered(&mut self, window: &mut Window) {
        let delivered = (window.delivered - self.delivered) as u32;
        self.delivered = window.delivered;
        self.pipe_size = self.pipe_size.saturating_add(delivered);
        match self.phase {
            Phase::Unvalidated { first, since } => {
                let ended = window.snd_una > first
                    || window.in_flight() >= window.cwnd
                    || window.now - since > window.srtt;
                if ended {
                    self.validate(window);
                }
            }
            Phase::Validating { last } if window.snd_una >= last => self.phase = Phase::Normal,
            _ => {}
        }
    }

    /// The jump has been sent, or as much of it as there was data for.
    fn validate(&mut self, window: &mut Window) {
        let flight = window.in_flight();
        if flight < window.initial_cwnd || flight <= self.pipe_size {
            window.cwnd = self.pipe_size.max(window.initial_cwnd).min(window.cwnd);
            self.phase = Phase::Normal;
        } else {
            window.cwnd = flight.min(window.cwnd);
            self.phase = Phase::Validating {
                last: window.snd_nxt,
            };
        }
        self.hystart.expect_pacing();
        self.hystart.restart(window);
    }

    /// An ACK in slow start with this RTT.
    pub fn on_ack(&mut self, window: &mut Window, rtt: Nanos, delay_min: Nanos) {
        if !matches!(self.phase, Phase::Unvalidated { .. }) {
            self.hystart.on_ack(window, rtt, delay_min);
        }
    }

    /// Grows cwnd in slow start, where cwnd limits the sender.
    pub fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        if let Phase::Unvalidated { .. } = self.phase {
            return 0;
        }
        let left = window.slow_start(acked);
        if self.phase == Phase::Reconnaissance {
            let initial_acked = self.initial_end.is_some_and(|end| window.snd_una >= end);
            if window.state != CaState::Open || !self.is_same_path(window) {
                self.phase = Phase::Normal;
            } else if initial_acked {
                self.jump(window);
            }
        }
        left
    }

    fn is_same_path(&self, window: &Window) -> bool {
        let saved = self.saved.rtt.0;
        window
            .min_rtt
            .is_some_and(|rtt| rtt.0 > saved / 2 && rtt.0 <= saved.saturating_mul(10))
    }

    fn jump(&mut self, window: &mut Window) {
        let half = self.saved.cwnd_bytes / 2 / u64::from(window.mss);
        let jump = u32::try_from(half)
            .unwrap_or(u32::MAX)
            .min(window.cwnd_clamp);
        if jump <= window.cwnd {
            self.phase = Phase::Normal;
            return;
        }
        self.phase = Phase::Unvalidated {
            first: window.snd_nxt,
            since: window.now,
        };
        self.pipe_size = window.in_flight();
        window.cwnd = jump;
    }

    /// Congestion: the new ssthresh, where what may have caused it was the jump.
    pub fn on_congestion(&mut self, window: &Window) -> Option<u32> {
        match self.phase {
            Phase::Unvalidated { .. } | Phase::Validating { .. } => {
                let ssthresh = (self.pipe_size / 2).clamp(2, window.cwnd.max(2));
                self.phase = Phase::SafeRetreat { ssthresh };
                Some(ssthresh)
            }
            _ => {
                self.phase = Phase::Normal;
                None
            }
        }
    }

    /// A reduction of the window is complete.
    pub fn on_reduced(&mut self, window: &mut Window) {
        if let Phase::SafeRetreat { ssthresh } = self.phase {
            if window.ssthresh == ssthresh {
                window.ssthresh = (self.pipe_size / 2).max(2);
            }
            self.phase = Phase::Normal;
        }
    }

    /// Whether what leaves now is to be spaced over a round trip.
    pub fn paces(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::INFINITE_SSTHRESH;
    use crate::congestion::reno::Reno;
    use crate::congestion::testing::Flow;
    use crate::congestion::{Choice, Value};

    const RTT: Nanos = Nanos::from_millis(500);
    const MSS: f64 = 1448.0;

    /// 1000 segments/s and 500 ms: a BDP of 500 segments.
    fn flow(saved_segments: u32, saved_rtt: Nanos, queue: i64) -> Flow<Reno> {
        let choice = Choice::from("reno")
            .with("slow_start", Value::Text("careful-resume".into()))
            .with("saved_cwnd", Value::Number(f64::from(saved_segments) * MSS))
            .with("saved_rtt", Value::Number(saved_rtt.0 as f64));
        Flow::new(Reno::of(&choice), 1000, RTT, queue)
    }

    fn phase(flow: &Flow<Reno>) -> Phase {
        flow.control.careful_resume().expect("chosen").phase
    }

    fn ms(ms: i64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn the_second_round_trip_carries_half_of_what_was_saved_paced_over_it() {
        let mut flow = flow(500, RTT, 1000);
        let mut seen = vec![];
        let note = |seen: &mut Vec<&str>, phase| {
            let name = match phase {
                Phase::Reconnaissance => "reconnaissance",
                Phase::Unvalidated { .. } => "unvalidated",
                Phase::Validating { .. } => "validating",
                Phase::SafeRetreat { .. } => "safe retreat",
                Phase::Normal => "normal",
            };
            if seen.last() != Some(&name) {
                seen.push(name);
            }
        };
        flow.run_until(ms(505), |_| {});
        assert_eq!(phase(&flow), Phase::Reconnaissance);
        flow.run_until(ms(515), |flow| note(&mut seen, phase(flow)));
        assert_eq!(flow.window.cwnd, 250);
        // Some 20 segments of the first round trip's slow start, and then one each two milliseconds.
        flow.run_until(ms(760), |_| {});
        let half_way = flow.window.in_flight();
        assert!((130..=150).contains(&half_way), "{half_way}");
        flow.run_until(ms(2500), |flow| note(&mut seen, phase(flow)));
        assert_eq!(
            seen,
            ["reconnaissance", "unvalidated", "validating", "normal"]
        );
        assert_eq!(
            (flow.window.lost, flow.window.ssthresh),
            (0, INFINITE_SSTHRESH)
        );
        // Ten round trips of slow start would have been wanted for that.
        assert!(flow.window.delivered > 900, "{}", flow.window.delivered);
    }

    #[test]
    fn another_rtt_says_that_the_path_is_another_one() {
        for saved_rtt in [1000, 1001, 49] {
            let mut flow = flow(500, Nanos::from_millis(saved_rtt), 1000);
            flow.run_until(ms(600), |_| {});
            assert_eq!((phase(&flow), flow.window.cwnd), (Phase::Normal, 20));
        }
        for saved_rtt in [990, 50] {
            let mut flow = flow(500, Nanos::from_millis(saved_rtt), 1000);
            flow.run_until(ms(600), |_| {});
            assert_eq!(flow.window.cwnd, 250, "{saved_rtt}");
        }
    }

    #[test]
    fn a_jump_that_overflows_the_path_ends_at_half_of_what_passed() {
        // Eight BDP were saved; the path has half of one left for its queue.
        let mut flow = flow(4000, RTT, 250);
        let mut at_loss = None;
        flow.run_until(ms(6000), |flow| {
            if let Phase::SafeRetreat { ssthresh } = phase(flow) {
                at_loss.get_or_insert(ssthresh);
                assert!(flow.window.cwnd <= ssthresh);
            }
        });
        let at_loss = at_loss.expect("an overflow");
        assert!((100..=400).contains(&at_loss), "{at_loss}");
        assert_eq!(phase(&flow), Phase::Normal);
        let ssthresh = flow.window.ssthresh;
        assert!(ssthresh >= at_loss && ssthresh < 2000, "{ssthresh}");
    }

    #[test]
    fn a_loss_before_the_jump_or_a_timeout_ends_it_for_good() {
        let saved = Saved {
            cwnd_bytes: 1_000_000,
            rtt: RTT,
        };
        let mut w = crate::congestion::testing::window(10, RTT);
        let mut resume = CarefulResume::new(saved);
        resume.restart(&w);
        assert_eq!(resume.on_congestion(&w), None);
        w.view.snd_una = 10 * 1448;
        resume.grow(&mut w, 1);
        assert_eq!((resume.phase, w.cwnd), (Phase::Normal, 11));

        let mut resume = CarefulResume::new(saved);
        resume.restart(&w);
        resume.restart(&w);
        resume.grow(&mut w, 1);
        assert_eq!((resume.phase, w.cwnd), (Phase::Normal, 12));
    }

    #[test]
    fn a_sender_without_data_for_the_jump_goes_on_with_what_passed() {
        let mut w = crate::congestion::testing::window(20, RTT);
        let mut resume = CarefulResume::new(Saved {
            cwnd_bytes: 1_000_000,
            rtt: RTT,
        });
        resume.restart(&w);
        w.view.snd_una = 10 * 1448;
        w.view.delivered = 11;
        resume.on_delivered(&mut w);
        w.view.packets_out = 10;
        resume.grow(&mut w, 1);
        assert_eq!(w.cwnd, 345);
        // Nothing more is sent, and all that was in flight arrives.
        w.view.now += Nanos(RTT.0 + 1);
        w.view.delivered = 21;
        w.view.packets_out = 0;
        resume.on_delivered(&mut w);
        assert_eq!((resume.phase, w.cwnd), (Phase::Normal, 20));
    }
}
