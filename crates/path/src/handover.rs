//! Reassignment of a terminal to another satellite, at a fixed period, as low orbits need it: the delay steps, and for a
//! moment nothing passes.
//!
//! Starlink reassigns its terminals at fixed instants 15 s apart (Mohan et al., "A Multifaceted Look at Starlink
//! Performance", WWW 2024; Garcia et al., "Multi-Timescale Evaluation of Starlink Throughput", LEO-NET 2023). Here:
//! 1. Each step is drawn anew around the pipe's own delay, uniform, rather than computed from orbits.
//! 2. Both pipes are given the same steps: the way up and the way down are by the same satellite.
//! 3. Until the first reassignment the delay is the pipe's own.

use crate::config::HandoverConfig;
use crate::error::{ConfigError, positive, span};
use crate::time::{Nanos, Time};
use bentpipe_base::random::{stream, unit};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The steps of the delay; asked only with times that do not go back.
#[derive(Debug)]
pub(crate) struct Steps {
    every: i64,
    step: Nanos,
    /// Reassignments so far.
    count: i64,
    offset: Nanos,
    rng: Xoshiro256PlusPlus,
}

impl Steps {
    pub fn new(config: &HandoverConfig, seed: u64) -> Result<Self, ConfigError> {
        Ok(Self {
            every: positive("propagation.handover.every_ns", config.every_ns.0)?,
            step: span("propagation.handover.step_ns", config.step_ns)?,
            count: 0,
            offset: Nanos::ZERO,
            rng: stream(seed, "handover"),
        })
    }

    /// What to add to the delay of a packet that enters the line now.
    pub fn offset(&mut self, now: Time) -> Nanos {
        while now.0 / self.every > self.count {
            self.count += 1;
            let share = 2.0 * unit(&mut self.rng) - 1.0;
            self.offset = Nanos((share * self.step.0 as f64) as i64);
        }
        self.offset
    }
}

/// When nothing passes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gaps {
    every: i64,
    length: i64,
}

impl Gaps {
    pub fn new(config: &HandoverConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            every: positive("propagation.handover.every_ns", config.every_ns.0)?,
            length: span("propagation.handover.outage_ns", config.outage_ns)?.0,
        })
    }

    pub fn cover(self, now: Time) -> bool {
        now.0 >= self.every && now.0 % self.every < self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: HandoverConfig = HandoverConfig {
        every_ns: Nanos::from_secs(15),
        step_ns: Nanos::from_millis(10),
        outage_ns: Nanos::from_millis(50),
    };

    fn at(millis: i64) -> Time {
        Time::ZERO + Nanos::from_millis(millis)
    }

    #[test]
    fn the_delay_steps_at_each_reassignment_within_its_bounds_and_stays_until_the_next() {
        let mut steps = Steps::new(&CONFIG, 1).expect("valid");
        assert_eq!(steps.offset(at(-3_000)), Nanos::ZERO);
        assert_eq!(steps.offset(at(14_999)), Nanos::ZERO);
        let mut before = Nanos::ZERO;
        for number in 1..1_000 {
            let offset = steps.offset(at(number * 15_000));
            assert_ne!(offset, before);
            assert!(offset.0.abs() <= CONFIG.step_ns.0, "{offset:?}");
            assert_eq!(steps.offset(at(number * 15_000 + 14_999)), offset);
            before = offset;
        }
    }

    #[test]
    fn a_time_of_silence_skips_no_draw() {
        let mut one = Steps::new(&CONFIG, 1).expect("valid");
        let mut other = Steps::new(&CONFIG, 1).expect("valid");
        for number in 1..10 {
            one.offset(at(number * 15_000));
        }
        assert_eq!(one.offset(at(140_000)), other.offset(at(140_000)));
    }

    #[test]
    fn nothing_passes_right_after_a_reassignment() {
        let gaps = Gaps::new(&CONFIG).expect("valid");
        for (millis, covered) in [
            (0, false),
            (14_999, false),
            (15_000, true),
            (15_049, true),
            (15_050, false),
            (30_000, true),
        ] {
            assert_eq!(gaps.cover(at(millis)), covered, "{millis}");
        }
    }
}
