//! When the messages of the workload `interactive` are written: at a fixed interval, or with exponential gaps, which make
//! them a Poisson process.

use bentpipe_base::random::unit;
use bentpipe_base::words::quoted;
use bentpipe_path::stream;
use bentpipe_path::time::Nanos;
use core::fmt;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// How the gaps between messages are spread around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gaps {
    #[default]
    Fixed,
    Exponential,
}

bentpipe_reading::read_words!(Gaps { "fixed" => Fixed, "exponential" => Exponential });

/// Gaps that nobody knows: neither "fixed" nor "exponential".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGaps(String);

impl fmt::Display for UnknownGaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected fixed or exponential, got {}", quoted(&self.0))
    }
}

impl core::error::Error for UnknownGaps {}

impl core::str::FromStr for Gaps {
    type Err = UnknownGaps;

    fn from_str(text: &str) -> Result<Self, UnknownGaps> {
        match text {
            "fixed" => Ok(Self::Fixed),
            "exponential" => Ok(Self::Exponential),
            _ => Err(UnknownGaps(text.to_owned())),
        }
    }
}

/// The time of each message, from the first one's; the first is at zero. It has no end of its own.
#[derive(Clone, Debug)]
pub struct MessageTimes {
    next: Nanos,
    mean_gap: Nanos,
    gaps: Gaps,
    rng: Xoshiro256PlusPlus,
}

impl MessageTimes {
    /// Of the workload `name`.
    pub fn new(seed: u64, name: &str, mean_gap: Nanos, gaps: Gaps) -> Self {
        Self {
            next: Nanos::ZERO,
            mean_gap,
            gaps,
            rng: stream(seed, &format!("{name}/gap")),
        }
    }
}

impl Iterator for MessageTimes {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        let gap = match self.gaps {
            Gaps::Fixed => self.mean_gap,
            Gaps::Exponential => {
                let share = -libm::log(1.0 - unit(&mut self.rng));
                Nanos((self.mean_gap.0 as f64 * share).round() as i64)
            }
        };
        let at = self.next;
        self.next = at + gap;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: Nanos = Nanos::from_millis(200);

    #[test]
    fn fixed_gaps_are_all_the_same() {
        let times = MessageTimes::new(1, "shell", MEAN, Gaps::Fixed);
        let first: Vec<i64> = times.take(4).map(|at| at.0).collect();
        assert_eq!(first, [0, 200_000_000, 400_000_000, 600_000_000]);
    }

    #[test]
    fn exponential_gaps_have_their_mean_and_their_deviation() {
        let times: Vec<Nanos> = MessageTimes::new(1, "shell", MEAN, Gaps::Exponential)
            .take(100_001)
            .collect();
        let gaps = times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_secs_f64());
        let (mut sum, mut squares) = (0.0, 0.0);
        for gap in gaps {
            assert!(gap >= 0.0);
            sum += gap;
            squares += gap * gap;
        }
        let mean = sum / 1e5;
        let deviation = (squares / 1e5 - mean * mean).sqrt();
        // The standard error of both is about 0.6 ms.
        assert!((mean - 0.2).abs() < 0.003, "{mean}");
        assert!((deviation - 0.2).abs() < 0.006, "{deviation}");
    }

    #[test]
    fn a_seed_means_the_same_on_every_machine() {
        let first = |seed| -> Vec<i64> {
            MessageTimes::new(seed, "shell", MEAN, Gaps::Exponential)
                .take(4)
                .map(|at| at.0)
                .collect()
        };
        assert_eq!(first(1), RECORDED);
        assert_ne!(first(1), first(2));
    }

    const RECORDED: [i64; 4] = [0, 48_646_896, 471_174_283, 1_414_889_121];
}
