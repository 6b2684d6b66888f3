//! A column's page while it is gathered: values of 8 bytes that are mostly those of the instant before.

use super::lz4::{Block, FURTHEST};

const VALUE_BYTES: usize = 8;
/// Of a changed value at most so many bytes are written by themselves: the rest is then long enough for a match.
const MOST_LOW_BYTES: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct Column {
    block: Block,
    /// So many bytes are in the block or among its literals; those behind them are as they were.
    done: usize,
    /// How many values back the same cell of the instant before lies.
    back: usize,
    /// Rows without a value so far.
    pub nulls: u32,
}

impl Column {
    /// How many values stand before this row.
    #[inline]
    pub fn place(&self, row: u32) -> u32 {
        row - self.nulls
    }

    /// The row has another value than at the instant before.
    #[inline]
    pub fn change(&mut self, row: u32, bits: u64, before: u64) {
        let at = self.close(row);
        let differing = VALUE_BYTES - (bits ^ before).leading_zeros() as usize / 8;
        let bytes = if differing > MOST_LOW_BYTES {
            VALUE_BYTES
        } else {
            differing
        };
        self.block.literals(bits, bytes);
        self.done = at + bytes;
    }

    /// The row has this value, and no other row of it is known.
    #[inline]
    pub fn value(&mut self, row: u32, bits: u64) {
        let at = self.close(row);
        self.block.literals(bits, VALUE_BYTES);
        self.done = at + VALUE_BYTES;
    }

    /// The row has a value, and had none at the instant before.
    #[inline]
    pub fn gain(&mut self, row: u32, bits: u64) {
        self.value(row, bits);
        self.back += 1;
    }

    /// The same, and an earlier value of the page equals it. `false`: it lies too far back.
    #[inline]
    pub fn gain_again(&mut self, row: u32, earlier: u32) -> bool {
        let offset = (self.place(row) - earlier) as usize * VALUE_BYTES;
        if offset > FURTHEST {
            return false;
        }
        let at = self.close(row);
        self.block.repeat(offset, VALUE_BYTES);
        self.done = at + VALUE_BYTES;
        self.back += 1;
        true
    }

    /// There was a value at the instant before, and there is none now before this row.
    #[inline]
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
    pub fn close(&mut self, row: u32) -> usize {
        let at = self.place(row) as usize * VALUE_BYTES;
        if at > self.done {
            self.refer(at);
        }
        at
    }

    #[inline]
    fn refer(&mut self, at: usize) {
        self.block.repeat(self.back * VALUE_BYTES, at - self.done);
        self.done = at;
    }

    /// The block of so many rows, and how many values it has. `last` is the last value, if it is of the last instant. Then
    /// [`clear`](Self::clear).
    pub fn finish(&mut self, rows: u32, last: Option<u64>) -> (&[u8], usize) {
        let values = self.place(rows) as usize;
        if values == 0 {
            return (&[], 0);
        }
        let end = values * VALUE_BYTES;
        let block = match (last, end - self.done) {
            (Some(last), open @ VALUE_BYTES..) => {
                if open > VALUE_BYTES {
                    self.refer(end - VALUE_BYTES);
                }
                self.block.literals(last, VALUE_BYTES);
                self.block.finish()
            }
            // The end of a value whose beginning is among the literals.
            (Some(last), open @ 1..) => {
                let upper = last >> (8 * (VALUE_BYTES - open));
                self.block.literals(upper, open);
                self.block.finish()
            }
            (_, 0) if self.block.has_literals() => self.block.finish(),
            (Some(last), 0) => {
                self.block.without_last_match(last);
                self.block.finish()
            }
            (_, open) => {
                if open > 0 {
                    self.refer(end);
                }
                self.block.finish_again(end)
            }
        };
        (block, values)
    }

    /// Begins another page.
    pub fn clear(&mut self) {
        self.block.clear();
        (self.done, self.back, self.nulls) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads what was written, and checks the rules for a block's end that some decoders rely on.
    fn read(column: &mut Column, rows: u32, last: Option<u64>) -> Vec<u64> {
        let (block, values) = column.finish(rows, last);
        assert!(values == 0 || last_literals(block) >= 5, "{block:?}");
        let bytes = if values == 0 {
            Vec::new()
        } else {
            lz4_flex::block::decompress(block, values * VALUE_BYTES).expect("a block")
        };
        let (found, rest) = bytes.as_chunks();
        assert!(rest.is_empty());
        found
            .iter()
            .map(|bytes| u64::from_le_bytes(*bytes))
            .collect()
    }

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
            column.nulls += 1;
        }
        assert_eq!(read(&mut column, 12, None), [7; 8]);
    }

    #[test]
    fn a_block_ends_with_literals_where_the_last_row_refers_to_an_earlier_one() {
        for values in [vec![7_u64, 7], vec![1, 7, 9, 7]] {
            let mut column = Column::default();
            let count = values.len() as u32;
            for (row, bits) in (0..).zip(&values[..values.len() - 1]) {
                column.gain(row, *bits);
            }
            assert!(column.gain_again(count - 1, count - 2 - u32::from(count == 4)));
            assert_eq!(read(&mut column, count, Some(7)), values);
        }
    }

    proptest! {
        /// Of a fixed number of cells at every instant, any of which changes in any of its bytes.
        #[test]
        fn cells_that_change_in_some_of_their_bytes_are_read_back(
            first in prop::collection::vec(any::<u64>(), 1..40),
            changes in prop::collection::vec(prop::collection::vec((any::<u64>(), 0_u32..9), 40), 0..30),
        ) {
            let mut column = Column::default();
            let mut cells = first;
            let mut expected = cells.clone();
            for (row, bits) in (0..).zip(&cells) {
                column.gain(row, *bits);
            }
            let mut row = cells.len() as u32;
            for changes in changes {
                for (cell, (bits, bytes)) in cells.iter_mut().zip(changes) {
                    let after = *cell ^ (bits & (1_u64.checked_shl(8 * bytes).unwrap_or(0)).wrapping_sub(1));
                    if after != *cell {
                        column.change(row, after, *cell);
                        *cell = after;
                    }
                    row += 1;
                }
                expected.extend(&cells);
            }
            let last = cells.last().copied();
            prop_assert_eq!(read(&mut column, row, last), expected);
        }
    }
}
