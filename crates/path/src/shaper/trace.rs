//! Delivery opportunities of 1500 bytes each at given instants, as mahimahi's `mm-link` (Netravali et al. 2015).
//!
//! Several small packets may share one opportunity and a large one may take several; what an opportunity does not use
//! is gone, and so is one that finds nothing waiting (an arrival at its very instant is too late for it). A waiting
//! packet stays in the queue until its opportunity. The trace repeats with the period of its last entry. Departures:
//! 1. The trace begins at the run's time zero, in nanoseconds of model time, and repeats before zero too.

use crate::error::{ConfigError, span};
use crate::time::{Nanos, Time};

const OPPORTUNITY_BYTES: u32 = 1500;

#[derive(Debug)]
pub(crate) struct Trace {
    /// In order; each within `0..=period`.
    offsets: Vec<Nanos>,
    period: Nanos,
    /// The next opportunity: `cycle` periods from zero, entry `index`.
    cycle: i64,
    index: usize,
    /// What is left of the last opportunity, good only while its instant lasts.
    left_bytes: u32,
    last: Time,
}

impl Trace {
    pub fn new(opportunities: &[Nanos]) -> Result<Self, ConfigError> {
        const FIELD: &str = "shaper.opportunities_ns";
        let Some(&period) = opportunities.last() else {
            return Err(ConfigError::new(FIELD, "[]", "at least one opportunity"));
        };
        if let Some(at) = opportunities.windows(2).position(|w| w[0] > w[1]) {
            return Err(ConfigError::new(
                format!("{FIELD}[{}]", at + 1),
                opportunities[at + 1].0,
                "opportunities in order of time",
            ));
        }
        span(format!("{FIELD}[0]"), opportunities[0])?;
        span(FIELD, period)?;
        if period <= Nanos::ZERO {
            return Err(ConfigError::new(
                FIELD,
                period.0,
                "a last opportunity after 0, for it is the period",
            ));
        }
        Ok(Self {
            offsets: opportunities.to_vec(),
            period,
            cycle: i64::MIN / 2 / period.0,
            index: 0,
            left_bytes: 0,
            last: Time(i64::MIN),
        })
    }

    fn upcoming(&self) -> Time {
        Time(self.cycle * self.period.0 + self.offsets[self.index].0)
    }

    fn advance(&mut self) {
        self.last = self.upcoming();
        self.left_bytes = OPPORTUNITY_BYTES;
        self.index += 1;
        if self.index == self.offsets.len() {
            self.index = 0;
            self.cycle += 1;
        }
    }

    /// Opportunities up to and including `now` find nothing waiting.
    pub fn let_pass(&mut self, now: Time) {
        self.left_bytes = 0;
        if self.upcoming() > now {
            return;
        }
        // The last entry falls on the instant at which the next cycle begins, so the cycle before is looked at too.
        let cycle = (now.0.div_euclid(self.period.0) - 1).max(self.cycle);
        let from = if cycle == self.cycle { self.index } else { 0 };
        let within = Nanos(now.0 - cycle * self.period.0);
        let passed = self.offsets[from..].partition_point(|&offset| offset <= within);
        self.cycle = cycle;
        self.index = from + passed;
        if self.index == self.offsets.len() {
            self.index = 0;
            self.cycle += 1;
            let within = within - self.period;
            self.index = self.offsets.partition_point(|&offset| offset <= within);
        }
    }

    /// When a waiting packet, with nothing in service, begins service.
    pub fn next_start(&self) -> Time {
        if self.left_bytes > 0 {
            self.last
        } else {
            self.upcoming()
        }
    }

    pub fn serve(&mut self, bytes: u32) -> Time {
        if self.left_bytes == 0 {
            self.advance();
        }
        let mut wanted = bytes;
        while wanted > self.left_bytes {
            wanted -= self.left_bytes;
            self.advance();
        }
        self.left_bytes -= wanted;
        self.last
    }

    pub fn mean_rate_bit_s(&self) -> u64 {
        let bits = self.offsets.len() as u128 * u128::from(OPPORTUNITY_BYTES) * 8;
        (bits * 1_000_000_000 / self.period.0 as u128) as u64
    }
}
