//! One socket's timers. As in Linux one slot is shared by the retransmission timeout, the zero-window probe, the tail-loss
//! probe and RACK's reordering timer; delayed ACK, ACK compression, pacing and a slow reader have their own.
//!
//! The kernel's wheel (`kernel/time/timer.c`) never fires early, and late by up to a tick below 63 ticks ahead, by up to 8
//! below 504, and so on: so an RTO of a second comes up to 32 ms later at HZ = 250. Pacing and ACK compression have fine timers.
//!
//! 1. Where the ticks lie is drawn per connection, not per host.

use crate::rtt::RTO_MAX;
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

    /// The connection is over: all stop but the reader's, who takes what is left.
    pub fn stop_all_but_reading(&mut self) {
        *self = Self {
            read: self.read,
            ..Self::default()
        };
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

    /// The timeout with the back-off so far.
    pub fn backed_off(&self, rto: Nanos) -> Nanos {
        Nanos((rto.0 << self.backoff).min(RTO_MAX.0))
    }

    /// Doubles the timeout (RFC 6298, section 5.5).
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }

    /// Delays an ACK by `delay`, or leaves one where it is that waits for an earlier time. Returns whether that is so near that the
    /// ACK may as well leave now (`tcp_send_delayed_ack`).
    pub fn delay_ack(&mut self, now: Time, delay: Nanos) -> bool {
        let mut at = self.expiry(now, delay);
        if let Some(pending) = self.delayed_ack {
            if pending <= now + Nanos(delay.0 >> 2) {
                return true;
            }
            at = at.min(pending);
        }
        self.delayed_ack = Some(at);
        false
    }

    pub fn pending(&self) -> Option<Retransmit> {
        self.retransmit.map(|(kind, _)| kind)
    }
}

/// Whether a timer fires at `now`; it is then no longer armed.
pub fn due(timer: &mut Option<Time>, now: Time) -> bool {
    let fires = timer.is_some_and(|at| at <= now);
    if fires {
        *timer = None;
    }
    fires
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

    #[test]
    fn the_timeout_doubles_up_to_two_minutes() {
        let mut timers = Timers::default();
        let rto = Nanos::from_secs(1);
        for seconds in [1, 2, 4, 8, 16, 32, 64, 120, 120] {
            assert_eq!(timers.backed_off(rto), Nanos::from_secs(seconds));
            timers.back_off();
        }
    }

    #[test]
    fn a_delayed_ack_keeps_the_earlier_time_and_leaves_now_where_that_is_near() {
        let mut timers = Timers::default();
        let delay = Nanos::from_millis(40);
        assert!(!timers.delay_ack(Time(0), delay));
        assert!(!timers.delay_ack(Time(20_000_000), delay));
        assert_eq!(timers.delayed_ack, Some(Time(40_000_000)));
        assert!(
            timers.delay_ack(Time(30_000_000), delay),
            "within a quarter"
        );
    }

    #[test]
    fn a_timer_fires_once() {
        let mut timer = Some(Time(5));
        assert!(!due(&mut timer, Time(4)));
        assert!(due(&mut timer, Time(5)) && !due(&mut timer, Time(5)));
    }
}
