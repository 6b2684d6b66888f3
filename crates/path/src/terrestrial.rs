//! What lies beyond the far end of the long path, for one server and one direction: a delay with jitter, order kept.
//!
//! It only says when a packet that enters leaves; who drives it holds the packets. There is no queue, no rate and no
//! loss: on the ground capacity is taken for plenty.

use crate::config::{JitterConfig, JitterDistribution};
use crate::error::{ConfigError, span};
use crate::propagation::Jitter;
use crate::time::{Nanos, Time};

#[derive(Debug)]
pub struct Terrestrial {
    delay: Nanos,
    jitter: Option<Jitter>,
    last: Time,
}

impl Terrestrial {
    /// `jitter` is the standard deviation of a normal distribution around `delay`, cut at 4 of them and at a delay
    /// of zero.
    pub fn new(delay: Nanos, jitter: Nanos, seed: u64, place: &str) -> Result<Self, ConfigError> {
        let normal = JitterConfig {
            spread_ns: jitter,
            distribution: JitterDistribution::Normal,
            correlation: 0.0,
            reorder: false,
        };
        let jitter = if jitter == Nanos::ZERO {
            None
        } else {
            Some(Jitter::new(&normal, seed, &format!("{place}/jitter"))?)
        };
        Ok(Self {
            delay: span("terrestrial.delay_ns", delay)?,
            jitter,
            last: Time(i64::MIN),
        })
    }

    /// When a packet that enters at `now` leaves: never before one that entered earlier.
    pub fn leaves(&mut self, now: Time) -> Time {
        let varied = match &mut self.jitter {
            None => self.delay,
            Some(jitter) => (self.delay + jitter.draw()).max(Nanos::ZERO),
        };
        self.last = self.last.max(now + varied);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_jitter_each_packet_takes_the_delay() {
        let mut line = Terrestrial::new(Nanos(700), Nanos::ZERO, 1, "here").expect("valid");
        assert_eq!(line.leaves(Time(-100)), Time(600));
        assert_eq!(line.leaves(Time(5)), Time(705));
    }

    #[test]
    fn jitter_spreads_the_delay_and_keeps_the_order() {
        let (delay, spread) = (Nanos::from_millis(60), Nanos::from_millis(5));
        let mut line = Terrestrial::new(delay, spread, 1, "here").expect("valid");
        let mut before = Time(i64::MIN);
        let (mut sum, mut squares) = (0.0, 0.0);
        let apart = Nanos::from_millis(100);
        let mut now = Time::ZERO;
        for _ in 0..10_000 {
            let leaves = line.leaves(now);
            assert!(leaves >= before);
            before = leaves;
            let taken = (leaves - now).as_secs_f64();
            sum += taken;
            squares += taken * taken;
            now += apart;
        }
        let mean = sum / 1e4;
        let deviation = (squares / 1e4 - mean * mean).sqrt();
        assert!((mean - 0.060).abs() < 0.000_3, "{mean}");
        assert!((deviation - 0.005).abs() < 0.000_2, "{deviation}");
        // Sent together they leave together or in order.
        let (first, second) = (line.leaves(now), line.leaves(now));
        assert!(first <= second);
    }
}
