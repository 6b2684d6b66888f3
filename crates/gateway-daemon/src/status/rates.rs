//! How fast payload crossed in the last seconds.

use bentpipe_gateway_host::Report;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A rate is that of so long.
const SPAN: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    /// From hosts, and to them, bytes.
    bytes: [u64; 2],
}

/// Samples of the last seconds.
#[derive(Clone, Debug, Default)]
pub struct Rates(VecDeque<Sample>);

impl Rates {
    pub fn take(&mut self, at: Instant, of: &Report) {
        self.take_bytes(at, [of.session.sent_bytes, of.session.delivered_bytes]);
    }

    fn take_bytes(&mut self, at: Instant, bytes: [u64; 2]) {
        self.0.push_back(Sample { at, bytes });
        while self.0.get(1).is_some_and(|second| second.at + SPAN < at) {
            self.0.pop_front();
        }
    }

    /// Payload from hosts, and to them, in bits per second. None: there are no two samples yet.
    pub fn bit_s(&self) -> Option<[f64; 2]> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let span = (last.at - first.at).as_secs_f64();
        let of = |it: usize| 8.0 * last.bytes[it].saturating_sub(first.bytes[it]) as f64 / span;
        (span > 0.0).then(|| [of(0), of(1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_seconds() {
        let (mut rates, begun) = (Rates::default(), Instant::now());
        assert_eq!(rates.bit_s(), None);
        // A megabyte in the first second, and 1000 bytes in each later one.
        rates.take_bytes(begun, [0, 0]);
        for second in 1..=20 {
            let at = begun + Duration::from_secs(second);
            rates.take_bytes(at, [1_000_000 + 1000 * second, 0]);
        }
        assert_eq!(rates.bit_s(), Some([8000.0, 0.0]));
        assert!(rates.0.len() < 9);
    }
}
