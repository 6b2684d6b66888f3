//! Delays in memory that does not grow with their number: each is known to 3 %.

use bentpipe_base::Nanos;

/// Each power of two is divided in so many parts.
const PARTS: u64 = 32;
const PART_BITS: u32 = PARTS.trailing_zeros();

#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    /// How many fell in each part; those below `PARTS` ns each have their own.
    counts: Vec<u64>,
    count: u64,
    sum_ns: i128,
    max: Nanos,
}

fn place(nanos: u64) -> usize {
    let power = nanos.max(1).ilog2();
    if power < PART_BITS {
        return nanos as usize;
    }
    let shift = power - PART_BITS;
    (u64::from(shift) * PARTS + (nanos >> shift)) as usize
}

/// The middle of what falls in a place.
fn middle_ns(place: usize) -> f64 {
    let place = place as u64;
    if place < PARTS {
        return place as f64;
    }
    let shift = (place / PARTS - 1) as u32;
    let least = (place % PARTS + PARTS) << shift;
    least as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
}

impl Delays {
    pub fn add(&mut self, delay: Nanos) {
        let place = place(delay.0.max(0) as u64);
        if self.counts.len() <= place {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
        self.count += 1;
        self.sum_ns += i128::from(delay.0);
        self.max = self.max.max(delay);
    }

    pub fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e9)
    }

    pub fn max_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.max.as_secs_f64())
    }

    /// That which so many percent do not exceed.
    pub fn percentile_s(&self, percent: f64) -> Option<f64> {
        let rank = (percent / 100.0 * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|&count| {
            seen += count;
            seen >= rank
        })?;
        Some(middle_ns(found).min(self.max.0 as f64) / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_percentile_is_within_3_percent_of_the_delay_of_that_rank(
            mut delays in prop::collection::vec(0..10_000_000_000_i64, 1..200), percent in 1..=100_u8,
        ) {
            let mut counted = Delays::default();
            for &delay in &delays {
                counted.add(Nanos(delay));
            }
            delays.sort_unstable();
            let rank = (f64::from(percent) / 100.0 * delays.len() as f64).ceil() as usize;
            let exact_s = delays[rank.max(1) - 1] as f64 / 1e9;
            let found_s = counted.percentile_s(percent.into()).expect("there are some");
            prop_assert!((found_s - exact_s).abs() <= 0.032 * exact_s + 1e-9, "{found_s} {exact_s}");
        }
    }

    #[test]
    fn of_no_delays_nothing_is_known() {
        let none = Delays::default();
        assert_eq!(
            (none.mean_s(), none.percentile_s(50.0), none.max_s()),
            (None, None, None)
        );
    }
}
