//! How fast segments came that came one after another. Segments that wait for each other at the slowest link of a path leave it at
//! that link's rate, and keep their distances afterwards: the dispersion of packet trains (Dovrolis, Ramanathan and Moore, "What do
//! packet dispersion techniques measure?", INFOCOM 2001). It shows the rate of a path also where a transfer never fills it.
//!
//! A train is cut wherever a byte is missing or comes twice. Pauses within a train make it slower, so the rates of many trains are
//! counted, and those that are frequent tell.

/// Full segments after the first one of a train.
const SEGMENTS: u64 = 8;
/// Of a rate to the next that is told apart.
const STEP: f64 = 1.03;
const LOWEST_BIT_S: f64 = 1e4;
/// Up to 100 Gbit/s; the last one stands for all above.
const RATES: usize = 546;

#[derive(Debug, Default)]
pub struct Trains {
    current: Option<Train>,
    /// By rate, how many trains; empty before the first.
    counts: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Train {
    since_ns: i64,
    /// Up to here, without a gap.
    end: u64,
    /// After the first segment.
    bytes: u64,
}

impl Trains {
    /// Payload from `start` to `end` passed, or was acknowledged. `full` is that of a full segment.
    #[inline]
    pub fn pass(&mut self, at_ns: i64, start: u64, end: u64, full: u32) {
        let follows = self.current.filter(|train| train.end == start && full > 0);
        let Some(train) = follows else {
            self.current = Some(Train {
                since_ns: at_ns,
                end,
                bytes: 0,
            });
            return;
        };
        let bytes = train.bytes + (end - start);
        if bytes < SEGMENTS * u64::from(full) {
            self.current = Some(Train {
                end,
                bytes,
                ..train
            });
            return;
        }
        self.count(bytes, at_ns - train.since_ns);
        self.current = Some(Train {
            since_ns: at_ns,
            end,
            bytes: 0,
        });
    }

    /// What comes next does not follow what has been.
    #[inline]
    pub fn cut(&mut self) {
        self.current = None;
    }

    fn count(&mut self, bytes: u64, took_ns: i64) {
        // At once, as within one host or within a tick of the capture's clock, is faster than any.
        let rate_bit_s = bytes as f64 * 8e9 / took_ns.max(1) as f64;
        let place = (rate_bit_s / LOWEST_BIT_S).ln() / STEP.ln();
        if self.counts.is_empty() {
            self.counts.resize(RATES, 0);
        }
        let count = &mut self.counts[(place.max(0.0) as usize).min(RATES - 1)];
        *count = count.saturating_add(1);
    }

    /// The middle of each rate that was seen, in bit/s of payload, and how many trains had it.
    pub fn rates(&self) -> Vec<(f64, u32)> {
        let seen = self.counts.iter().enumerate().filter(|it| *it.1 > 0);
        seen.map(|(place, &count)| (LOWEST_BIT_S * STEP.powf(place as f64 + 0.5), count))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(spacings_ns: impl IntoIterator<Item = i64>) -> Vec<(f64, u32)> {
        let mut trains = Trains::default();
        let (mut at_ns, mut seq) = (0, 0);
        for spacing_ns in spacings_ns {
            at_ns += spacing_ns;
            trains.pass(at_ns, seq, seq + 1000, 1000);
            seq += 1000;
        }
        trains.rates()
    }

    #[test]
    fn evenly_spaced_segments_show_their_rate() {
        // 1000 bytes each millisecond are 8 Mbit/s.
        let rates = fed([1_000_000; 81]);
        assert_eq!(rates.len(), 1);
        let (rate_bit_s, count) = rates[0];
        assert!((rate_bit_s / 8e6 - 1.0).abs() < 0.03, "{rate_bit_s}");
        assert_eq!(count, 10);
    }

    #[test]
    fn a_gap_in_the_sequence_begins_another_train() {
        let mut trains = Trains::default();
        for number in 0..8_u64 {
            trains.pass(
                number as i64 * 1_000_000,
                number * 1000,
                (number + 1) * 1000,
                1000,
            );
        }
        trains.pass(8_000_000, 9000, 10_000, 1000);
        assert_eq!(trains.rates(), []);
        trains.cut();
        trains.pass(9_000_000, 10_000, 11_000, 1000);
        assert_eq!(trains.rates(), []);
    }

    #[test]
    fn the_ends_of_the_rates_stand_for_all_beyond_them() {
        for at_once in [fed([0; 100]), fed([1; 100])] {
            assert_eq!(at_once.len(), 1);
            assert!(at_once[0].0 > 9e10);
        }
        let slow = fed([100_000_000_000; 10]);
        assert_eq!(slow.len(), 1);
        assert!(slow[0].0 < 1.1e4);
    }
}
