//! What a page keeps in a byte of each of its rows: a text's number, or whether a cell has a value.

/// Bytes of the rows of this instant, which begins as the one before it was, and of those before it.
#[derive(Debug, Default)]
pub(super) struct RowBytes {
    pub now: Vec<u8>,
    pub earlier: Vec<u8>,
}

impl RowBytes {
    pub fn end_instant(&mut self) {
        self.earlier.extend_from_slice(&self.now);
    }
}

/// Which rows have a value in a column: 1, else 0. Rows of an instant are asked for and changed in rising order.
#[derive(Debug, Default)]
pub(super) struct Validity {
    bytes: RowBytes,
    /// So many rows of this instant are counted.
    counted: usize,
    /// Rows with a value before those that are not counted.
    values: usize,
}

impl Validity {
    /// Of rows that all have a value.
    pub fn of(earlier: usize, now: usize) -> Self {
        Self {
            bytes: RowBytes {
                now: vec![1; now],
                earlier: vec![1; earlier],
            },
            counted: 0,
            values: earlier,
        }
    }

    /// How many rows of the page have a value before this row of the instant.
    #[inline]
    pub fn values_before(&mut self, row: usize) -> usize {
        let next = &self.bytes.now[self.counted..row];
        self.values += next.iter().map(|byte| usize::from(*byte)).sum::<usize>();
        self.counted = row;
        self.values
    }

    pub fn set(&mut self, row: usize, has_value: bool) {
        self.bytes.now[row] = has_value.into();
    }

    pub fn insert(&mut self, row: usize, has_value: bool) {
        self.bytes.now.insert(row, has_value.into());
    }

    pub fn remove(&mut self, row: usize) {
        self.bytes.now.remove(row);
    }

    pub fn end_instant(&mut self) {
        self.values_before(self.bytes.now.len());
        self.bytes.end_instant();
        self.counted = 0;
    }

    /// A byte for each row of the page, and how many rows have a value.
    pub fn page(&self) -> (&[u8], usize) {
        (&self.bytes.earlier, self.values)
    }

    pub fn clear_page(&mut self) {
        self.bytes.earlier.clear();
        self.values = 0;
    }
}
