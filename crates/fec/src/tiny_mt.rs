//! `TinyMT32`, the generator of RFC 8682 with the parameters that the RFC fixes.

const MATRIX_1: u32 = 0x8f70_11ee;
const MATRIX_2: u32 = 0xfc78_ff1f;
const TEMPERING: u32 = 0x3793_fdff;
/// The state has 127 bits: the first word's highest bit is not part of it.
const FIRST_WORD: u32 = 0x7fff_ffff;
/// Rounds that mix the seed into the state, and as many steps whose output is thrown away.
const ROUNDS: u32 = 8;

#[derive(Clone, Debug)]
pub(crate) struct TinyMt32([u32; 4]);

impl TinyMt32 {
    pub fn new(seed: u32) -> Self {
        let mut state = [seed, MATRIX_1, MATRIX_2, TEMPERING];
        for round in 1..ROUNDS {
            let before = state[((round - 1) % 4) as usize];
            let mixed = (before ^ before >> 30).wrapping_mul(1_812_433_253);
            state[(round % 4) as usize] ^= mixed.wrapping_add(round);
        }
        let mut generator = Self(state);
        for _ in 0..ROUNDS {
            generator.step();
        }
        generator
    }

    #[inline]
    fn step(&mut self) {
        let [first, second, third, fourth] = self.0;
        let mut x = first & FIRST_WORD ^ second ^ third;
        x ^= x << 1;
        let y = fourth ^ fourth >> 1 ^ x;
        let odd = (y & 1).wrapping_neg();
        self.0 = [
            second,
            third ^ odd & MATRIX_1,
            x ^ y << 10 ^ odd & MATRIX_2,
            y,
        ];
    }

    #[inline]
    pub fn draw(&mut self) -> u32 {
        self.step();
        let [first, _, third, fourth] = self.0;
        let sum = first.wrapping_add(third >> 8);
        fourth ^ sum ^ (sum & 1).wrapping_neg() & TEMPERING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_of_seed_1_are_those_printed_in_rfc_8682() {
        let mut generator = TinyMt32::new(1);
        let right = [
            2_545_341_989,
            981_918_433,
            3_715_302_833,
            2_387_538_352,
            3_591_001_365,
            3_820_442_102,
            2_114_400_566,
            2_196_103_051,
            2_783_359_912,
            764_534_509,
        ];
        assert_eq!(right.map(|_| generator.draw()), right);
    }
}
