//! Where chance comes from: one generator per part of a pipe, derived from the run's seed and the part's place.
//!
//! So the two directions differ, and adding a part does not change another's draws. The generator is
//! xoshiro256++ (Blackman, Vigna 2018), seeded through `SplitMix64`; its crate is pinned, and a test holds recorded
//! draws, so that a seed means the same in ten years.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The generator of one place, such as `down/channel/loss`.
pub fn stream(seed: u64, place: &str) -> Xoshiro256PlusPlus {
    // FNV-1a of the place (Fowler, Noll, Vo), begun from the seed passed through SplitMix64's finaliser, so that
    // neighbouring seeds do not give neighbouring states.
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ finalise(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
    for &byte in place.as_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    Xoshiro256PlusPlus::seed_from_u64(hash)
}

/// `SplitMix64`'s finaliser (Steele, Lea, Flood 2014).
const fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A probability as a threshold over 64 bits, so that a draw costs one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Chance {
    Never,
    /// A draw below this.
    UpTo(u64),
    Always,
}

impl Chance {
    pub fn new(probability: f64) -> Self {
        if probability <= 0.0 {
            Self::Never
        } else if probability >= 1.0 {
            Self::Always
        } else {
            // 2^64 as a float is exact; the product is below it, so the cast does not saturate.
            Self::UpTo((probability * 18_446_744_073_709_551_616.0) as u64)
        }
    }

    /// Draws only where the outcome is open.
    pub fn draw(self, rng: &mut Xoshiro256PlusPlus) -> bool {
        match self {
            Self::Never => false,
            Self::UpTo(threshold) => rng.next_u64() < threshold,
            Self::Always => true,
        }
    }
}

/// Uniform over [0, 1) with 53 bits.
pub(crate) fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64, place: &str) -> [u64; 3] {
        let mut rng = stream(seed, place);
        [rng.next_u64(), rng.next_u64(), rng.next_u64()]
    }

    #[test]
    fn the_two_directions_and_neighbouring_seeds_differ() {
        assert_ne!(draws(1, "down/channel/loss"), draws(1, "up/channel/loss"));
        assert_ne!(draws(1, "down/channel/loss"), draws(2, "down/channel/loss"));
    }

    #[test]
    fn a_chance_comes_true_as_often_as_it_says() {
        let mut rng = stream(7, "test");
        let chance = Chance::new(0.03);
        let hits = (0..200_000).filter(|_| chance.draw(&mut rng)).count();
        // Standard deviation is 76.
        assert!((5_600..=6_400).contains(&hits), "{hits}");
        assert!(Chance::new(1.0).draw(&mut rng));
        assert!(!Chance::new(0.0).draw(&mut rng));
    }
}
