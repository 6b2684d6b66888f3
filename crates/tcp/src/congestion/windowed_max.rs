//! The largest sample of a sliding window, from the best three with their times (Kathleen Nichols' filter;
//! Linux's `lib/win_minmax.c`). The window's clock is whatever counts up: here, round trips.

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    at: u32,
    value: u64,
}

/// The best, the best since that, and the best since the second.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowedMax([Sample; 3]);

impl WindowedMax {
    pub const fn get(&self) -> u64 {
        self.0[0].value
    }

    /// Takes `value` at time `at`; what is older than `window` is forgotten.
    pub fn update(&mut self, window: u32, at: u32, value: u64) {
        let sample = Sample { at, value };
        let [best, second, third] = &mut self.0;
        if value >= best.value || at - third.at > window {
            self.0 = [sample; 3];
            return;
        }
        if value >= second.value {
            *second = sample;
            *third = sample;
        } else if value >= third.value {
            *third = sample;
        }
        let age = at - best.at;
        if age > window {
            self.0 = [*second, *third, sample];
            if at - self.0[0].at > window {
                self.0 = [self.0[1], sample, sample];
            }
        } else if second.at == best.at && age > window / 4 {
            // A quarter without a new second best: take one from the second quarter, so that it is not stale later.
            *second = sample;
            *third = sample;
        } else if third.at == second.at && age > window / 2 {
            *third = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_holds_for_the_window_and_not_longer() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 100);
        for at in 1..=10 {
            filter.update(10, at, 50);
            assert_eq!(filter.get(), 100);
        }
        filter.update(10, 11, 50);
        assert_eq!(filter.get(), 50);
    }

    #[test]
    fn a_decline_is_followed_step_by_step() {
        let mut filter = WindowedMax::default();
        for at in 0..100 {
            filter.update(10, at, 1000 - u64::from(at));
            let oldest = u64::from(at.saturating_sub(10));
            assert!(filter.get() <= 1000 - oldest);
            assert!(filter.get() >= 1000 - u64::from(at));
        }
    }

    #[test]
    fn a_new_maximum_replaces_all() {
        let mut filter = WindowedMax::default();
        filter.update(10, 0, 5);
        filter.update(10, 3, 7);
        assert_eq!(filter.get(), 7);
    }
}
