//! What a page keeps in a bit of each of its rows: whether a cell has a value, or a bit of a text's number.

const WORD: usize = u64::BITS as usize;

/// Bits of the rows of this instant, which begins as the one before it was, and of those before it.
#[derive(Debug, Default)]
pub(super) struct RowBits {
    now: Vec<u64>,
    earlier: Vec<u64>,
}

impl RowBits {
    /// Of so many rows, which all have this bit.
    pub fn of(bit: bool, earlier: usize, now: usize) -> Self {
        let all = |rows: usize| {
            let mut words = vec![if bit { u64::MAX } else { 0 }; rows.div_ceil(WORD)];
            keep(&mut words, rows);
            words
        };
        Self {
            now: all(now),
            earlier: all(earlier),
        }
    }

    /// Of a row of this instant, or the one behind the last.
    #[inline]
    pub fn set(&mut self, row: usize, bit: bool) {
        let (word, at) = (row / WORD, row % WORD);
        if self.now.len() == word {
            self.now.push(0);
        }
        self.now[word] = self.now[word] & !(1 << at) | u64::from(bit) << at;
    }

    /// Adds the first `rows` of this instant to those before it, which are so many.
    pub fn end_instant(&mut self, earlier: usize, rows: usize) {
        self.now.truncate(rows.div_ceil(WORD));
        keep(&mut self.now, rows);
        let shift = earlier % WORD;
        if shift == 0 {
            self.earlier.extend_from_slice(&self.now);
            return;
        }
        for word in &self.now {
            if let Some(last) = self.earlier.last_mut() {
                *last |= word << shift;
            }
            self.earlier.push(word >> (WORD - shift));
        }
        self.earlier.truncate((earlier + rows).div_ceil(WORD));
    }

    /// Of all rows of the instants that are over: a bit each, lowest first.
    pub fn page(&self) -> &[u64] {
        &self.earlier
    }

    /// The same as bytes, of so many rows.
    pub fn page_bytes(&self, rows: usize) -> Vec<u8> {
        let bytes = self.earlier.iter().flat_map(|word| word.to_le_bytes());
        bytes.take(rows.div_ceil(8)).collect()
    }

    /// What all of these `rows` have, if they do.
    pub fn only_bit(&self, rows: usize) -> Option<bool> {
        let ones: u32 = self.earlier.iter().map(|word| word.count_ones()).sum();
        match ones as usize {
            0 => Some(false),
            ones => (ones == rows).then_some(true),
        }
    }

    pub fn clear_page(&mut self) {
        self.earlier.clear();
    }
}

/// Clears the bits behind so many.
fn keep(words: &mut [u64], bits: usize) {
    if let Some(last) = words.get_mut(bits / WORD) {
        *last &= (1 << (bits % WORD)) - 1;
    }
}

/// Which rows have a value in a column. Rows of an instant are asked for and changed in rising order.
#[derive(Debug, Default)]
pub(super) struct Validity {
    bits: RowBits,
    /// So many words of this instant's rows are counted.
    counted: usize,
    /// Rows with a value before those that are not counted.
    values: usize,
}

impl Validity {
    /// Of rows that all have a value.
    pub fn of(earlier: usize, now: usize) -> Self {
        Self {
            bits: RowBits::of(true, earlier, now),
            counted: 0,
            values: earlier,
        }
    }

    /// How many rows of the page have a value before this row of the instant.
    #[inline]
    pub fn values_before(&mut self, row: usize) -> usize {
        while self.counted < row / WORD {
            self.values += self.bits.now[self.counted].count_ones() as usize;
            self.counted += 1;
        }
        let below = match row % WORD {
            0 => 0,
            at => self.bits.now[row / WORD] & ((1 << at) - 1),
        };
        self.values + below.count_ones() as usize
    }

    #[inline]
    pub fn set(&mut self, row: usize, has_value: bool) {
        self.bits.set(row, has_value);
    }

    pub fn end_instant(&mut self, earlier: usize, rows: usize) {
        self.values = self.values_before(rows);
        self.counted = 0;
        self.bits.end_instant(earlier, rows);
    }

    /// How many rows of the page have a value.
    pub fn page_values(&self) -> usize {
        self.values
    }

    /// A bit for each of the page's rows, lowest first.
    pub fn page_bytes(&self, rows: usize) -> Vec<u8> {
        self.bits.page_bytes(rows)
    }

    pub fn clear_page(&mut self) {
        self.bits.clear_page();
        self.values = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// At each instant so many rows, of which some are set anew.
        #[test]
        fn values_are_counted_as_rows_come_change_and_go(
            all_before in 0_usize..200,
            instants in prop::collection::vec(
                (0_usize..200, prop::collection::vec((0_usize..200, any::<bool>()), 0..20)),
                0..8,
            ),
        ) {
            let mut valid = Validity::of(all_before, 0);
            let mut page = vec![true; all_before];
            let mut now: Vec<bool> = Vec::new();
            for (rows, mut changes) in instants {
                let earlier = page.len();
                let before = page.iter().filter(|it| **it).count();
                let values = |now: &[bool]| before + now.iter().filter(|it| **it).count();
                changes.sort_unstable();
                for (row, has_value) in changes {
                    if row < rows.min(now.len()) {
                        valid.set(row, has_value);
                        now[row] = has_value;
                        prop_assert_eq!(valid.values_before(row), values(&now[..row]));
                    }
                }
                now.truncate(rows);
                for row in now.len()..rows {
                    valid.set(row, row % 3 == 0);
                    now.push(row % 3 == 0);
                }
                valid.end_instant(earlier, rows);
                page.extend(&now);
            }
            prop_assert_eq!(valid.page_values(), page.iter().filter(|it| **it).count());
            let bytes = valid.page_bytes(page.len());
            prop_assert_eq!(bytes.len(), page.len().div_ceil(8));
            for (row, has_value) in page.iter().enumerate() {
                prop_assert_eq!(bytes[row / 8] >> (row % 8) & 1 == 1, *has_value);
            }
        }
    }
}
