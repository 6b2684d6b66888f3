//! A page of samples while it is gathered, for each column. Rows are numbered within their instant; each instant begins as
//! the one before it was, and is told in rising order what differs.

use super::codes::{CODED, Codes, RowCodes, VALUES};
use super::row_bytes::{RowBytes, Validity};
use super::{COLUMNS, RawSocket, Slot, TIME, value};
use crate::column::Kind;
use crate::pages::column::Column;
use crate::pages::{Chunk, masks};
use crate::{Socket, parquet};
use ::parquet::errors::ParquetError;
use std::io::{self, Write};

/// There is no such value in a page.
const NOWHERE: u32 = u32::MAX;
/// So many instants lie between two looks for columns with one value only.
const INSTANTS_BETWEEN_LOOKS: usize = 16;

/// The latest row of the page whose socket had none at the instant before. The next one like it refers to it: most sockets
/// begin alike.
#[derive(Clone, Copy, Debug)]
struct Newcomer {
    raw: RawSocket,
    /// Which value of its page each cell is, or [`NOWHERE`].
    places: [u32; COLUMNS],
}

impl Default for Newcomer {
    fn default() -> Self {
        Self {
            raw: RawSocket::default(),
            places: [NOWHERE; COLUMNS],
        }
    }
}

#[derive(Debug)]
pub(super) struct Page {
    columns: Vec<Column>,
    coded: [RowBytes; CODED.len()],
    /// Columns in which some cell was null, and which rows have a value there.
    sparse: u64,
    valid: [Validity; COLUMNS],
    /// Columns that have had this one value since a while, and refer to the row before: rows may come and go.
    uniform: u64,
    common: [u64; COLUMNS],
    /// Of the latest row.
    time_s: f64,
    /// Rows of the instants that are over.
    pub rows: usize,
    instants: usize,
    /// How many rows back the same socket's row of the instant before lies.
    pub back: usize,
    /// From this row of the instant on, cells are written when it is over: nothing is known that they could refer to.
    deferred_from: usize,
    /// By the code of their first text, which is the host.
    newcomers: [Newcomer; 4],
}

impl Default for Page {
    fn default() -> Self {
        Self {
            columns: (0..COLUMNS).map(|_| Column::default()).collect(),
            coded: Default::default(),
            sparse: 0,
            valid: core::array::from_fn(|_| Validity::default()),
            uniform: 0,
            common: [0; COLUMNS],
            time_s: 0.0,
            rows: 0,
            instants: 0,
            back: 0,
            deferred_from: 0,
            newcomers: [Newcomer::default(); 4],
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

    /// A row differs in its numbers from what it was at the instant before.
    #[inline]
    pub fn change(&mut self, row: usize, before: &RawSocket, after: &RawSocket) {
        let mut changed = 0;
        for (place, (before, after)) in before.bits.iter().zip(&after.bits).enumerate() {
            changed |= u64::from(before != after) << place;
        }
        let filled_or_emptied = (before.nulls ^ after.nulls) & VALUES;
        if filled_or_emptied != 0 {
            self.fill_or_empty(row, filled_or_emptied, after);
        }
        let changed = changed & VALUES & !filled_or_emptied;
        for place in ones(changed & self.uniform) {
            self.end_uniform(place, row);
        }
        if row >= self.deferred_from {
            return;
        }
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
            self.make_sparse(place, row);
            self.valid[place].set(row, has_value);
            if row < self.deferred_from {
                let at = self.valid[place].values_before(row);
                if has_value {
                    self.columns[place].gain(at, after.bits[place]);
                } else {
                    self.columns[place].lose(at);
                }
            }
        }
    }

    /// A cell differs that is not null at either instant.
    #[inline]
    pub fn change_cell(&mut self, place: usize, row: usize, before: u64, after: u64) {
        if self.uniform >> place & 1 == 1 {
            self.end_uniform(place, row);
        }
        if row < self.deferred_from {
            let at = self.at(place, row);
            self.columns[place].change(at, after, before);
        }
    }

    pub fn set_code(&mut self, number: usize, row: usize, code: u8) {
        self.coded[number].now[row] = code;
    }

    /// A socket has this row that had none at the instant before.
    #[inline(never)]
    pub fn arrive(&mut self, row: usize, raw: &RawSocket, codes: RowCodes) {
        for place in ones(raw.nulls & VALUES) {
            self.make_sparse(place, row);
        }
        for place in ones(self.sparse) {
            self.valid[place].insert(row, raw.nulls >> place & 1 == 0);
        }
        for (bytes, code) in self.coded.iter_mut().zip(codes) {
            bytes.now.insert(row, code);
        }
        if row < self.deferred_from {
            self.gain_cells(row, raw, codes);
        }
        self.back += 1;
    }

    /// The socket that had this row at the instant before has none.
    #[inline(never)]
    pub fn leave(&mut self, row: usize, raw: &RawSocket) {
        if row < self.deferred_from {
            let at = self.rows + row;
            for place in ones(VALUES & !self.uniform & !self.sparse) {
                self.columns[place].lose(at);
            }
            for place in ones(self.sparse & !raw.nulls) {
                let at = self.valid[place].values_before(row);
                self.columns[place].lose(at);
            }
        }
        for place in ones(self.sparse) {
            self.valid[place].remove(row);
        }
        for bytes in &mut self.coded {
            bytes.now.remove(row);
        }
        self.back -= 1;
    }

    /// Nothing more is referred to at this instant, from this row on.
    #[cold]
    pub fn defer_from(&mut self, row: usize) {
        for place in ones(VALUES) {
            let at = self.at(place, row);
            self.columns[place].close(at);
        }
        self.uniform = 0;
        self.deferred_from = row;
    }

    /// The instant is over. `rows` are all its rows.
    pub fn end_instant<'a, I>(&mut self, time_s: f64, mut rows: I)
    where
        I: ExactSizeIterator<Item = &'a Slot> + Clone,
    {
        let count = rows.len();
        if count > 0 {
            self.time_s = time_s;
            self.columns[TIME].gain(self.rows, time_s.to_bits());
            self.columns[TIME].reach_back(self.rows + 1, 1);
        }
        let deferred = self.deferred_from..count;
        for (row, slot) in deferred.zip(rows.clone().skip(self.deferred_from)) {
            self.gain_cells(row, &slot.raw, slot.codes);
        }
        self.deferred_from = usize::MAX;
        for place in ones(self.sparse) {
            self.valid[place].end_instant();
        }
        for bytes in &mut self.coded {
            bytes.end_instant();
        }
        self.rows += count;
        self.instants += 1;
        if self.instants.is_multiple_of(INSTANTS_BETWEEN_LOOKS)
            && let Some(first) = rows.next()
        {
            for place in ones(VALUES & !self.sparse & !self.uniform) {
                let bits = first.raw.bits[place];
                if rows.clone().all(|slot| slot.raw.bits[place] == bits) {
                    self.columns[place].reach_back(self.rows, 1);
                    self.uniform |= 1 << place;
                    self.common[place] = bits;
                }
            }
        }
    }

    /// Every cell of a row of which no other row is known.
    fn gain_cells(&mut self, row: usize, raw: &RawSocket, codes: RowCodes) {
        for place in ones(self.uniform) {
            if raw.bits[place] != self.common[place] {
                self.end_uniform(place, row);
            }
        }
        let kinds = self.newcomers.len();
        let like = &mut self.newcomers[usize::from(codes[0]) % kinds];
        for place in ones(self.uniform) {
            like.places[place] = (self.rows + row) as u32;
        }
        for place in ones(VALUES & !self.uniform) {
            let earlier = core::mem::replace(&mut like.places[place], NOWHERE);
            if raw.nulls >> place & 1 == 1 {
                continue;
            }
            let at = if self.sparse >> place & 1 == 1 {
                self.valid[place].values_before(row)
            } else {
                self.rows + row
            };
            like.places[place] = at as u32;
            let bits = raw.bits[place];
            let is_known = earlier != NOWHERE && like.raw.bits[place] == bits;
            let column = &mut self.columns[place];
            if !is_known || !column.gain_again(at, earlier as usize) {
                column.gain(at, bits);
            }
        }
        like.raw = *raw;
    }

    #[cold]
    fn end_uniform(&mut self, place: usize, row: usize) {
        let at = self.at(place, row);
        self.columns[place].reach_back(at, self.back);
        self.uniform &= !(1 << place);
    }

    #[inline]
    fn make_sparse(&mut self, place: usize, row: usize) {
        if self.sparse >> place & 1 == 0 {
            if self.uniform >> place & 1 == 1 {
                self.end_uniform(place, row);
            }
            self.sparse |= 1 << place;
            self.valid[place] = Validity::of(self.rows, self.coded[0].now.len());
        }
    }

    /// Writes the page as a group, and begins another, which refers to nothing outside itself. `rows` are those of the last
    /// instant.
    pub fn write<'a, W: Write + Send>(
        &mut self,
        file: &mut parquet::Writer<W>,
        codes: &Codes,
        rows: &(impl DoubleEndedIterator<Item = &'a Slot> + Clone),
    ) -> io::Result<()> {
        if self.rows > 0 {
            self.write_group(file, codes, rows)
                .map_err(parquet::plain)?;
        }
        for place in ones(self.sparse) {
            self.valid[place].clear_page();
        }
        for bytes in &mut self.coded {
            bytes.earlier.clear();
        }
        for newcomer in &mut self.newcomers {
            newcomer.places = [NOWHERE; COLUMNS];
        }
        (self.rows, self.uniform, self.deferred_from) = (0, 0, 0);
        Ok(())
    }

    fn write_group<'a, W: Write + Send>(
        &mut self,
        file: &mut parquet::Writer<W>,
        codes: &Codes,
        rows: &(impl DoubleEndedIterator<Item = &'a Slot> + Clone),
    ) -> Result<(), ParquetError> {
        let schema = file.out.schema_descr();
        let about: Vec<_> = (0..COLUMNS).map(|place| schema.column(place)).collect();
        let mut group = file.out.next_row_group()?;
        for (place, about) in about.into_iter().enumerate() {
            let (valid, values) = if self.sparse >> place & 1 == 1 {
                self.valid[place].page()
            } else {
                (&[][..], self.rows)
            };
            let nulls = (self.rows - values) as u32;
            let mut chunk = Chunk::new(self.rows as u32, nulls, || packed(valid, 1));
            if let Some(number) = CODED.iter().position(|it| *it == place) {
                let bytes = &self.coded[number].earlier;
                let texts = codes.texts(number);
                if Socket::COLUMNS[place].kind == Kind::Flag {
                    chunk.flags(&packed(bytes, 1));
                } else if bytes.iter().all(|code| *code == bytes[0]) {
                    chunk.one_text(texts, bytes[0].into());
                } else {
                    chunk.texts(texts, |width| packed(bytes, width));
                }
                chunk.append_to(&mut group, about, &[])?;
                continue;
            }
            let mut rows = rows.clone().rev();
            let last = if place == TIME {
                Some(self.time_s.to_bits())
            } else {
                rows.find_map(|slot| value(&slot.raw, place))
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

fn packed(bytes: &[u8], width: usize) -> Vec<u8> {
    masks::packed(bytes, |byte| u32::from(*byte), width)
}

/// The places of a mask's ones.
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let place = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (place < 64).then_some(place as usize)
    })
}
