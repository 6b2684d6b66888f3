//! The time from asking for a packet to its arrival: smoothed, with its variation, as RFC 6298 has it for its timeout. The
//! timeout is at least 9/8 of it, as RFC 9002 waits (section 6.1.2): where it hardly varies, a queue that begins to grow is no loss.
//!
//! RFC 6298 lets a timeout grow without end. Here an answer may wait at the sender behind others, and then come late by more than the path
//! explains. A timeout that has learned this outlives it, and what is lost then stays missing. So the timeout is twice the least time of the
//! last 10 to 20 s at most, or the one before any is known (which, as section 2.4 has it, should be a second). It needs no backing off
//! (section 5.5): the sender leaves out an asking that comes before its answer can have come.
//!
//! A packet may also come that was sent again without being asked for. It may come right after it was asked for, and is no answer. If that
//! counted, all would be asked for again and again before an answer can come, and reports would have room for nothing else. So nothing is
//! an answer that comes sooner than the path's least round trip, where that is known.

use bentpipe_base::{Nanos, Time};

const MEMORY: Nanos = Nanos::from_secs(10);

#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    initial: Nanos,
    /// Smoothed time and variation.
    estimate: Option<(i64, i64)>,
    /// The least of the part of the memory that goes on, and of the one before.
    least: [Option<i64>; 2],
    since: Time,
    /// No answer comes sooner.
    soonest: Nanos,
}

impl RoundTrip {
    pub fn new(initial: Nanos) -> Self {
        Self {
            initial,
            estimate: None,
            least: [None; 2],
            since: Time(i64::MIN / 2),
            soonest: Nanos::ZERO,
        }
    }

    /// The path's least round trip.
    pub fn set_soonest(&mut self, soonest: Nanos) {
        self.soonest = soonest;
    }

    pub fn on_sample(&mut self, now: Time, sample: Nanos) {
        if sample < self.soonest {
            return;
        }
        let sample = sample.0.max(0);
        if now - self.since >= MEMORY {
            let recent = now - self.since < MEMORY + MEMORY;
            self.least = [None, self.least[0].filter(|_| recent)];
            self.since = now;
        }
        self.least[0] = Some(self.least[0].map_or(sample, |least| least.min(sample)));
        self.estimate = Some(match self.estimate {
            None => (sample, sample / 2),
            Some((smoothed, variation)) => (
                smoothed + (sample - smoothed) / 8,
                variation + ((sample - smoothed).abs() - variation) / 4,
            ),
        });
    }

    /// After so long an answer is overdue.
    pub fn timeout(&self) -> Nanos {
        let least = self.least.into_iter().flatten().min().unwrap_or(0);
        let most = self.initial.0.max(2 * least);
        let after = self
            .estimate
            .map_or(self.initial.0, |(smoothed, variation)| {
                smoothed + (4 * variation).max(smoothed / 8)
            });
        let soonest = self.soonest.0 + self.soonest.0 / 8;
        Nanos(after.min(most).max(soonest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: i64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn the_timeout_follows_the_answers_and_is_bounded_by_the_fastest_of_them() {
        let mut round_trip = RoundTrip::new(ms(1000));
        assert_eq!(round_trip.timeout(), ms(1000));
        let mut now = Time::ZERO;
        let mut after = |round_trip: &mut RoundTrip, times: usize, sample: Nanos| {
            for _ in 0..times {
                now += ms(100);
                round_trip.on_sample(now, sample);
            }
            round_trip.timeout()
        };
        let steady = after(&mut round_trip, 50, ms(600));
        assert!((ms(674)..=ms(676)).contains(&steady), "{steady:?}");
        // Answers that waited for 20 s at the sender: while a fast one is remembered, twice its time at most.
        assert_eq!(after(&mut round_trip, 20, ms(20_600)), ms(1200));
        // A path that has become longer is learned.
        let longer = after(&mut round_trip, 300, ms(3000));
        assert!((ms(3374)..=ms(3376)).contains(&longer), "{longer:?}");
        // The initial one is always allowed: short times vary by more than themselves.
        assert_eq!(after(&mut round_trip, 300, ms(10)).0 / 100_000, 112);
        assert!(after(&mut round_trip, 20, ms(400)) > ms(500));
    }

    #[test]
    fn what_comes_sooner_than_a_round_trip_is_no_answer() {
        let mut round_trip = RoundTrip::new(ms(1000));
        round_trip.set_soonest(ms(400));
        round_trip.on_sample(Time::ZERO, ms(3));
        assert_eq!(round_trip.timeout(), ms(1000));
        for _ in 0..50 {
            round_trip.on_sample(Time::ZERO, ms(400));
            round_trip.on_sample(Time::ZERO, ms(399));
        }
        assert_eq!(round_trip.timeout(), ms(450));
        // The path has become longer, and nothing was answered yet.
        round_trip.set_soonest(ms(1600));
        assert_eq!(round_trip.timeout(), ms(1800));
    }
}
