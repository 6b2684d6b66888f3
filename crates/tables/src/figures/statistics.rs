//! Sums, medians and percentiles, to the last bit as `NumPy` has them: records of before and after this was Rust agree.

use bentpipe_base::sorting::sort_by;

/// Up to so many values are added one after another, in eight sums.
const BLOCK: usize = 128;

/// Pairwise: the rounding error grows with the logarithm of the number of values.
pub(super) fn sum(values: &[f64]) -> f64 {
    let count = values.len();
    if count < 8 {
        return values.iter().sum();
    }
    if count <= BLOCK {
        let eights = values.chunks_exact(8);
        let rest = eights.remainder();
        let mut sums = [0.0; 8];
        for (number, eight) in eights.enumerate() {
            for (sum, value) in sums.iter_mut().zip(eight) {
                *sum = if number == 0 { *value } else { *sum + value };
            }
        }
        let whole = ((sums[0] + sums[1]) + (sums[2] + sums[3]))
            + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        return rest.iter().fold(whole, |sum, value| sum + value);
    }
    let half = count / 2;
    let (first, second) = values.split_at(half - half % 8);
    sum(first) + sum(second)
}

/// In the order of [`f64::total_cmp`].
pub(super) fn sort(values: &mut [f64]) {
    sort_by(values, |a, b| a.total_cmp(b).is_lt());
}

pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// How many values it takes for one of them to lie beyond the percentile, on the side that it is of.
fn least_count(percent: f64) -> usize {
    let beyond = percent.min(100.0 - percent);
    if beyond < 50.0 {
        ((100.0 / beyond).round_ties_even() as usize).max(1)
    } else {
        1
    }
}

/// Of sorted values, by linear interpolation. `None`: they are too few for one to lie beyond it.
pub(super) fn percentile_of_sorted(sorted: &[f64], percent: f64) -> Option<f64> {
    if sorted.is_empty() || sorted.len() < least_count(percent) {
        return None;
    }
    let place = (sorted.len() - 1) as f64 * (percent / 100.0);
    let below = place.floor();
    let (a, share) = (sorted[below as usize], place - below);
    let b = sorted[(below as usize + 1).min(sorted.len() - 1)];
    Some(if share >= 0.5 {
        b - (b - a) * (1.0 - share)
    } else {
        a + (b - a) * share
    })
}

/// The same of values in any order.
pub fn percentile(mut values: Vec<f64>, percent: f64) -> Option<f64> {
    sort(&mut values);
    percentile_of_sorted(&values, percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_needs_a_value_beyond_it() {
        let values = |count| (0..count).map(f64::from).collect();
        assert_eq!(percentile(values(19), 95.0), None);
        assert_eq!(percentile(values(20), 95.0), Some(18.05));
        assert_eq!(percentile(values(100), 1.0), Some(0.99));
        assert_eq!(percentile(values(2), 50.0), Some(0.5));
        assert_eq!(percentile(values(0), 50.0), None);
    }

    #[test]
    fn a_sum_of_many_small_values_is_exact_to_a_few_bits() {
        let sum = sum(&vec![0.1; 1_000_003]);
        assert!((sum / 100_000.3 - 1.0).abs() < 1e-15, "{sum}");
    }

    #[test]
    fn a_median_of_an_even_number_lies_between_the_middle_ones() {
        assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[]), None);
    }
}
