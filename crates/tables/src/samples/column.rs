//! A column's page while it is gathered: values of 8 bytes that are mostly those of the instant before.

use super::lz4;

const VALUE_BYTES: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Column {
    block: Vec<u8>,
    /// Literals that no match follows yet.
    literals: Vec<u8>,
    /// So many values are in the block or among the literals; those behind them are as they were.
    done: u32,
    /// How many values back the same cell of the instant before lies.
    back: u32,
    /// Rows without a value.
    pub nulls: Vec<u32>,
}

impl Column {
    /// How many values stand before this row.
    fn place(&self, row: u32) -> u32 {
        row - self.nulls.len() as u32
    }

    /// The row has another value than at the instant before.
    #[inline]
    pub fn value(&mut self, row: u32, bits: u64) {
        self.close(row);
        self.literals.extend_from_slice(&bits.to_le_bytes());
        self.done += 1;
    }

    /// The row has a value, and had none at the instant before.
    pub fn gain(&mut self, row: u32, bits: u64) {
        self.value(row, bits);
        self.back += 1;
    }

    /// There was a value at the instant before, and there is none now before this row.
    pub fn lose(&mut self, row: u32) {
        self.close(row);
        self.back -= 1;
    }

    /// From this row on all values are the same.
    pub fn time(&mut self, row: u32, time_s: f64) {
        self.value(row, time_s.to_bits());
        self.back = 1;
    }

    /// What lies before this row refers to the instant before, as far as it is not in the block.
    #[inline]
    pub fn close(&mut self, row: u32) {
        let place = self.place(row);
        if place > self.done {
            self.refer(place);
        }
    }

    fn refer(&mut self, place: u32) {
        let offset = (self.back as usize * VALUE_BYTES) as u16;
        let length = (place - self.done) as usize * VALUE_BYTES;
        lz4::sequence(&mut self.block, &self.literals, offset, length);
        self.literals.clear();
        self.done = place;
    }

    /// The block of so many rows, and how many values it has. `last_two` are the last values. Then [`clear`](Self::clear).
    pub fn finish(&mut self, rows: u32, last_two: Option<[u64; 2]>) -> (&[u8], usize) {
        let values = self.place(rows);
        if let Some(two) = last_two {
            let open = (values - self.done).min(2);
            self.close_to(values - open);
            for bits in &two[2 - open as usize..] {
                self.literals.extend_from_slice(&bits.to_le_bytes());
            }
        }
        lz4::last_literals(&mut self.block, &self.literals);
        if self.literals.is_empty() {
            self.block = lz4::again(&self.block, values as usize * VALUE_BYTES);
        }
        (&self.block, values as usize)
    }

    /// Begins another page.
    pub fn clear(&mut self) {
        self.block.clear();
        self.literals.clear();
        (self.done, self.back) = (0, 0);
        self.nulls.clear();
    }

    fn close_to(&mut self, place: u32) {
        if place > self.done {
            self.refer(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Literals at the block's end, walking its sequences as a decoder does.
    fn last_literals(block: &[u8]) -> usize {
        let mut at = 0;
        let length = |at: &mut usize, nibble: u8| {
            let mut length = usize::from(nibble);
            let mut goes_on = nibble == 15;
            while goes_on {
                length += usize::from(block[*at]);
                goes_on = block[*at] == 255;
                *at += 1;
            }
            length
        };
        loop {
            let token = block[at];
            at += 1;
            let literals = length(&mut at, token >> 4);
            at += literals;
            if at == block.len() {
                return literals;
            }
            at += 2;
            length(&mut at, token & 15);
        }
    }

    #[test]
    fn a_block_ends_with_literals_where_the_last_rows_have_no_value() {
        let mut column = Column::default();
        for row in 0..4 {
            column.gain(row, 7);
        }
        // The same values at the next instant; at the one after it none has one.
        for row in 8..12 {
            column.lose(row);
            column.nulls.push(row);
        }
        let (block, values) = column.finish(12, None);
        assert_eq!(values, 8);
        assert!(last_literals(block) >= 5, "{block:?}");
        let bytes = lz4_flex::block::decompress(block, 64).expect("a block");
        assert_eq!(bytes, 7_u64.to_le_bytes().repeat(8));
    }
}
