//! The table of samples as Parquet. All sockets are sampled at the same instants, one after another in a fixed order, and
//! most of their cells are what they were at the instant before. What such a cell costs is next to nothing:
//!
//! - A column's page is an LZ4 block (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>), in which a run of
//!   unchanged cells is a reference to the same run of the instant before. Where it lies is known, so nothing is searched
//!   for, and only what has changed is written.
//! - Whoever samples need not even look at a socket that nothing has happened to ([`Writer::unchanged`]).
//!
//! A reference reaches back 64 kB, which is 8191 cells. A run with more sockets at an instant is written row by row from
//! there on ([`crate::parquet`]).

mod column;
mod lz4;
mod pages;

use crate::column::Raw;
use crate::{Socket, parquet};
use column::Column;
use pages::Codes;
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

/// A socket as it was last sampled. `V` tells whether anything has happened to it since.
#[derive(Debug)]
struct Slot<V> {
    version: Option<V>,
    raw: Raw<COLUMNS>,
    /// Of its texts and flags.
    codes: u64,
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
    rows: u32,
    slots: Vec<Slot<V>>,
    time_s: f64,
    /// Slots of this instant, in order, and those of the instant before, of which so many are passed.
    present: Vec<u32>,
    before: Vec<u32>,
    passed: usize,
}

impl<W: Write + Send, V: PartialEq> Writer<W, V> {
    pub fn create(out: W) -> io::Result<Self> {
        Ok(Self {
            file: parquet::Writer::create(out, &Socket::TABLE)?,
            state: State::Quick,
            columns: (0..COLUMNS).map(|_| Column::default()).collect(),
            codes: Codes::default(),
            rows: 0,
            slots: Vec::new(),
            time_s: f64::NAN,
            present: Vec::new(),
            before: Vec::new(),
            passed: 0,
        })
    }

    /// The socket of this slot, to which nothing has happened since its last sample but that it may have waited. `false`:
    /// that sample is not known, and [`row`](Self::row) is wanted. Slots come in rising order at each instant.
    pub fn unchanged(
        &mut self,
        slot: usize,
        version: &V,
        time_s: f64,
        waits_s: [f64; 3],
    ) -> io::Result<bool> {
        let known = self
            .slots
            .get(slot)
            .is_some_and(|it| it.version.as_ref() == Some(version));
        if !known || matches!(self.state, State::RowByRow) {
            return Ok(false);
        }
        self.come_to(time_s)?;
        if matches!(self.state, State::RowByRow) {
            return Ok(false);
        }
        let is_new = self.arrive(slot);
        let Slot { raw, codes, .. } = &mut self.slots[slot];
        if is_new || matches!(self.state, State::Crowded) {
            for (place, wait_s) in WAITS.into_iter().zip(waits_s) {
                raw.bits[place] = wait_s.to_bits();
            }
            let (raw, codes) = (*raw, *codes);
            self.all_cells(&raw, is_new);
            self.codes.rows.push(codes);
        } else {
            self.codes.rows.push(*codes);
            for (place, wait_s) in WAITS.into_iter().zip(waits_s) {
                let bits = wait_s.to_bits();
                if raw.bits[place] != bits {
                    raw.bits[place] = bits;
                    self.columns[place].value(self.rows, bits);
                }
            }
            for place in ones(raw.nulls & self.codes.values) {
                self.columns[place].nulls.push(self.rows);
            }
        }
        self.rows += 1;
        Ok(true)
    }

    pub fn row(&mut self, slot: usize, version: V, row: &Socket<'_>) -> io::Result<()> {
        self.come_to(row.time_s)?;
        if matches!(self.state, State::RowByRow) {
            return self.file.row(&row.cells());
        }
        let is_new = self.arrive(slot);
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, || Slot {
                version: None,
                raw: Raw::default(),
                codes: 0,
            });
        }
        let raw = row.raw();
        let codes = self.codes.of(&raw, row);
        let Slot {
            version: at,
            raw: old,
            codes: old_codes,
        } = &mut self.slots[slot];
        let before = core::mem::replace(old, raw);
        (*at, *old_codes) = (Some(version), codes);
        self.codes.rows.push(codes);
        if is_new || matches!(self.state, State::Crowded) {
            self.all_cells(&raw, is_new);
        } else {
            let values = self.codes.values;
            let mut changed = raw.nulls ^ before.nulls;
            for place in 0..COLUMNS {
                changed |= u64::from(raw.bits[place] != before.bits[place]) << place;
            }
            for place in ones(changed & values) {
                let column = &mut self.columns[place];
                match (before.nulls >> place & 1, raw.nulls >> place & 1) {
                    (0, 0) => column.value(self.rows, raw.bits[place]),
                    (0, _) => column.lose(self.rows),
                    _ => column.gain(self.rows, raw.bits[place]),
                }
            }
            for place in ones(raw.nulls & values) {
                self.columns[place].nulls.push(self.rows);
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Ends the table, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_instant()?;
        self.write_group()?;
        self.file.finish()
    }

    /// Every cell as it is.
    fn all_cells(&mut self, raw: &Raw<COLUMNS>, is_new: bool) {
        for place in ones(self.codes.values) {
            let column = &mut self.columns[place];
            if raw.nulls >> place & 1 == 1 {
                column.nulls.push(self.rows);
            } else if is_new {
                column.gain(self.rows, raw.bits[place]);
            } else {
                column.value(self.rows, raw.bits[place]);
            }
        }
    }

    /// Whether the slot had no row at the instant before. Those that had one and have none now are passed.
    fn arrive(&mut self, slot: usize) -> bool {
        let slot = slot as u32;
        self.present.push(slot);
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
            for column in &mut self.columns {
                column.close(self.rows);
            }
        }
        true
    }

    fn leave(&mut self, slot: u32) {
        let nulls = self.slots[slot as usize].raw.nulls;
        for place in ones(self.codes.values & !nulls) {
            self.columns[place].lose(self.rows);
        }
    }

    fn come_to(&mut self, time_s: f64) -> io::Result<()> {
        if self.time_s.to_bits() != time_s.to_bits() {
            self.end_instant()?;
            self.time_s = time_s;
            if matches!(self.state, State::Quick) {
                self.columns[TIME].time(self.rows, time_s);
            }
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
        if self.rows >= GROUP_ROWS || crowded {
            self.write_group()?;
        }
        if crowded {
            self.state = State::RowByRow;
        }
        Ok(())
    }

    /// Begins a new page. A page refers to nothing outside itself.
    fn write_group(&mut self) -> io::Result<()> {
        if self.rows > 0 {
            let (slots, before) = (&self.slots, &self.before);
            let last_two = |place: usize| {
                let value = |slot: &u32| {
                    let raw = &slots[*slot as usize].raw;
                    (raw.nulls >> place & 1 == 0).then_some(raw.bits[place])
                };
                let mut from_end = before.iter().rev().filter_map(value);
                let last = from_end.next()?;
                Some([from_end.next().unwrap_or(last), last])
            };
            let time = self.time_s.to_bits();
            let two = |place| {
                if place == TIME {
                    Some([time; 2])
                } else {
                    last_two(place)
                }
            };
            pages::write_group(
                &mut self.file,
                &mut self.columns,
                &mut self.codes,
                self.rows,
                two,
            )?;
            self.rows = 0;
        }
        self.before.clear();
        Ok(())
    }
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
