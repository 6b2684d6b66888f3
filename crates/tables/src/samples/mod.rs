//! The table of samples as Parquet. All sockets are sampled at the same instants, one after another in a fixed order, and
//! most of their cells are what they were at the instant before. What such a cell costs is next to nothing:
//!
//! - A column's page is an LZ4 block (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>), in which a run of
//!   unchanged cells is a reference to the same run of the instant before. Where it lies is known, so nothing is searched
//!   for, and only the bytes that have changed are written.
//! - A socket that was not there at the instant before refers to the one that came before it: most begin alike.
//! - Whoever samples need not even look at a socket that nothing has happened to ([`Writer::unchanged`]).
//!
//! A reference reaches back 64 kB, which is 8191 cells. A run with more sockets at an instant is written row by row from
//! there on ([`crate::parquet`]).

mod codes;

use crate::column::{Kind, Raw};
use crate::pages::column::Column;
use crate::pages::{Chunk, masks};
use crate::{Socket, parquet};
use ::parquet::errors::ParquetError;
use ::parquet::schema::types::ColumnDescPtr;
use bentpipe_path::{Nanos, Time};
use codes::{CODE_BITS, CODED, Codes};
use std::io::{self, Write};

const COLUMNS: usize = Socket::COLUMNS.len();
/// What changes without anything happening to a socket.
const TIME: usize = Socket::index_of("time_s");
const WAITS: [usize; 3] = [
    Socket::index_of("busy_s"),
    Socket::index_of("rwnd_limited_s"),
    Socket::index_of("sndbuf_limited_s"),
];
/// Rows of a group; a page of 8-byte cells is then of the usual megabyte.
const GROUP_ROWS: u32 = 1 << 17;
const MOST_AT_AN_INSTANT: usize = 8000;
/// There is no such value in a page.
const NOWHERE: u32 = u32::MAX;

/// A row as [`Writer::row`] takes it.
pub type RawSocket = Raw<COLUMNS>;

/// A socket as it was last sampled. `V` tells whether anything has happened to it since.
#[derive(Debug)]
struct Slot<V> {
    version: Option<V>,
    waits: [Nanos; 3],
    raw: RawSocket,
    /// Of its texts and flags.
    codes: u64,
}

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
            raw: Raw::default(),
            places: [NOWHERE; COLUMNS],
        }
    }
}

/// Of a row.
#[derive(Clone, Copy, Debug)]
struct Mask {
    codes: u64,
    nulls: u64,
}

#[derive(Debug)]
enum State {
    Quick,
    /// Too many sockets for the rest of this instant's group.
    Crowded,
    RowByRow,
}

pub struct Writer<W: Write + Send, V> {
    file: parquet::Writer<W>,
    state: State,
    columns: Vec<Column>,
    codes: Codes,
    /// One for each row of the group.
    masks: Vec<Mask>,
    slots: Vec<Slot<V>>,
    time: Option<Time>,
    /// Slots of this instant, in order, and those of the instant before, of which so many are passed.
    present: Vec<u32>,
    before: Vec<u32>,
    passed: usize,
    /// By the lowest bits of their codes, which are the host's.
    newcomers: [Newcomer; 4],
}

impl<W: Write + Send, V: PartialEq> Writer<W, V> {
    pub fn create(out: W) -> io::Result<Self> {
        Ok(Self {
            file: parquet::Writer::create(out, &Socket::TABLE)?,
            state: State::Quick,
            columns: (0..COLUMNS).map(|_| Column::default()).collect(),
            codes: Codes::default(),
            masks: Vec::new(),
            slots: Vec::new(),
            time: None,
            present: Vec::new(),
            before: Vec::new(),
            passed: 0,
            newcomers: [Newcomer::default(); 4],
        })
    }

    /// The socket of this slot, to which nothing has happened since its last sample but that it may have waited. `false`:
    /// that sample is not known, and [`row`](Self::row) is wanted. Slots come in rising order at each instant.
    #[inline]
    pub fn unchanged(
        &mut self,
        slot: usize,
        version: &V,
        time: Time,
        waits: [Nanos; 3],
    ) -> io::Result<bool> {
        let known = self
            .slots
            .get(slot)
            .is_some_and(|it| it.version.as_ref() == Some(version));
        if !known {
            return Ok(false);
        }
        if self.time != Some(time) {
            self.come_to(time)?;
        }
        if matches!(self.state, State::RowByRow) {
            return Ok(false);
        }
        let is_new = self.arrive(slot);
        if is_new || matches!(self.state, State::Crowded) {
            let slot = &mut self.slots[slot];
            slot.waits = waits;
            let Slot { raw, codes, .. } = slot;
            for (place, wait) in WAITS.into_iter().zip(waits) {
                raw.bits[place] = wait.as_secs_f64().to_bits();
            }
            let (raw, codes) = (*raw, *codes);
            self.all_cells(&raw, codes, is_new);
        } else {
            let row = self.rows();
            let slot = &mut self.slots[slot];
            if slot.waits != waits {
                slot.waits = waits;
                for (place, wait) in WAITS.into_iter().zip(waits) {
                    let bits = wait.as_secs_f64().to_bits();
                    let before = core::mem::replace(&mut slot.raw.bits[place], bits);
                    if before != bits {
                        self.columns[place].change(row, bits, before);
                    }
                }
            }
            for place in ones(slot.raw.nulls & self.codes.values) {
                self.columns[place].nulls += 1;
            }
            self.masks.push(Mask {
                codes: slot.codes,
                nulls: slot.raw.nulls,
            });
        }
        Ok(true)
    }

    /// A socket that something may have happened to. `false`: it has texts that are new, or there are too many sockets,
    /// and [`whole_row`](Self::whole_row) is wanted.
    #[inline]
    pub fn row(
        &mut self,
        slot: usize,
        version: V,
        time: Time,
        waits: [Nanos; 3],
        raw: &RawSocket,
    ) -> io::Result<bool> {
        if self.time != Some(time) {
            self.come_to(time)?;
        }
        if matches!(self.state, State::RowByRow) {
            return Ok(false);
        }
        let same = |at: &&Slot<V>| {
            let differing =
                |differing, place: usize| differing | (at.raw.bits[place] ^ raw.bits[place]);
            at.version.is_some() && CODED.into_iter().fold(0, differing) == 0
        };
        let known = self.slots.get(slot).filter(same).map(|at| at.codes);
        let Some(codes) = known.or_else(|| self.codes.of(raw)) else {
            return Ok(false);
        };
        let is_new = self.arrive(slot);
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || Slot {
                version: None,
                waits: [Nanos::ZERO; 3],
                raw: Raw::default(),
                codes: 0,
            });
        }
        let at = &mut self.slots[slot];
        (at.version, at.waits, at.codes) = (Some(version), waits, codes);
        if is_new || matches!(self.state, State::Crowded) {
            at.raw = *raw;
            self.all_cells(raw, codes, is_new);
            return Ok(true);
        }
        let row = self.masks.len() as u32;
        let before = &mut at.raw;
        let mut changed = raw.nulls ^ before.nulls;
        for place in 0..COLUMNS {
            changed |= u64::from(raw.bits[place] != before.bits[place]) << place;
        }
        for place in ones(changed & self.codes.values) {
            let column = &mut self.columns[place];
            match (before.nulls >> place & 1, raw.nulls >> place & 1) {
                (0, 0) => column.change(row, raw.bits[place], before.bits[place]),
                (0, _) => column.lose(row),
                _ => column.gain(row, raw.bits[place]),
            }
        }
        for place in ones(raw.nulls & self.codes.values) {
            self.columns[place].nulls += 1;
        }
        *before = *raw;
        self.masks.push(Mask {
            codes,
            nulls: raw.nulls,
        });
        Ok(true)
    }

    /// The same, whatever its texts are and however many sockets there are.
    #[cold]
    pub fn whole_row(
        &mut self,
        slot: usize,
        version: V,
        time: Time,
        waits: [Nanos; 3],
        row: &Socket<'_>,
    ) -> io::Result<()> {
        let raw = row.raw();
        self.codes.learn(&raw, row);
        if self.row(slot, version, time, waits, &raw)? {
            return Ok(());
        }
        self.file.row(&row.cells())
    }

    /// Ends the table, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_instant()?;
        self.write_group()?;
        self.file.finish()
    }

    fn rows(&self) -> u32 {
        self.masks.len() as u32
    }

    /// Every cell, of which no other row is known.
    #[inline(never)]
    fn all_cells(&mut self, raw: &RawSocket, codes: u64, is_new: bool) {
        let row = self.rows();
        let like = &mut self.newcomers[codes as usize % 4];
        for place in ones(self.codes.values) {
            let column = &mut self.columns[place];
            let earlier = core::mem::replace(&mut like.places[place], NOWHERE);
            if raw.nulls >> place & 1 == 1 {
                column.nulls += 1;
                continue;
            }
            let bits = raw.bits[place];
            like.places[place] = column.place(row);
            if !is_new {
                column.value(row, bits);
            } else if earlier == NOWHERE
                || like.raw.bits[place] != bits
                || !column.gain_again(row, earlier)
            {
                column.gain(row, bits);
            }
        }
        like.raw = *raw;
        self.masks.push(Mask {
            codes,
            nulls: raw.nulls,
        });
    }

    /// Whether the slot had no row at the instant before. Those that had one and have none now are passed.
    #[inline]
    fn arrive(&mut self, slot: usize) -> bool {
        let slot = slot as u32;
        self.present.push(slot);
        if self.before.get(self.passed) == Some(&slot) {
            self.passed += 1;
            return false;
        }
        self.arrive_anew(slot)
    }

    #[inline(never)]
    fn arrive_anew(&mut self, slot: u32) -> bool {
        while let Some(&before) = self.before.get(self.passed) {
            if before > slot {
                break;
            }
            self.passed += 1;
            if before == slot {
                return false;
            }
            self.leave(before);
        }
        if self.present.len() + self.before.len() - self.passed > MOST_AT_AN_INSTANT
            && matches!(self.state, State::Quick)
        {
            self.state = State::Crowded;
            let row = self.rows();
            for place in ones(self.codes.values | 1 << TIME) {
                self.columns[place].close(row);
            }
        }
        true
    }

    fn leave(&mut self, slot: u32) {
        let row = self.rows();
        let nulls = self.slots[slot as usize].raw.nulls;
        for place in ones(self.codes.values & !nulls) {
            self.columns[place].lose(row);
        }
    }

    #[cold]
    fn come_to(&mut self, time: Time) -> io::Result<()> {
        self.end_instant()?;
        self.time = Some(time);
        if matches!(self.state, State::Quick) {
            let row = self.rows();
            self.columns[TIME].time(row, time.as_secs_f64());
        }
        Ok(())
    }

    fn end_instant(&mut self) -> io::Result<()> {
        while let Some(&before) = self.before.get(self.passed) {
            self.passed += 1;
            self.leave(before);
        }
        core::mem::swap(&mut self.before, &mut self.present);
        self.present.clear();
        self.passed = 0;
        let crowded = matches!(self.state, State::Crowded);
        if self.rows() >= GROUP_ROWS || crowded {
            self.write_group()?;
        }
        if crowded {
            self.state = State::RowByRow;
        }
        Ok(())
    }

    /// Begins a new page. A page refers to nothing outside itself.
    fn write_group(&mut self) -> io::Result<()> {
        if !self.masks.is_empty() {
            let (slots, before) = (&self.slots, &self.before);
            let time = self.time.map(|time| time.as_secs_f64().to_bits());
            let last = |place: usize| {
                let value = |slot: &u32| {
                    let raw = &slots[*slot as usize].raw;
                    (raw.nulls >> place & 1 == 0).then_some(raw.bits[place])
                };
                if place == TIME {
                    time
                } else {
                    before.iter().rev().find_map(value)
                }
            };
            write_group(
                &mut self.file,
                &mut self.columns,
                &self.codes,
                &self.masks,
                last,
            )?;
            self.masks.clear();
        }
        self.before.clear();
        for newcomer in &mut self.newcomers {
            newcomer.places = [NOWHERE; COLUMNS];
        }
        Ok(())
    }
}

fn write_group<W: Write + Send>(
    file: &mut parquet::Writer<W>,
    columns: &mut [Column],
    codes: &Codes,
    masks: &[Mask],
    last: impl Fn(usize) -> Option<u64>,
) -> io::Result<()> {
    let rows = masks.len() as u32;
    let schema = file.out.schema_descr();
    let about: Vec<ColumnDescPtr> = (0..COLUMNS).map(|place| schema.column(place)).collect();
    let first = masks.first().map_or(0, |row| row.codes);
    let varies = masks.iter().fold(0, |mask, row| mask | (row.codes ^ first));
    let some_null = |place: &usize| (1..rows).contains(&columns[*place].nulls);
    let partly: Vec<usize> = (0..COLUMNS).filter(some_null).collect();
    let mut valid = masks::valid(masks, |row| row.nulls, &partly).into_iter();
    let write = || -> Result<(), ParquetError> {
        let mut group = file.out.next_row_group()?;
        for (place, (column, about)) in columns.iter_mut().zip(about).enumerate() {
            let valid = || valid.next().unwrap_or_default();
            let mut chunk = Chunk::new(rows, column.nulls, valid);
            if let Some(number) = CODED.iter().position(|it| *it == place) {
                let texts = &codes.columns[number].texts;
                let code = |codes: u64| (codes >> (number * CODE_BITS)) as u8;
                let packed = |width| masks::packed(masks, |row| code(row.codes).into(), width);
                if Socket::COLUMNS[place].kind == Kind::Flag {
                    chunk.flags(&packed(1));
                } else if code(varies) == 0 {
                    chunk.one_text(texts, code(first).into());
                } else {
                    chunk.texts(texts, packed);
                }
                chunk.append_to(&mut group, about, &[])?;
            } else {
                let (block, values) = column.finish(rows, last(place));
                chunk.numbers(block, values);
                chunk.append_to(&mut group, about, block)?;
                column.clear();
            }
        }
        group.close().map(drop)
    };
    write().map_err(parquet::plain)
}

/// The places of a mask's ones.
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let place = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (place < 64).then_some(place as usize)
    })
}

#[cfg(test)]
mod tests;
