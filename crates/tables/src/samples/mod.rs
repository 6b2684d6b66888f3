//! The table of samples as Parquet. All sockets are sampled at the same instants, one after another in a fixed order, and
//! most of their cells are what they were at the instant before. What such a cell costs is next to nothing:
//!
//! - Whoever samples names only the sockets to which something has happened ([`Writer::row`], [`Writer::gone`]), and those
//!   that only waited ([`Writer::waits`]). All others have the row that they had at the instant before.
//! - A column's page is an LZ4 block (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>), in which a run of
//!   unchanged cells is a reference to the same run of the instant before. Where it lies is known, so nothing is searched
//!   for, and only the bytes that have changed are written.
//! - A socket that was not there at the instant before refers to the one that came before it: most begin alike.
//! - A column that has one value only refers to the row before, so that sockets come and go without a trace in it.
//!
//! A reference reaches back 64 kB, which is 8191 cells. A run with more sockets at an instant is written row by row from
//! the next on ([`crate::parquet`]).

mod codes;
mod page;
mod row_bytes;

use crate::column::{Cell, Kind, Raw};
use crate::{Socket, parquet};
use bentpipe_path::{Nanos, Time};
use codes::{CODED, Codes, RowCodes};
use page::Page;
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
const GROUP_ROWS: usize = 1 << 17;
const MOST_AT_AN_INSTANT: usize = 8000;

/// A row as [`Writer::row`] takes it.
pub type RawSocket = Raw<COLUMNS>;

/// A socket as it was last sampled.
#[derive(Debug, Default)]
struct Slot {
    raw: RawSocket,
    codes: RowCodes,
}

/// Takes, at each instant, what differs from the one before: slots in rising order.
pub struct Writer<W: Write + Send> {
    file: parquet::Writer<W>,
    group_rows: usize,
    page: Page,
    codes: Codes,
    slots: Vec<Slot>,
    time: Option<Time>,
    /// The slots that have a row, in order: up to `passed` those of this instant, behind it those of the one before.
    present: Vec<u32>,
    passed: usize,
    /// There were too many sockets at an instant.
    row_by_row: bool,
}

impl<W: Write + Send> Writer<W> {
    pub fn create(out: W) -> io::Result<Self> {
        Self::with_groups_of(GROUP_ROWS, out)
    }

    fn with_groups_of(group_rows: usize, out: W) -> io::Result<Self> {
        Ok(Self {
            file: parquet::Writer::create(out, &Socket::TABLE)?,
            group_rows,
            page: Page::default(),
            codes: Codes::default(),
            slots: Vec::new(),
            time: None,
            present: Vec::new(),
            passed: 0,
            row_by_row: false,
        })
    }

    /// The next instant begins. Every socket has the row that it had at the one before, until something else is said.
    pub fn begin(&mut self, time: Time) -> io::Result<()> {
        self.end_instant()?;
        self.time = Some(time);
        Ok(())
    }

    /// A socket that may not be as it was, or not have been there. `false`: it has texts that are new, and
    /// [`whole_row`](Self::whole_row) is wanted.
    #[inline]
    pub fn row(&mut self, slot: usize, raw: &RawSocket) -> bool {
        let row = self.seek(slot);
        if self.present.get(row) != Some(&(slot as u32)) {
            return self.arrive(row, slot, raw);
        }
        let known = &mut self.slots[slot];
        let mut codes = known.codes;
        for (number, place) in CODED.into_iter().enumerate() {
            if raw.bits[place] != known.raw.bits[place] {
                let Some(code) = self.codes.code(number, raw.bits[place]) else {
                    return false;
                };
                codes[number] = code;
            }
        }
        if !self.row_by_row {
            self.page.change(row, &known.raw, raw);
            for (number, code) in codes.into_iter().enumerate() {
                if code != known.codes[number] {
                    self.page.set_code(number, row, code);
                }
            }
        }
        known.raw = *raw;
        known.codes = codes;
        true
    }

    /// The same, whatever its texts are.
    #[cold]
    pub fn whole_row(&mut self, slot: usize, row: &Socket<'_>) {
        let raw = row.raw();
        self.codes.learn(&raw, row);
        let is_taken = self.row(slot, &raw);
        debug_assert!(is_taken, "its texts are known now");
    }

    /// A socket that is as it was, but that it has been busy for so long, and of that waiting for the peer's window and
    /// for room in the send buffer.
    #[inline]
    pub fn waits(&mut self, slot: usize, waits: [Nanos; 3]) {
        let row = self.seek(slot);
        debug_assert_eq!(self.present.get(row), Some(&(slot as u32)));
        let raw = &mut self.slots[slot].raw;
        for (place, wait) in WAITS.into_iter().zip(waits) {
            let bits = wait.as_secs_f64().to_bits();
            let before = core::mem::replace(&mut raw.bits[place], bits);
            if before != bits && !self.row_by_row {
                self.page.change_cell(place, row, before, bits);
            }
        }
    }

    /// A socket that is not there any more, if it was.
    pub fn gone(&mut self, slot: usize) {
        let row = self.seek(slot);
        if self.present.get(row) == Some(&(slot as u32)) {
            self.present.remove(row);
            if !self.row_by_row {
                self.page.leave(row, &self.slots[slot].raw);
            }
        }
    }

    /// Ends the table, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_instant()?;
        self.write_page()?;
        self.file.finish()
    }

    /// The row of this instant that the slot has, or is to have.
    #[inline]
    fn seek(&mut self, slot: usize) -> usize {
        while self
            .present
            .get(self.passed)
            .is_some_and(|at| (*at as usize) < slot)
        {
            self.passed += 1;
        }
        self.passed
    }

    fn arrive(&mut self, row: usize, slot: usize, raw: &RawSocket) -> bool {
        let Some(codes) = self.codes.of(raw) else {
            return false;
        };
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, Slot::default);
        }
        self.slots[slot] = Slot { raw: *raw, codes };
        self.present.insert(row, slot as u32);
        if !self.row_by_row {
            if self.page.back == MOST_AT_AN_INSTANT {
                self.page.defer_from(row);
            }
            self.page.arrive(row, raw, codes);
        }
        true
    }

    fn end_instant(&mut self) -> io::Result<()> {
        self.passed = 0;
        let Some(time) = self.time else {
            return Ok(());
        };
        if self.row_by_row {
            for slot in &self.present {
                let cells = self.slots[*slot as usize].cells(time, &self.codes);
                self.file.row(&cells)?;
            }
            return Ok(());
        }
        let slots = &self.slots;
        let rows = self.present.iter().map(|slot| &slots[*slot as usize]);
        self.page.end_instant(time.as_secs_f64(), rows);
        self.row_by_row = self.page.back > MOST_AT_AN_INSTANT;
        if self.page.rows >= self.group_rows || self.row_by_row {
            self.write_page()?;
        }
        Ok(())
    }

    fn write_page(&mut self) -> io::Result<()> {
        let slots = &self.slots;
        let rows = self.present.iter().map(|slot| &slots[*slot as usize]);
        self.page.write(&mut self.file, &self.codes, &rows)
    }
}

/// `None`: null.
fn value(raw: &RawSocket, place: usize) -> Option<u64> {
    (raw.nulls >> place & 1 == 0).then_some(raw.bits[place])
}

impl Slot {
    fn cells<'a>(&self, time: Time, codes: &'a Codes) -> [Cell<'a>; COLUMNS] {
        core::array::from_fn(|place| {
            let number = || CODED.iter().position(|it| *it == place);
            match (value(&self.raw, place), Socket::COLUMNS[place].kind) {
                _ if place == TIME => Cell::Float(time.as_secs_f64()),
                (None, _) => Cell::Null,
                (Some(bits), Kind::Integer) => Cell::Integer(bits as i64),
                (Some(bits), Kind::Float) => Cell::Float(f64::from_bits(bits)),
                (Some(bits), Kind::Flag) => Cell::Flag(bits == 1),
                (Some(_), Kind::Text) => number().map_or(Cell::Null, |number| {
                    Cell::Text(&codes.texts(number)[usize::from(self.codes[number])])
                }),
            }
        })
    }
}

#[cfg(test)]
mod tests;
