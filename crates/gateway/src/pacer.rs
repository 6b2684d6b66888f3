//! When the next datagram may leave, so that the rate is kept and no queue grows.

use bentpipe_base::{Nanos, Time};

/// A driver that wakes up late sends at most what these nanoseconds would have carried at once.
const CATCH_UP: Nanos = Nanos::from_millis(2);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    bit_s: u64,
    catch_up: Nanos,
    next: Time,
    /// Of the last datagrams' duration, the part below a nanosecond, in bits times 10^9.
    remainder: u64,
}

impl Pacer {
    pub fn new(bit_s: u64) -> Self {
        Self {
            bit_s,
            catch_up: CATCH_UP,
            next: Time(i64::MIN / 2),
            remainder: 0,
        }
    }

    /// One that lets so many bytes pass at once after a pause.
    pub fn with_burst(bit_s: u64, bytes: u64) -> Self {
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(bit_s);
        Self {
            catch_up: Nanos(nanos.min(i64::MAX as u128 / 4) as i64),
            ..Self::new(bit_s)
        }
    }

    /// From the next datagram on.
    pub fn set_rate(&mut self, bit_s: u64) {
        if bit_s != self.bit_s {
            self.bit_s = bit_s;
            self.remainder = 0;
        }
    }

    pub fn next(&self) -> Time {
        self.next
    }

    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        let work = u128::from(bytes) * 8_000_000_000 + u128::from(self.remainder);
        let span = work / u128::from(self.bit_s);
        self.remainder = (work % u128::from(self.bit_s)) as u64;
        let earliest = now - self.catch_up;
        self.next = self.next.max(earliest) + Nanos(span as i64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_to_the_nanosecond() {
        let mut pacer = Pacer::new(16_000_000);
        let mut now = Time::ZERO;
        for _ in 0..3000 {
            pacer.on_sent(now, 1499);
            now = pacer.next().max(now);
        }
        // 3000 packets of 749.5 us; the first ones leave within the time to catch up.
        assert_eq!(now, Time(3000 * 749_500 - 2_000_000));
    }

    #[test]
    fn a_late_driver_catches_up_with_two_milliseconds_and_no_more() {
        let mut pacer = Pacer::new(8_000_000); // 1 us per byte
        pacer.on_sent(Time::ZERO, 1000);
        let now = Time(1_000_000_000);
        let mut sent = 0;
        while pacer.next() <= now {
            pacer.on_sent(now, 1000);
            sent += 1;
        }
        assert_eq!(sent, 3);
    }
}
