//! A column's page while it is gathered: values of 8 bytes that are mostly those of the instant before.

use super::lz4::Block;

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
}

/// `at` is always the value's place in the page. Places come in rising order.
impl Column {
    /// Another value than at the instant before.
    #[inline]
    pub fn change(&mut self, at: usize, bits: u64, before: u64) {
        let at = self.close(at);
        let differing = VALUE_BYTES - (bits ^ before).leading_zeros() as usize / 8;
        let bytes = if differing > MOST_LOW_BYTES {
            VALUE_BYTES
        } else {
            differing
        };
        self.block.literals(bits, bytes);
        self.done = at + bytes;
    }

    /// A value that no cell had at the instant before.
    #[inline]
    pub fn gain(&mut self, at: usize, bits: u64) {
        let at = self.close(at);
        self.block.literals(bits, VALUE_BYTES);
        self.done = at + VALUE_BYTES;
        self.back += 1;
    }

    /// There were so many values at the instant before, and there are none now before this place.
    #[inline]
    pub fn lose(&mut self, at: usize, values: usize) {
        self.close(at);
        self.back -= values;
    }

    /// From this place on the same cell lies so many values back.
    pub fn reach_back(&mut self, at: usize, values: usize) {
        self.close(at);
        self.back = values;
    }

    /// What lies before this place refers to the instant before, as far as it is not in the block.
    #[inline]
    pub fn close(&mut self, at: usize) -> usize {
        let at = at * VALUE_BYTES;
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

    /// The block of so many values. `last` is the last one, if it is of the last instant. Then [`clear`](Self::clear).
    pub fn finish(&mut self, values: usize, last: Option<u64>) -> &[u8] {
        if values == 0 {
            return &[];
        }
        let end = values * VALUE_BYTES;
        match (last, end - self.done) {
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
        }
    }

    /// Begins another page.
    pub fn clear(&mut self) {
        self.block.clear();
        (self.done, self.back) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads what was written, and checks the rules for a block's end that some decoders rely on.
    fn read(column: &mut Column, values: usize, last: Option<u64>) -> Vec<u64> {
        let block = column.finish(values, last);
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
        for at in 0..4 {
            column.gain(at, 7);
        }
        // The same values at the next instant; at the one after it none has one.
        column.lose(8, 4);
        assert_eq!(read(&mut column, 8, None), [7; 8]);
    }

    #[test]
    fn a_block_ends_with_literals_where_the_last_row_is_as_before_and_another_has_gone() {
        for values in [vec![7_u64, 8, 9], vec![7, 9]] {
            let mut column = Column::default();
            for (at, bits) in values.iter().enumerate() {
                column.gain(at, *bits);
            }
            let left = &values[..values.len() - 1];
            let end = values.len() + left.len();
            column.lose(end, 1);
            assert_eq!(
                read(&mut column, end, left.last().copied()),
                [&values, left].concat()
            );
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
            for (at, bits) in cells.iter().enumerate() {
                column.gain(at, *bits);
            }
            let mut at = cells.len();
            for changes in changes {
                for (cell, (bits, bytes)) in cells.iter_mut().zip(changes) {
                    let after = *cell ^ (bits & (1_u64.checked_shl(8 * bytes).unwrap_or(0)).wrapping_sub(1));
                    if after != *cell {
                        column.change(at, after, *cell);
                        *cell = after;
                    }
                    at += 1;
                }
                expected.extend(&cells);
            }
            let last = cells.last().copied();
            prop_assert_eq!(read(&mut column, at, last), expected);
        }
    }
}
