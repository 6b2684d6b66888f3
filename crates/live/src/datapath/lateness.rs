//! The datapath's own error: how late packets left, at what rate, and what was lost outside the model.
//!
//! *Lateness* of a packet is the time between the model's departure and the moment its bytes were handed to the
//! device, and as much as its arrival may have been earlier than the model was told ([`super::arrival`]). It includes
//! up to [`super::egress::WINDOW`] of waiting for the segments that leave with it. It is never negative: the model is
//! never told of an arrival before it, and gives no packet before its departure.
//!
//! *Rate achieved*: two departures belong to one busy period where the model sent the second as soon as the
//! shaper had finished it, that is, their model times lie one serialisation time apart. Over each busy period of at
//! least [`SHORTEST_BUSY`], the bytes that left by the time that really passed between the first and the last. Known
//! for a fixed rate, the sustained rate of a token bucket, and steps, without jitter (which hides when the shaper was
//! busy).

use bentpipe_path::config::{PipeConfig, RateStep, ShaperConfig};
use bentpipe_path::time::{Nanos, Time};
use hdrhistogram::Histogram;

/// In a shorter busy period the lateness of its two ends would be mistaken for a wrong rate.
pub const SHORTEST_BUSY: Nanos = Nanos::from_millis(50);

/// Lateness beyond this is counted as this.
const MAX_NS: u64 = 60_000_000_000;

/// Lost outside the model, packets by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct UnintendedLoss {
    /// A device lost it before it was read or after it was written. The datapath does not see it: whoever owns the
    /// devices adds it.
    pub device: u64,
    /// The receiving device had no room (EAGAIN, ENOBUFS, ENOMEM).
    pub socket_buffer: u64,
    /// The receiving device refused the packet.
    pub write_error: u64,
    /// The packet was longer than a frame can be, or ended before its length said.
    pub truncated: u64,
}

impl UnintendedLoss {
    pub fn total(self) -> u64 {
        self.device + self.socket_buffer + self.write_error + self.truncated
    }
}

impl std::ops::Add for UnintendedLoss {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            device: self.device + other.device,
            socket_buffer: self.socket_buffer + other.socket_buffer,
            write_error: self.write_error + other.write_error,
            truncated: self.truncated + other.truncated,
        }
    }
}

/// A new histogram of lateness in nanoseconds, exact to 1 %.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_NS, 2).expect("the bounds are constants that fit")
}

pub fn record(histogram: &mut Histogram<u64>, lateness: Nanos, packets: u64) {
    let nanos = lateness.0.max(1) as u64;
    histogram.saturating_record_n(nanos, packets);
}

/// Follows the shaper's busy periods in what leaves.
#[derive(Debug)]
pub struct RateCheck {
    steps: Vec<RateStep>,
    delay: Nanos,
    period: Option<BusyPeriod>,
    done: Achieved,
}

/// Sums over finished busy periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Achieved {
    /// How long sending what left would have taken at the configured rate.
    pub model_ns: i64,
    /// How long it took.
    pub actual_ns: i64,
}

impl Achieved {
    /// |achieved / configured - 1|, where there was a busy period.
    pub fn error(self) -> Option<f64> {
        (self.actual_ns > 0).then(|| (self.model_ns as f64 / self.actual_ns as f64 - 1.0).abs())
    }
}

#[derive(Clone, Copy, Debug)]
struct BusyPeriod {
    first_model: Time,
    first_actual: Time,
    last_model: Time,
    last_actual: Time,
}

impl RateCheck {
    /// `None` where there is no rate, or the pipe hides when the shaper was busy.
    pub fn new(config: &PipeConfig) -> Option<Self> {
        let steps = match &config.shaper {
            ShaperConfig::Fixed { rate_bit_s } | ShaperConfig::TokenBucket { rate_bit_s, .. } => {
                vec![RateStep {
                    at_ns: Time::ZERO,
                    rate_bit_s: Some(*rate_bit_s),
                }]
            }
            ShaperConfig::Steps { steps } => steps.clone(),
            ShaperConfig::Unlimited | ShaperConfig::Trace { .. } => return None,
        };
        (config.propagation.jitter.is_none() && !steps.is_empty()).then(|| Self {
            steps,
            delay: config.propagation.delay_ns,
            period: None,
            done: Achieved::default(),
        })
    }

    /// A packet of `bytes` that should have left at `model` left at `actual`.
    pub fn departed(&mut self, bytes: u32, model: Time, actual: Time) {
        if let Some(period) = &mut self.period {
            let gap = (model - period.last_model).0;
            let serialisation = self.serialisation_ns(bytes, model);
            if serialisation.is_some_and(|needed| (gap - needed).abs() <= 2) {
                let period = self.period.as_mut().expect("seen just now");
                period.last_model = model;
                period.last_actual = actual;
                return;
            }
            self.close();
        }
        self.period = Some(BusyPeriod {
            first_model: model,
            first_actual: actual,
            last_model: model,
            last_actual: actual,
        });
    }

    pub fn finish(mut self) -> Achieved {
        self.close();
        self.done
    }

    fn close(&mut self) {
        if let Some(period) = self.period.take()
            && period.last_model - period.first_model >= SHORTEST_BUSY
        {
            self.done.model_ns += (period.last_model - period.first_model).0;
            self.done.actual_ns += (period.last_actual - period.first_actual).0;
        }
    }

    /// At the rate that held when the shaper finished the packet.
    fn serialisation_ns(&self, bytes: u32, departure: Time) -> Option<i64> {
        let finished = departure - self.delay;
        let step = self
            .steps
            .iter()
            .take_while(|step| step.at_ns <= finished)
            .last()
            .or(self.steps.first())?;
        let rate = step.rate_bit_s.filter(|rate| *rate > 0)?;
        Some((u64::from(bytes) * 8_000_000_000).div_ceil(rate) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(rate_bit_s: u64) -> RateCheck {
        let config = PipeConfig {
            shaper: ShaperConfig::Fixed { rate_bit_s },
            ..PipeConfig::default()
        };
        RateCheck::new(&config).expect("a fixed rate is known")
    }

    #[test]
    fn idle_time_between_busy_periods_does_not_count() {
        // 1500 bytes at 12 Mbit/s take 1 ms.
        let mut check = fixed(12_000_000);
        for start in [0, 500_000_000] {
            for packet in 0..101 {
                let model = Time(start + packet * 1_000_000);
                check.departed(1500, model, model + Nanos(7_000));
            }
        }
        let achieved = check.finish();
        assert_eq!(achieved.model_ns, 200_000_000);
        assert_eq!(achieved.error(), Some(0.0));
    }

    #[test]
    fn a_writer_that_falls_behind_shows_as_a_rate_too_low() {
        let mut check = fixed(12_000_000);
        for packet in 0..101 {
            let model = Time(packet * 1_000_000);
            check.departed(1500, model, Time(packet * 1_100_000));
        }
        let error = check.finish().error().expect("it was busy");
        assert!((error - 1.0 / 11.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_rate_or_with_jitter_nothing_is_claimed() {
        assert!(RateCheck::new(&PipeConfig::default()).is_none());
    }
}
