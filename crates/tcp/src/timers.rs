//! One socket's timers. As in Linux one slot is shared by the retransmission timeout, the zero-window probe, the tail-loss
//! probe and RACK's reordering timer; delayed ACK, ACK compression, pacing and a slow reader have their own.
//!
//! The kernel's wheel (`kernel/time/timer.c`) never fires early, and late by up to a tick below 63 ticks ahead, by up to 8
//! below 504, and so on: so an RTO of a second comes up to 32 ms later at HZ = 250. Pacing and ACK compression have fine timers.
//!
//! 1. Where the ticks lie is drawn per connection, not per host.

use super::Socket;
use super::rtt::RTO_MAX;
use super::socket::{Outbox, State};
use bentpipe_base::time::{Nanos, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retransmit {
    Timeout,
    Probe,
    LossProbe,
    Reorder,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Timers {
    pub retransmit: Option<(Retransmit, Time)>,
    pub backoff: u32,
    pub delayed_ack: Option<Time>,
    pub compressed_ack: Option<Time>,
    pub pacing: Option<Time>,
    pub read: Option<Time>,
    /// The writer, woken because there is space, runs.
    pub writer: Option<Time>,
    tick: Nanos,
    /// Of the ticks, before time zero.
    phase: Nanos,
}

/// Ticks covered by each level of the wheel at the granularity of the first; each next is eight times as coarse.
const WHEEL: i64 = 63;

impl Timers {
    pub fn new(tick: Nanos, random: u64) -> Self {
        let ticks = (random & 0xffff_ffff) as i64;
        Self {
            tick,
            phase: Nanos(if tick.0 > 0 { ticks % (tick.0 << 9) } else { 0 }),
            ..Self::default()
        }
    }

    /// When the wheel fires a timer that is set at `now` for so long.
    pub fn expiry(&self, now: Time, after: Nanos) -> Time {
        let tick = self.tick.0;
        if tick == 0 {
            return now + after;
        }
        let ticks = (after.0 + tick - 1) / tick;
        let expires = (now.0 + self.phase.0).div_euclid(tick) + ticks;
        let mut shift = 0;
        while ticks >= WHEEL << shift {
            shift += 3;
        }
        let fires = ((expires >> shift) + 1) << shift;
        Time(fires * tick - self.phase.0)
    }

    /// The first of those that are armed. Asked after every call, so it takes no branch per timer.
    pub fn next(&self) -> Option<Time> {
        let at = |timer: Option<Time>| timer.unwrap_or(Time::NEVER);
        let first = at(self.retransmit.map(|(_, at)| at))
            .min(at(self.delayed_ack))
            .min(at(self.compressed_ack))
            .min(at(self.pacing))
            .min(at(self.read))
            .min(at(self.writer));
        (first < Time::NEVER).then_some(first)
    }

    pub fn arm(&mut self, kind: Retransmit, now: Time, after: Nanos) {
        let after = Nanos(after.0.clamp(0, RTO_MAX.0));
        self.retransmit = Some((kind, self.expiry(now, after)));
    }

    pub fn retransmit_in(&mut self, now: Time, after: Nanos) {
        self.arm(Retransmit::Timeout, now, after);
    }

    pub fn clear_retransmit(&mut self) {
        self.retransmit = None;
    }

    /// Doubles the timeout (RFC 6298, section 5.5) and arms it.
    pub fn back_off(&mut self, now: Time, rto: Nanos) {
        self.backoff = (self.backoff + 1).min(16);
        self.retransmit_in(now, Nanos((rto.0 << self.backoff).min(RTO_MAX.0)));
    }

    pub fn pending(&self) -> Option<Retransmit> {
        self.retransmit.map(|(kind, _)| kind)
    }
}

fn due(timer: &mut Option<Time>, now: Time) -> bool {
    let fires = timer.is_some_and(|at| at <= now);
    if fires {
        *timer = None;
    }
    fires
}

impl Socket {
    /// Runs what is due at `now`.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox) {
        self.window.view.now = now;
        if let Some((kind, at)) = self.timers.retransmit
            && at <= now
        {
            // As `tcp_write_timer_handler`: what follows a probe or RACK's timer still sees which of them it was, and so takes
            // the time that has passed off the timeout.
            if matches!(kind, Retransmit::Timeout | Retransmit::Probe) {
                self.timers.retransmit = None;
            }
            match kind {
                _ if matches!(self.state, State::SynSent | State::SynReceived) => {
                    self.syn_timer(out);
                }
                Retransmit::Timeout => self.retransmission_timeout(out),
                Retransmit::Probe => self.probe_zero_window(out),
                Retransmit::LossProbe => self.send_loss_probe(out),
                Retransmit::Reorder => self.reorder_timeout(out),
            }
        }
        if due(&mut self.timers.pacing, now) {
            self.resume_paced(out);
        }
        if due(&mut self.timers.delayed_ack, now) {
            self.delayed_ack_timeout(out);
        }
        if due(&mut self.timers.compressed_ack, now) {
            self.compressed_ack_timeout(out);
        }
        if due(&mut self.timers.read, now) {
            self.read_slowly(out);
        }
        if due(&mut self.timers.writer, now) {
            self.writer_runs(out);
        }
        self.check_invariants();
    }

    /// When the head's retransmission timeout would expire, from now on (`tcp_rto_delta_us`).
    pub(super) fn rto_left(&self) -> Nanos {
        self.board.head().map_or(self.rtt.rto, |head| {
            (head.sent_at + self.backed_off_rto()) - self.window.now
        })
    }

    pub(super) fn backed_off_rto(&self) -> Nanos {
        Nanos((self.rtt.rto.0 << self.timers.backoff).min(RTO_MAX.0))
    }

    /// Arms the retransmission timeout for the oldest data out, or clears it (RFC 6298, section 5).
    pub(super) fn rearm_timeout(&mut self) {
        if self.window.packets_out == 0 {
            self.timers.clear_retransmit();
            return;
        }
        let after = match self.timers.pending() {
            Some(Retransmit::Reorder | Retransmit::LossProbe) => self.rto_left().max(Nanos(1000)),
            _ => self.backed_off_rto(),
        };
        self.timers.retransmit_in(self.window.now, after);
    }

    pub(super) fn set_retransmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_timeout();
        }
    }

    fn retransmission_timeout(&mut self, out: &mut Outbox) {
        if self.window.packets_out == 0 {
            return;
        }
        self.counters.timeouts += 1;
        self.enter_loss();
        self.recovery.retransmits += 1;
        if self.recovery.retransmits > 15 {
            self.fail(out);
            return;
        }
        let head = self.board.ids().start;
        self.retransmit_segment(head, out);
        let rto = self.rtt.rto;
        self.timers.back_off(self.window.now, rto);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wheel_fires_late_by_a_tick_and_more_the_farther_ahead() {
        let wheel = Timers::new(Nanos::from_millis(4), 0);
        for (after, fires) in [(1, 8), (4, 8), (40, 44), (200, 204), (252, 256), (300, 320)] {
            let at = wheel.expiry(Time::ZERO, Nanos::from_millis(after));
            assert_eq!(at, Time(fires * 1_000_000), "{after} ms");
        }
        let second = wheel.expiry(Time::ZERO, Nanos::from_secs(1));
        assert_eq!(second, Time(1_024_000_000));
        assert_eq!(
            Timers::default().expiry(Time(3), Nanos(5)),
            Time(8),
            "without a tick"
        );
    }

    #[test]
    fn the_wheel_is_never_early_whatever_the_phase() {
        for random in 0..2000 {
            let wheel = Timers::new(Nanos::from_millis(4), random * 977_777);
            let after = Nanos((random * 1_234_567) as i64);
            let late = wheel.expiry(Time(random as i64 * 331), after)
                - (Time(random as i64 * 331) + after);
            let most = after.0 / 7 + 8_000_000;
            assert!((0..=most).contains(&late.0), "{late:?} after {after:?}");
        }
    }
}
