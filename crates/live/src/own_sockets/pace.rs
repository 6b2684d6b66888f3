//! The time between two looks: as asked, unless they cost too much.

const SHORTEST_NS: i64 = 1_000_000;
const LONGEST_NS: i64 = 3_600_000_000_000;
/// Weight of the latest look in the mean: one that happens to be slow, as the first is, changes little.
const WEIGHT: f64 = 0.125;

#[derive(Debug)]
pub(super) struct Pace {
    asked_ns: i64,
    /// Of a core, for looks.
    most_share: Option<f64>,
    /// Processor time of a look, on average.
    look_ns: f64,
}

impl Pace {
    pub(super) fn new(asked_s: f64, most_share: Option<f64>) -> Self {
        Self {
            asked_ns: ((asked_s * 1e9) as i64).clamp(SHORTEST_NS, LONGEST_NS),
            most_share: most_share.filter(|&share| share > 0.0),
            look_ns: 0.0,
        }
    }

    /// For want of room.
    pub(super) fn double(&mut self) {
        self.asked_ns = (2 * self.asked_ns).min(LONGEST_NS);
    }

    /// `used_s`: processor time of the latest look.
    pub(super) fn looked(&mut self, used_s: f64) {
        self.look_ns += WEIGHT * (used_s * 1e9 - self.look_ns);
    }

    /// What was asked for, times a whole number.
    pub(super) fn interval_ns(&self) -> i64 {
        let least_ns = self.most_share.map_or(0.0, |share| self.look_ns / share);
        let times = (least_ns / self.asked_ns as f64).ceil().max(1.0);
        ((times * self.asked_ns as f64) as i64).min(LONGEST_NS)
    }

    /// Whether looks cost too much for the interval that was asked for.
    pub(super) fn is_slowed(&self) -> bool {
        self.interval_ns() > self.asked_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    fn after(looks: usize, used_s: f64, mut pace: Pace) -> Pace {
        for _ in 0..looks {
            pace.looked(used_s);
        }
        pace
    }

    #[test]
    fn looks_that_cost_too_much_are_taken_less_often_until_they_do_not() {
        let pace = after(50, 0.012, Pace::new(0.1, Some(0.05)));
        assert_eq!((pace.interval_ns(), pace.is_slowed()), (300 * MS, true));
        let pace = after(50, 0.001, pace);
        assert_eq!((pace.interval_ns(), pace.is_slowed()), (100 * MS, false));
    }

    #[test]
    fn one_slow_look_changes_nothing() {
        let pace = after(1, 0.03, Pace::new(0.1, Some(0.05)));
        assert!(!pace.is_slowed());
    }

    #[test]
    fn the_interval_that_was_asked_for_stands_if_no_share_is_given() {
        let mut pace = after(50, 1.0, Pace::new(0.02, None));
        assert_eq!(pace.interval_ns(), 20 * MS);
        pace.double();
        assert_eq!((pace.interval_ns(), pace.is_slowed()), (40 * MS, false));
    }

    proptest! {
        #[test]
        fn looks_that_cost_the_same_stay_within_the_share(used_s in 0.0..10.0, asked_s in 0.001..10.0) {
            let pace = after(200, used_s, Pace::new(asked_s, Some(0.05)));
            prop_assert!(used_s * 1e9 / pace.interval_ns() as f64 <= 0.0501);
            prop_assert!(pace.interval_ns() >= (asked_s * 1e9) as i64);
        }
    }
}
