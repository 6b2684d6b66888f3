//! Seeded random numbers: a generator per place of a run (xoshiro256++), and a small one for whoever needs a number now and
//! then (`SplitMix64`).
//!
//! A place's generator is derived from the run's seed and the place's name, so the two directions of a path differ, and
//! a new part does not change another's draws. xoshiro256++ is by Blackman and Vigna (2018); its crate is pinned, and a test
//! holds recorded draws, so that a seed means the same in ten years. `SplitMix64` is by Steele, Lea and Flood (2014).

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator of one place, such as `down/channel/loss`.
pub fn stream(seed: u64, place: &str) -> Xoshiro256PlusPlus {
    // FNV-1a of the place (Fowler, Noll, Vo), begun from the mixed seed, so that neighbouring seeds do not give
    // neighbouring states.
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ SplitMix64(seed).draw();
    for &byte in place.as_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    Xoshiro256PlusPlus::seed_from_u64(hash)
}

/// Uniform over [0, 1) with 53 bits.
pub fn unit(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
}

/// A generator whose whole state is one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    pub const fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN_RATIO);
        mix(self.0)
    }

    /// Uniform over `0..below`.
    pub fn draw_below(&mut self, below: u32) -> u32 {
        ((u128::from(self.draw()) * u128::from(below)) >> 64) as u32
    }
}

/// `SplitMix64`'s finaliser.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
    fn splitmix64_draws_what_its_reference_draws() {
        // From the authors' splitmix64.c with the state 1234567.
        let mut generator = SplitMix64(1_234_567);
        assert_eq!(generator.draw(), 6_457_827_717_110_365_317);
        assert_eq!(generator.draw(), 3_203_168_211_198_807_973);
    }
}
