//! When a host looks at what arrived: not at that instant but when its interrupt has been served, and then at all that has come
//! meanwhile (NAPI, `net/core/dev.c`). Reality has this noise on every RTT sample, and algorithms that keep a minimum lean
//! on it: two samples of a real path are never equal.
//!
//! The time is drawn anew at each wake-up: half take longer than the host's median, a quarter longer than twice it, and
//! so on, as for an exponential distribution, which it follows by straight lines between those points.
//!
//! 1. Timers fire on time; only a host that is just waking is not ready for them.
//! 2. One processor per host: connections and, beyond the far end, servers share its wake-ups.

use bentpipe_path::stream;
use bentpipe_path::time::{Nanos, Time};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug)]
pub(crate) struct Clock {
    median: Nanos,
    /// The latest instant at which the host has looked, or is about to.
    awake: Time,
    random: Xoshiro256PlusPlus,
}

impl Clock {
    pub fn new(median: Nanos, seed: u64, place: &str) -> Self {
        Self {
            median,
            awake: Time(i64::MIN),
            random: stream(seed, place),
        }
    }

    /// Of a node that is always awake.
    pub fn immediate() -> Self {
        Self::new(Nanos::ZERO, 0, "")
    }

    /// Something has arrived: if the host is not waking already, it begins to. Returns the host's present.
    pub fn arrival(&mut self, now: Time) -> Time {
        if now > self.awake {
            self.awake = now + self.draw();
        }
        self.present(now)
    }

    /// The host's present: not before it is awake.
    pub fn present(&self, now: Time) -> Time {
        self.awake.max(now)
    }

    /// In halvings of the probability: whole ones are the leading zeros of a draw, the rest is its next bits.
    fn draw(&mut self) -> Nanos {
        if self.median == Nanos::ZERO {
            return Nanos::ZERO;
        }
        let bits = self.random.next_u64() | 1;
        let whole = bits.leading_zeros();
        let rest = (bits << whole) & (u64::MAX >> 1);
        let halvings = (i128::from(whole + 1) << 63) - i128::from(rest);
        Nanos(((halvings * i128::from(self.median.0)) >> 63) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_clock_take_longer_than_the_median_and_an_eighth_three_times_as_long() {
        let mut clock = Clock::new(Nanos::from_micros(20), 1, "a host");
        let drawn: Vec<i64> = (0..40_000).map(|_| clock.draw().0).collect();
        for (above, share) in [(20_000, 0.5), (40_000, 0.25), (60_000, 0.125)] {
            let found = drawn.iter().filter(|&&ns| ns > above).count() as f64 / 40_000.0;
            assert!((found - share).abs() < 0.01, "{found} above {above} ns");
        }
    }

    #[test]
    fn what_comes_while_the_host_wakes_is_looked_at_together() {
        let mut clock = Clock::new(Nanos::from_micros(20), 1, "a host");
        clock.arrival(Time(0));
        let awake = clock.present(Time(0));
        clock.arrival(Time(awake.0 / 2));
        assert_eq!(clock.present(Time(awake.0 / 2)), awake);
        clock.arrival(awake + Nanos(1));
        assert!(clock.present(awake + Nanos(1)) > awake + Nanos(1));
    }

    #[test]
    fn without_a_median_the_host_is_always_awake() {
        let mut clock = Clock::new(Nanos::ZERO, 1, "a host");
        clock.arrival(Time(5));
        assert_eq!(clock.present(Time(5)), Time(5));
    }
}
