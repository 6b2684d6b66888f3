//! Whether packets wait in a queue now, told from round-trip times. Losses of such a time are taken to be overflow.
//!
//! The rule is *Spike* (Cen, Cosman, Voelker: End-to-End Differentiation of Congestion and Wireless Losses, 2003): queueing
//! begins where the time exceeds its least by half of its range, and ends below a third of it. Differences:
//! 1. The round trip is used; Spike has the one-way time. The way back then counts too, but no clocks are compared.
//! 2. The least and the greatest time are those of the last 10 to 20 s, since paths change.
//! 3. Where the range is less than 5 ms, nothing waits: it is jitter.

use bentpipe_base::{Nanos, Time};

const MEMORY: Nanos = Nanos::from_secs(10);
const JITTER: Nanos = Nanos::from_millis(5);

#[derive(Clone, Copy, Debug, Default)]
pub struct QueueingDetector {
    /// Least and greatest of the part of the memory that goes on, and of the one before.
    ranges: [Option<(Nanos, Nanos)>; 2],
    since: Option<Time>,
    queueing: bool,
}

impl QueueingDetector {
    pub fn is_queueing(&self) -> bool {
        self.queueing
    }

    /// The least round trip of the last 10 to 20 s.
    pub fn least(&self) -> Option<Nanos> {
        self.ranges.into_iter().flatten().map(|it| it.0).min()
    }

    /// Whether a packet with this round trip met a queue, by what is known of others.
    pub fn would_queue(&self, round_trip: Nanos) -> bool {
        let ranges = self.ranges.into_iter().flatten();
        let range = ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        range.is_some_and(|(least, greatest)| {
            greatest - least >= JITTER && (round_trip - least).0 > (greatest - least).0 / 2
        })
    }

    pub fn on_round_trip(&mut self, now: Time, round_trip: Nanos) {
        let since = *self.since.get_or_insert(now);
        if now - since >= MEMORY {
            self.ranges = [
                None,
                self.ranges[0].filter(|_| now - since < MEMORY + MEMORY),
            ];
            self.since = Some(now);
        }
        let widen = |range: (Nanos, Nanos)| (range.0.min(round_trip), range.1.max(round_trip));
        self.ranges[0] = Some(widen(self.ranges[0].unwrap_or((round_trip, round_trip))));
        let (mut least, mut greatest) = (round_trip, round_trip);
        for range in self.ranges.into_iter().flatten() {
            least = least.min(range.0);
            greatest = greatest.max(range.1);
        }
        let range = greatest - least;
        let above = round_trip - least;
        self.queueing = if range < JITTER {
            false
        } else if self.queueing {
            above.0 >= range.0 / 3
        } else {
            above.0 > range.0 / 2
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filling_queue_is_told_from_an_empty_one_with_jitter() {
        let mut detector = QueueingDetector::default();
        let mut at = |ms: i64, round_trip_ms: i64| {
            detector.on_round_trip(
                Time::ZERO + Nanos::from_millis(ms),
                Nanos::from_millis(round_trip_ms),
            );
            detector.is_queueing()
        };
        // Jitter of 4 ms.
        for ms in 0..100 {
            assert!(!at(ms, 550 + ms % 5));
        }
        // The queue fills to 100 ms and is emptied.
        let filling: Vec<bool> = (0..=100).map(|more| at(100 + more, 550 + more)).collect();
        assert!(filling[100]);
        assert!(!at(201, 550 + 30) && !at(202, 550 + 45) && at(203, 550 + 55) && at(204, 550 + 45));
        // After the memory, what is always there is the path's own.
        let later: Vec<bool> = (0..30_000).map(|more| at(300 + more, 650)).collect();
        assert!(later[0] && !later[29_999]);
    }
}
