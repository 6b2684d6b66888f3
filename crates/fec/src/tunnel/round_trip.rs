//! The time from asking for a packet to its arrival: smoothed, with its variation, as RFC 6298 has it for its timeout. The
//! timeout is at least 9/8 of it, as RFC 9002 waits (section 6.1.2): where it hardly varies, a queue that begins to grow is no loss.

use bentpipe_base::Nanos;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    initial: Nanos,
    /// Smoothed time and variation.
    estimate: Option<(i64, i64)>,
}

impl RoundTrip {
    pub fn new(initial: Nanos) -> Self {
        Self {
            initial,
            estimate: None,
        }
    }

    pub fn on_sample(&mut self, sample: Nanos) {
        let sample = sample.0.max(0);
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
        self.estimate.map_or(self.initial, |(smoothed, variation)| {
            Nanos(smoothed + (4 * variation).max(smoothed / 8))
        })
    }
}
