//! One packet at a time, each for its serialisation time; the rate is fixed or changes in steps.
//!
//! Exact: the end of a packet is kept as whole nanoseconds and a remainder of work, and the next packet of a busy
//! period begins from there, so no rounding adds up. A packet has been sent at the first whole nanosecond at which its
//! last bit has. A rate that changes while a packet is in service applies to what remains of it.

use super::{WORK_PER_BYTE, divide};
use crate::config::RateStep;
use crate::error::{ConfigError, instant};
use crate::time::{Nanos, Time};

#[derive(Debug)]
pub(crate) struct Serial {
    /// In order of time; the first holds before its instant too.
    steps: Vec<RateStep>,
    /// The step in force at `end`.
    step: usize,
    /// The last packet's end, rounded down, and the work done since then at the rate of that instant.
    end: Time,
    begun: u64,
}

impl Serial {
    pub fn new(steps: Vec<RateStep>) -> Result<Self, ConfigError> {
        if steps.is_empty() {
            return Err(ConfigError::new("shaper.steps", "[]", "at least one step"));
        }
        if let Some(at) = steps.windows(2).position(|w| w[0].at_ns >= w[1].at_ns) {
            return Err(ConfigError::new(
                format!("shaper.steps[{}].at_ns", at + 1),
                steps[at + 1].at_ns.0,
                "an instant after the step before it",
            ));
        }
        for (at, step) in steps.iter().enumerate() {
            instant(format!("shaper.steps[{at}].at_ns"), step.at_ns)?;
        }
        Ok(Self {
            steps,
            step: 0,
            end: Time(i64::MIN),
            begun: 0,
        })
    }

    pub fn serve(&mut self, start: Time, bytes: u32) -> Time {
        let mut work = u128::from(bytes) * u128::from(WORK_PER_BYTE);
        let mut from = start;
        // Where the last packet ended within the nanosecond before `start`, this one begins at that very point.
        if self.begun > 0 && start == self.end + Nanos(1) {
            work += u128::from(self.begun);
            from = self.end;
        }
        while let Some(next) = self.steps.get(self.step + 1) {
            if from >= next.at_ns {
                self.step += 1;
                continue;
            }
            let Some(rate) = self.steps[self.step].rate_bit_s else {
                return self.ends(from, 0);
            };
            let possible = (next.at_ns - from).0 as u128 * u128::from(rate);
            if work <= possible {
                break;
            }
            work -= possible;
            from = next.at_ns;
        }
        match self.steps[self.step].rate_bit_s {
            None => self.ends(from, 0),
            Some(0) => self.ends(Time::NEVER, 0),
            Some(rate) => {
                let (span, remainder) = divide(work, rate);
                self.ends(from + span, remainder)
            }
        }
    }

    fn ends(&mut self, end: Time, begun: u64) -> Time {
        self.end = end;
        self.begun = begun;
        if begun > 0 { end + Nanos(1) } else { end }
    }

    pub fn rate_bit_s(&self, now: Time) -> Option<u64> {
        let begun = self.steps.partition_point(|step| step.at_ns <= now);
        self.steps[begun.max(1) - 1].rate_bit_s
    }

    pub fn highest_rate_bit_s(&self) -> Option<u64> {
        self.steps.iter().filter_map(|step| step.rate_bit_s).max()
    }

    pub fn varies(&self) -> bool {
        self.steps.len() > 1
    }
}
