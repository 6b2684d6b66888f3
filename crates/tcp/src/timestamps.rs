//! The timestamp option (RFC 7323): one end's clock of milliseconds, the peer's latest value, and what it echoed.

use bentpipe_base::time::{Nanos, Time};

/// Linux counts in microseconds, below 2^31.
const LONGEST_MS: u32 = (i32::MAX / 1000) as u32;

#[derive(Clone, Copy, Debug, Default)]
pub struct Timestamps {
    offset: u32,
    /// The peer's latest value, to be echoed.
    pub recent: u32,
    /// The echo in the segment that arrived last; 0: none yet.
    pub echoed: u32,
}

impl Timestamps {
    /// A clock that shows `offset` at time zero.
    pub fn new(offset: u32) -> Self {
        Self {
            offset,
            ..Self::default()
        }
    }

    /// What the clock shows at this time, in milliseconds.
    pub fn at(&self, time: Time) -> u32 {
        (time.0.div_euclid(1_000_000) as u32).wrapping_add(self.offset)
    }

    /// How many milliseconds older than the latest value this one of the peer's is.
    pub fn age(&self, value: u32) -> i32 {
        self.recent.wrapping_sub(value) as i32
    }

    /// Takes a value of the peer's, unless it is older than the latest.
    pub fn take(&mut self, value: u32) {
        if self.age(value) <= 0 {
            self.recent = value;
        }
    }

    /// Time since the clock showed what was echoed; at least a millisecond, as a tick is. `None` for an echo that is too old or of
    /// the future (`tcp_rtt_tsopt_us`).
    pub fn since_echoed(&self, now: Time) -> Option<Nanos> {
        let millis = self.at(now).wrapping_sub(self.echoed);
        (millis < LONGEST_MS).then(|| Nanos::from_millis(i64::from(millis.max(1))))
    }

    /// Whether what was echoed left before the clock showed `stamp`.
    pub fn echoes_before(&self, stamp: u32) -> bool {
        (self.echoed.wrapping_sub(stamp) as i32) < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_ms(ms: i64) -> Time {
        Time(ms * 1_000_000)
    }

    #[test]
    fn ages_and_echoes_hold_where_the_clock_wraps() {
        let mut clock = Timestamps::new(u32::MAX - 9);
        assert_eq!(clock.at(at_ms(20)), 10);
        clock.echoed = clock.at(at_ms(5));
        assert_eq!(clock.since_echoed(at_ms(25)), Some(Nanos::from_millis(20)));
        assert!(clock.echoes_before(clock.at(at_ms(11))));
        assert!(!clock.echoes_before(clock.at(at_ms(5))));
        clock.recent = u32::MAX;
        assert_eq!(clock.age(2), -3);
        clock.take(2);
        assert_eq!(clock.recent, 2);
        clock.take(u32::MAX);
        assert_eq!(clock.recent, 2, "older");
    }

    #[test]
    fn an_echo_within_the_same_tick_took_a_millisecond() {
        let mut clock = Timestamps::new(7);
        clock.echoed = clock.at(at_ms(3));
        let since = clock.since_echoed(Time(3_900_000));
        assert_eq!(since, Some(Nanos::from_millis(1)));
    }

    #[test]
    fn an_echo_of_the_future_gives_no_time() {
        let mut clock = Timestamps::new(7);
        clock.echoed = clock.at(at_ms(30));
        assert_eq!(clock.since_echoed(at_ms(29)), None);
        assert!(clock.since_echoed(at_ms(30)).is_some());
    }
}
