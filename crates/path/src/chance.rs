//! Something that happens with a probability.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

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

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_base::stream;

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
