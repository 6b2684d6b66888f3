//! A page of samples while it is gathered, for each column. Rows are numbered within their instant; each instant begins as
//! the one before it was, and is told in rising order what differs. What follows a column's open end is then the same cells
//! of the instant before, as many values back as that instant has.

use super::code_bits::CodeBits;
use super::codes::{CODED, Codes, RowCodes, VALUES};
use super::row_bits::Validity;
use super::{COLUMNS, RawSocket, Row, TIME, value};
use crate::column::Kind;
use crate::pages::Chunk;
use crate::pages::column::Column;
use crate::{Socket, parquet};
use ::parquet::errors::ParquetError;
use std::io::{self, Write};

#[derive(Debug)]
pub(super) struct Page {
    columns: Vec<Column>,
    coded: [CodeBits; CODED.len()],
    /// Columns in which some cell was null, and which rows have a value there.
    sparse: u64,
    valid: Vec<Validity>,
    /// Of the latest row.
    time_s: f64,
    /// Rows of the instants that are over. While there are none, cells are written when the instant is over: nothing is known
    /// that they could refer to.
    pub rows: usize,
    /// Rows of this instant; those that are not there any more count until it is over.
    now: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            columns: (0..COLUMNS).map(|_| Column::default()).collect(),
            coded: Default::default(),
            sparse: 0,
            valid: (0..COLUMNS).map(|_| Validity::default()).collect(),
            time_s: 0.0,
            rows: 0,
            now: 0,
        }
    }
}

impl Page {
    /// How many values of a column stand before this row.
    #[inline]
    fn at(&mut self, place: usize, row: usize) -> usize {
        if self.sparse >> place & 1 == 1 {
            self.valid[place].values_before(row)
        } else {
            self.rows + row
        }
    }

    /// A row differs from what it was at the instant before, in these columns.
    #[inline]
    pub fn change(&mut self, row: usize, changed: u64, before: &RawSocket, after: &RawSocket) {
        let filled_or_emptied = (before.nulls ^ after.nulls) & VALUES;
        if filled_or_emptied != 0 {
            self.fill_or_empty(row, filled_or_emptied, after);
        }
        if self.rows == 0 {
            return;
        }
        let changed = changed & VALUES & !filled_or_emptied;
        let at = self.rows + row;
        for place in ones(changed & !self.sparse) {
            self.columns[place].change(at, after.bits[place], before.bits[place]);
        }
        for place in ones(changed & self.sparse) {
            let at = self.valid[place].values_before(row);
            self.columns[place].change(at, after.bits[place], before.bits[place]);
        }
    }

    /// Cells that had no value and have one now, or the other way round.
    fn fill_or_empty(&mut self, row: usize, places: u64, after: &RawSocket) {
        for place in ones(places) {
            let has_value = after.nulls >> place & 1 == 0;
            self.make_sparse(place);
            self.valid[place].set(row, has_value);
            if self.rows > 0 {
                let at = self.valid[place].values_before(row);
                if has_value {
                    self.columns[place].gain(at, after.bits[place]);
                } else {
                    self.columns[place].lose(at, 1);
                }
            }
        }
    }

    /// A cell differs that is not null at either instant.
    #[inline]
    pub fn change_cell(&mut self, place: usize, row: usize, before: u64, after: u64) {
        if self.rows > 0 {
            let at = self.at(place, row);
            self.columns[place].change(at, after, before);
        }
    }

    pub fn set_code(&mut self, number: usize, row: usize, code: u8) {
        self.coded[number].set(row, code, self.rows, self.now);
    }

    /// Behind the last row there is another one.
    #[inline(never)]
    pub fn push(&mut self, raw: &RawSocket, codes: RowCodes) {
        let row = self.now;
        for place in ones(raw.nulls & VALUES) {
            self.make_sparse(place);
        }
        for place in ones(self.sparse) {
            self.valid[place].set(row, raw.nulls >> place & 1 == 0);
        }
        for (number, code) in codes.into_iter().enumerate() {
            self.set_code(number, row, code);
        }
        if self.rows > 0 {
            self.gain_cells(row, raw);
        }
        self.now += 1;
    }

    /// The last rows of the instant before, which were these, are not there any more.
    pub fn pop(&mut self, rows: &[Row]) {
        self.now -= rows.len();
        if self.rows == 0 || rows.is_empty() {
            return;
        }
        for place in ones(VALUES) {
            let at = self.at(place, self.now);
            let values = if self.sparse >> place & 1 == 1 {
                let has_value = |row: &&Row| row.raw.nulls >> place & 1 == 0;
                rows.iter().filter(has_value).count()
            } else {
                rows.len()
            };
            self.columns[place].lose(at, values);
        }
    }

    /// The instant is over. `rows` are all its rows.
    pub fn end_instant(&mut self, time_s: f64, rows: &[Row]) {
        debug_assert_eq!(self.now, rows.len());
        if !rows.is_empty() {
            self.time_s = time_s;
            self.columns[TIME].gain(self.rows, time_s.to_bits());
            self.columns[TIME].reach_back(self.rows + 1, 1);
        }
        if self.rows == 0 {
            for (number, row) in rows.iter().enumerate() {
                self.gain_cells(number, &row.raw);
            }
        }
        for place in ones(self.sparse) {
            self.valid[place].end_instant(self.rows, rows.len());
        }
        for bits in &mut self.coded {
            bits.end_instant(self.rows, rows.len());
        }
        self.rows += rows.len();
    }

    /// Every cell of a row that was not there at the instant before.
    fn gain_cells(&mut self, row: usize, raw: &RawSocket) {
        for place in ones(VALUES & !raw.nulls) {
            let at = self.at(place, row);
            self.columns[place].gain(at, raw.bits[place]);
        }
    }

    #[inline]
    fn make_sparse(&mut self, place: usize) {
        if self.sparse >> place & 1 == 0 {
            self.sparse |= 1 << place;
            self.valid[place] = Validity::of(self.rows, self.now);
        }
    }

    /// Writes the page as a group, and begins another, which refers to nothing outside itself. `rows` are those of the last
    /// instant.
    pub fn write<W: Write + Send>(
        &mut self,
        file: &mut parquet::Writer<W>,
        codes: &Codes,
        rows: &[Row],
    ) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group(file, codes, rows)
                .map_err(parquet::plain)?;
        }
        for place in ones(self.sparse) {
            self.valid[place].clear_page();
        }
        for bits in &mut self.coded {
            bits.clear_page();
        }
        self.rows = 0;
        Ok(())
    }

    fn write_group<W: Write + Send>(
        &mut self,
        file: &mut parquet::Writer<W>,
        codes: &Codes,
        rows: &[Row],
    ) -> Result<(), ParquetError> {
        let schema = file.out.schema_descr();
        let about: Vec<_> = (0..COLUMNS).map(|place| schema.column(place)).collect();
        let mut group = file.out.next_row_group()?;
        for (place, about) in about.into_iter().enumerate() {
            let valid = &self.valid[place];
            let values = if self.sparse >> place & 1 == 1 {
                valid.page_values()
            } else {
                self.rows
            };
            let nulls = (self.rows - values) as u32;
            let mut chunk = Chunk::new(self.rows as u32, nulls, || valid.page_bytes(self.rows));
            if let Some(number) = CODED.iter().position(|it| *it == place) {
                let bits = &self.coded[number];
                let texts = codes.texts(number);
                if Socket::COLUMNS[place].kind == Kind::Flag {
                    chunk.flags(&bits.packed(self.rows, 1));
                } else if let Some(code) = bits.only_code(self.rows) {
                    chunk.one_text(texts, code);
                } else {
                    chunk.texts(texts, |width| bits.packed(self.rows, width));
                }
                chunk.append_to(&mut group, about, &[])?;
                continue;
            }
            let last = if place == TIME {
                Some(self.time_s.to_bits())
            } else {
                rows.iter().rev().find_map(|row| value(&row.raw, place))
            };
            let column = &mut self.columns[place];
            let block = column.finish(values, last);
            chunk.numbers(block, values);
            chunk.append_to(&mut group, about, block)?;
            column.clear();
        }
        group.close().map(drop)
    }
}

/// The places of a mask's ones.
pub(super) fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let place = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (place < 64).then_some(place as usize)
    })
}
