//! Requests for the objects of a set, some asked for more than others: the k-th in proportion to k^-zipf (Breslau et al.
//! 1999 found 0.6 to 0.8 for the web).

use bentpipe_base::random::unit;
use bentpipe_path::stream;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug)]
pub struct Popularity {
    /// The probability of this object or one more popular.
    cumulative: Vec<f64>,
    rng: Xoshiro256PlusPlus,
}

impl Popularity {
    /// Of the workload `name`; `objects` is at least 1.
    pub fn new(zipf: f64, objects: u32, seed: u64, name: &str) -> Self {
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = (1..=objects)
            .map(|rank| {
                sum += libm::pow(f64::from(rank), -zipf);
                sum
            })
            .collect();
        for share in &mut cumulative {
            *share /= sum;
        }
        Self {
            cumulative,
            rng: stream(seed, &format!("{name}/object")),
        }
    }

    /// The next object asked for, from 1, which is the most popular.
    pub fn draw(&mut self) -> u32 {
        let at = unit(&mut self.rng);
        let rank = self.cumulative.partition_point(|&share| share <= at);
        rank.min(self.cumulative.len() - 1) as u32 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_asked_for_by_zipfs_law() {
        let mut popularity = Popularity::new(1.0, 100, 3, "fetch");
        let mut asked = [0_u32; 101];
        for _ in 0..100_000 {
            asked[popularity.draw() as usize] += 1;
        }
        let harmonic: f64 = (1..=100).map(|rank| 1.0 / f64::from(rank)).sum();
        for rank in [1_usize, 2, 10] {
            let expected = 100_000.0 / harmonic / rank as f64;
            let error = (f64::from(asked[rank]) - expected).abs();
            assert!(error < 5.0 * expected.sqrt(), "{rank}: {}", asked[rank]);
        }
        assert!(asked[1..].iter().all(|&times| times > 0));
    }
}
