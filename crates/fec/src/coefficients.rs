//! The coefficients of a repair symbol, drawn from its 16-bit key as in RFC 8681, section 3.6, for GF(2^8).

use crate::tiny_mt::TinyMt32;

/// The share of a window's symbols that a repair symbol combines: `(threshold + 1) / 16`, the RFC's density threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Density(u8);

impl Density {
    /// Every symbol of the window takes part.
    pub const FULL: Self = Self(15);

    /// `None` above 15.
    pub const fn new(threshold: u8) -> Option<Self> {
        if threshold <= 15 {
            Some(Self(threshold))
        } else {
            None
        }
    }

    /// So many eighths of the symbols, at least 1 and at most 8.
    pub const fn of_eighths(eighths: u8) -> Self {
        match eighths {
            0 => Self(1),
            1..=8 => Self(2 * eighths - 1),
            _ => Self::FULL,
        }
    }

    /// Rounded up.
    pub(crate) const fn eighths(self) -> u8 {
        self.0 / 2 + 1
    }

    pub const fn threshold(self) -> u8 {
        self.0
    }
}

/// The coefficients of one repair symbol, oldest source symbol first. They have no end.
#[derive(Clone, Debug)]
pub struct Coefficients {
    generator: TinyMt32,
    density: Density,
}

impl Coefficients {
    pub fn new(key: u16, density: Density) -> Self {
        Self {
            generator: TinyMt32::new(key.into()),
            density,
        }
    }
}

impl Iterator for Coefficients {
    type Item = u8;

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let left_out = self.density != Density::FULL
            && self.generator.draw() as u8 & 0x0f > self.density.threshold();
        if left_out {
            return Some(0);
        }
        loop {
            let coefficient = self.generator.draw() as u8;
            if coefficient != 0 {
                return Some(coefficient);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_of_key_1_are_those_printed_in_rfc_8681() {
        let first: Vec<u8> = Coefficients::new(1, Density::FULL).take(10).collect();
        assert_eq!(first, [37, 225, 177, 176, 21, 246, 54, 139, 168, 237]);
    }

    #[test]
    fn a_density_is_the_share_of_coefficients_that_are_not_zero() {
        for threshold in 0..16 {
            let density = Density::new(threshold).expect("it is at most 15");
            let drawn = 16_000;
            let used = Coefficients::new(7, density)
                .take(drawn)
                .filter(|&it| it != 0)
                .count();
            let expected = 1000 * (usize::from(threshold) + 1);
            // Five standard deviations of a binomial count are at most 316.
            assert!(used.abs_diff(expected) <= 316, "{threshold}: {used}");
        }
        assert_eq!(Density::new(16), None);
    }
}
