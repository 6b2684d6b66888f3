//! A known rate that is far more than the path carries: then a full queue drops most of what is sent, what was asked for as well as what is
//! new, and a packet is lost again and again before it comes. So the sender falls to the share that passes the queue, and rises again while
//! hardly any of it overflows.
//!
//! Only overflow counts that the receiver's times tell. Where a path delays each packet anew, a long round trip tells nothing, and packets that
//! are overtaken look lost. Losses that only look like overflow do not become fewer when less is sent. Then the rate is what it was, and is not
//! changed for a while.

use bentpipe_base::{Nanos, Time};

/// Losses are counted over so long at least, and over a round trip, and over so many packets.
const SPAN: Nanos = Nanos::from_secs(1);
const LEAST_DECIDED: u64 = 64;
/// The rate is too high where more than this share overflows in so many spans in a row: less is left to others in any case, and what lasts
/// shorter than a span lies in two at most.
const TOO_MUCH: f64 = 0.1;
const SPANS: u8 = 3;
/// Up to this share of overflow the rate rises, by so much in each span.
const HARDLY: f64 = 0.01;
const RISE: f64 = 1.03;
const LEAST: f64 = 1.0 / 16.0;
/// After a fall that has not helped.
const NOT_AGAIN: Nanos = Nanos::from_secs(30);

#[derive(Clone, Copy, Debug)]
pub(super) struct Overload {
    /// Of the whole rate, what is sent.
    share: f64,
    /// Reports are counted from then on: those before it tell of packets that were sent before the rate was changed.
    from: Time,
    decided: u64,
    overflow: u64,
    /// So many spans in a row had too much.
    high: u8,
    /// The share before the last fall, and what overflowed then, until it is known whether it has helped.
    fallen: Option<(f64, f64)>,
    rests_until: Time,
}

impl Default for Overload {
    fn default() -> Self {
        Self {
            share: 1.0,
            from: Time(i64::MIN / 2),
            decided: 0,
            overflow: 0,
            high: 0,
            fallen: None,
            rests_until: Time(i64::MIN / 2),
        }
    }
}

impl Overload {
    /// Of packets whose fate was reported now, so many overflowed. Returns the share of the rate to send at.
    pub fn on_report(&mut self, now: Time, round_trip: Nanos, decided: u64, overflow: u64) -> f64 {
        if now >= self.from {
            self.decided += decided;
            self.overflow += overflow.min(decided);
        }
        let (span, lasts) = (SPAN.max(round_trip), now - self.from);
        if lasts >= span && self.decided >= LEAST_DECIDED {
            let overflown = self.overflow as f64 / self.decided as f64;
            (self.decided, self.overflow, self.from) = (0, 0, now);
            self.judge(now, round_trip, overflown);
        } else if lasts.0 >= 4 * span.0 {
            // Too little is sent to overfill anything.
            self.forget_span(now);
            self.rise();
        }
        self.share
    }

    /// What was reported before, and in an outage, tells nothing.
    pub fn forget_span(&mut self, now: Time) {
        (self.decided, self.overflow, self.from) = (0, 0, now);
        self.high = 0;
    }

    fn judge(&mut self, now: Time, round_trip: Nanos, overflown: f64) {
        if let Some((share, before)) = self.fallen.take()
            && overflown > before / 2.0
        {
            self.share = share;
            self.rests_until = now + NOT_AGAIN;
        }
        self.high = if overflown > TOO_MUCH {
            self.high.saturating_add(1)
        } else {
            0
        };
        if self.high >= SPANS && now >= self.rests_until {
            self.fallen = Some((self.share, overflown));
            self.share = (self.share * (1.0 - overflown)).max(LEAST);
            // What is under way was sent at the rate before. Then the queue is full, and what was dropped is reported by what comes behind it.
            self.forget_span(now + round_trip + round_trip);
        } else if overflown <= HARDLY {
            self.rise();
        }
    }

    fn rise(&mut self) {
        self.share = (self.share * RISE).min(1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Nanos = Nanos::from_millis(550);

    /// Reports each 100 ms for so many seconds, of 100 packets at the whole rate. The last share.
    fn after(law: &mut Overload, now: &mut Time, seconds: i64, lost: impl Fn(f64) -> f64) -> f64 {
        let mut share = law.share;
        for _ in 0..10 * seconds {
            *now += Nanos::from_millis(100);
            let decided = 100.0 * share;
            let overflow = lost(share) * decided;
            share = law.on_report(*now, ROUND_TRIP, decided as u64, overflow as u64);
        }
        share
    }

    /// What overflows where the path carries so much of the whole rate.
    fn carries(path: f64) -> impl Fn(f64) -> f64 {
        move |share| (1.0 - path / share).max(0.0)
    }

    #[test]
    fn a_rate_of_four_times_the_path_falls_to_the_path_within_a_few_seconds_and_stays_near_it() {
        let (mut law, mut now) = (Overload::default(), Time::ZERO);
        let share = after(&mut law, &mut now, 5, carries(0.25));
        assert!((0.24..0.29).contains(&share), "{share}");
        for _ in 0..100 {
            let share = after(&mut law, &mut now, 1, carries(0.25));
            assert!((0.22..0.29).contains(&share), "{share}");
        }
        // The path carries all of it again.
        assert!(after(&mut law, &mut now, 60, |_| 0.0) > 0.999);
    }

    #[test]
    fn overflow_of_less_than_a_tenth_changes_nothing() {
        let (mut law, mut now) = (Overload::default(), Time::ZERO);
        assert!(after(&mut law, &mut now, 100, |_| 0.09) > 0.999);
        // Nor does one second of more, as when others begin.
        assert!(after(&mut law, &mut now, 1, |_| 0.5) > 0.999);
        assert!(after(&mut law, &mut now, 100, |_| 0.0) > 0.999);
    }

    #[test]
    fn losses_that_do_not_become_fewer_are_no_overflow() {
        let (mut law, mut now) = (Overload::default(), Time::ZERO);
        let mut slow = 0;
        for _ in 0..300 {
            slow += usize::from(after(&mut law, &mut now, 1, |_| 0.3) < 1.0);
        }
        assert!((1..40).contains(&slow), "{slow} of 300 s");
    }
}
