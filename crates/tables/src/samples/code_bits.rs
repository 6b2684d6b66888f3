//! What a page keeps of a column of texts or flags: the bits of each row's number.

use super::row_bits::RowBits;

/// The numbers of a column's texts. A column with one text has no bits.
#[derive(Debug, Default)]
pub(super) struct CodeBits(Vec<RowBits>);

impl CodeBits {
    /// `earlier` rows of the page and `now` of the instant have a code already.
    pub fn set(&mut self, row: usize, code: u8, earlier: usize, now: usize) {
        while u32::from(code) >> self.0.len() != 0 {
            self.0.push(RowBits::of(false, earlier, now));
        }
        for (number, bits) in self.0.iter_mut().enumerate() {
            bits.set(row, code >> number & 1 == 1);
        }
    }

    pub fn end_instant(&mut self, earlier: usize, rows: usize) {
        for bits in &mut self.0 {
            bits.end_instant(earlier, rows);
        }
    }

    /// What all rows of the page have, if they do.
    pub fn only_code(&self, rows: usize) -> Option<usize> {
        let mut code = 0;
        for (number, bits) in self.0.iter().enumerate() {
            code |= usize::from(bits.only_bit(rows)?) << number;
        }
        Some(code)
    }

    /// The codes in so many bits each, to a multiple of eight codes.
    pub fn packed(&self, rows: usize, width: usize) -> Vec<u8> {
        let mut packed = Vec::with_capacity(rows.div_ceil(64) * 8 * width);
        for word in 0..rows.div_ceil(64) {
            for eight in 0..8 {
                let mut codes = 0;
                for (number, bits) in self.0.iter().enumerate() {
                    codes |= spread(bits.page()[word].to_le_bytes()[eight], width) << number;
                }
                packed.extend_from_slice(&codes.to_le_bytes()[..width]);
            }
        }
        packed.truncate(rows.div_ceil(8) * width);
        packed
    }

    pub fn clear_page(&mut self) {
        for bits in &mut self.0 {
            bits.clear_page();
        }
    }
}

/// Eight bits, so many places apart.
fn spread(bits: u8, apart: usize) -> u64 {
    let kept = match apart {
        1 => return bits.into(),
        2 => [0x0f0f, 0x3333, 0x5555],
        4 => [0x000f_000f, 0x0303_0303, 0x1111_1111],
        _ => [
            0x0000_000f_0000_000f,
            0x0003_0003_0003_0003,
            0x0101_0101_0101_0101,
        ],
    };
    let mut spread = u64::from(bits);
    for (kept, half) in kept.into_iter().zip([4, 2, 1]) {
        spread = (spread | spread << (half * (apart - 1))) & kept;
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::masks;
    use proptest::prelude::*;

    proptest! {
        /// A code may need more bits than all before it.
        #[test]
        fn codes_of_all_instants_are_packed_one_after_another(
            instants in prop::collection::vec(prop::collection::vec(0_u8..=255, 0..150), 0..6),
            most in 1_u8..=255,
        ) {
            let mut bits = CodeBits::default();
            let mut expected: Vec<u8> = Vec::new();
            for codes in instants {
                let codes: Vec<u8> = codes.into_iter().map(|code| code % most).collect();
                for (row, code) in codes.iter().enumerate() {
                    bits.set(row, *code, expected.len(), row);
                }
                bits.end_instant(expected.len(), codes.len());
                expected.extend(codes);
            }
            let width = masks::width(usize::from(most));
            let packed = masks::packed(&expected, |code| u32::from(*code), width);
            prop_assert_eq!(bits.packed(expected.len(), width), packed);
            let first = expected.first().copied().unwrap_or(0);
            let only = expected.iter().all(|code| *code == first).then_some(first.into());
            prop_assert_eq!(bits.only_code(expected.len()), only);
        }
    }
}
