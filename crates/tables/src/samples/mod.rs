//! The table of samples as Parquet. All sockets are sampled at the same instants, and most of their cells are what they were at the instant before. What such a cell costs is next to nothing:
//!
//! - Whoever samples names only the sockets to which something has happened ([`Writer::changed`], [`Writer::gone`]), and
//!   those that only waited ([`Writer::waited`]). All others have the row that they had at the instant before.
//! - A column's page is an LZ4 block (<https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md>), in which a run of
//!   unchanged cells is a reference to the same run of the instant before. Where it lies is known, so nothing is searched
//!   for, and only the bytes that have changed are written.
//! - Rows stay where they are within their instant, in no particular order. A new socket takes the row of one that has gone,
//!   at the same host if there is one, and is written as a change of it: most sockets are alike. So no row moves because
//!   another one comes or goes, but for those at the end.
//!
//! A reference reaches back 64 kB, which is 8191 cells. A run with more sockets at an instant is written row by row from
//! the next on ([`crate::parquet`]).

mod code_bits;
mod codes;
mod page;
mod row_bits;

use crate::column::{Cell, Kind, Raw};
use crate::{Socket, parquet};
use bentpipe_path::{Nanos, Time};
use codes::{CODED, Codes, RowCodes, VALUES};
use page::{Page, ones};
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

/// There is no such row.
const NOWHERE: u32 = u32::MAX;

/// A row of the latest instant.
#[derive(Debug)]
struct Row {
    slot: u32,
    news: News,
    codes: RowCodes,
    raw: RawSocket,
}

/// What is known of a row at this instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    /// It is as it was.
    None,
    Waits,
    Cells,
}

/// What the table asks for next, of the socket at this slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// [`Writer::row`]
    Row(usize),
    /// [`Writer::waits`]
    Waits(usize),
}

/// Takes, at each instant, what differs from the one before: [`begin`](Self::begin), then which sockets have changed, waited
/// or gone, each once and in any order, then of those what is asked for ([`next_wanted`](Self::next_wanted)) until nothing is.
pub struct Writer<W: Write + Send> {
    file: parquet::Writer<W>,
    group_rows: usize,
    page: Page,
    codes: Codes,
    time: Option<Time>,
    /// In the table's order. From `count` on they are of the instant before.
    rows: Vec<Row>,
    count: usize,
    /// By slot: its row.
    places: Vec<u32>,
    /// Slots that have no row yet.
    arrivals: Vec<u32>,
    /// Rows whose socket is not there any more.
    holes: Vec<u32>,
    /// Every row has its socket of this instant.
    is_arranged: bool,
    /// A bit for each row that is yet to be asked for.
    wanted: Vec<u64>,
    /// Words of these in which none is left.
    asked: usize,
    /// The row that was asked for.
    current: usize,
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
            time: None,
            rows: Vec::new(),
            count: 0,
            places: Vec::new(),
            arrivals: Vec::new(),
            holes: Vec::new(),
            is_arranged: false,
            wanted: Vec::new(),
            asked: 0,
            current: 0,
            row_by_row: false,
        })
    }

    /// The next instant begins. Every socket has the row that it had at the one before, until something else is said.
    pub fn begin(&mut self, time: Time) -> io::Result<()> {
        self.end_instant()?;
        self.time = Some(time);
        self.count = self.rows.len();
        Ok(())
    }

    /// A socket that may not be as it was, or not have been there.
    #[inline]
    pub fn changed(&mut self, slot: usize) {
        match self.row_of(slot) {
            Some(row) => self.want(row, News::Cells),
            None => self.arrivals.push(slot as u32),
        }
    }

    /// A socket that is as it was, but that it has waited. It has a row.
    #[inline]
    pub fn waited(&mut self, slot: usize) {
        match self.row_of(slot) {
            Some(row) => self.want(row, News::Waits),
            None => debug_assert!(false, "it has a row"),
        }
    }

    /// A socket that is not there any more, if it was.
    pub fn gone(&mut self, slot: usize) {
        if let Some(row) = self.row_of(slot) {
            self.places[slot] = NOWHERE;
            self.holes.push(row as u32);
        }
    }

    /// What is to be told next.
    #[inline]
    pub fn next_wanted(&mut self) -> Option<Wanted> {
        if !self.is_arranged {
            self.fill_holes();
            self.close_up();
            self.is_arranged = true;
        }
        while let Some(word) = self.wanted.get_mut(self.asked) {
            if *word == 0 {
                self.asked += 1;
                continue;
            }
            self.current = 64 * self.asked + word.trailing_zeros() as usize;
            *word &= *word - 1;
            let row = &mut self.rows[self.current];
            let slot = row.slot as usize;
            return match core::mem::replace(&mut row.news, News::None) {
                News::Waits => Some(Wanted::Waits(slot)),
                News::Cells | News::None => Some(Wanted::Row(slot)),
            };
        }
        if self.count < self.rows.len() {
            if !self.row_by_row {
                self.page.pop(&self.rows[self.count..]);
            }
            self.rows.truncate(self.count);
        }
        self.current = self.rows.len();
        self.arrivals.pop().map(|slot| Wanted::Row(slot as usize))
    }

    /// The cells of the socket that was asked for. `false`: it has texts that are new, and
    /// [`whole_row`](Self::whole_row) is wanted.
    #[inline]
    pub fn row(&mut self, slot: usize, raw: &RawSocket) -> bool {
        let row = self.current;
        let Some(known) = self.rows.get_mut(row) else {
            return self.append(slot, raw);
        };
        let mut changed = 0;
        for (place, (before, after)) in known.raw.bits.iter().zip(&raw.bits).enumerate() {
            changed |= u64::from(before != after) << place;
        }
        if changed & !VALUES & !(1 << TIME) != 0 {
            let mut codes = known.codes;
            for (number, place) in CODED.into_iter().enumerate() {
                if changed >> place & 1 == 1 {
                    let Some(code) = self.codes.code(number, raw.bits[place]) else {
                        return false;
                    };
                    codes[number] = code;
                }
            }
            for (number, (before, after)) in known.codes.into_iter().zip(codes).enumerate() {
                if before != after && !self.row_by_row {
                    self.page.set_code(number, row, after);
                }
            }
            known.codes = codes;
        }
        if !self.row_by_row {
            self.page.change(row, changed, &known.raw, raw);
        }
        for place in ones(changed) {
            known.raw.bits[place] = raw.bits[place];
        }
        known.raw.nulls = raw.nulls;
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

    /// How long the socket that was asked for has been busy, and of that waiting for the peer's window and for room in the
    /// send buffer.
    #[inline]
    pub fn waits(&mut self, waits: [Nanos; WAITS.len()]) {
        let raw = &mut self.rows[self.current].raw;
        for (place, wait) in WAITS.into_iter().zip(waits) {
            let bits = wait.as_secs_f64().to_bits();
            let before = core::mem::replace(&mut raw.bits[place], bits);
            if before != bits && !self.row_by_row {
                self.page.change_cell(place, self.current, before, bits);
            }
        }
    }

    /// Ends the table, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_instant()?;
        self.write_page()?;
        self.file.finish()
    }

    #[inline]
    fn row_of(&self, slot: usize) -> Option<usize> {
        let row = self.places.get(slot).filter(|row| **row != NOWHERE);
        row.map(|row| *row as usize)
    }

    #[inline]
    fn want(&mut self, row: usize, news: News) {
        self.rows[row].news = news;
        if self.wanted.len() <= row / 64 {
            self.wanted.resize(row / 64 + 1, 0);
        }
        self.wanted[row / 64] |= 1 << (row % 64);
    }

    /// Sockets that come take the rows of those that have gone, while there are any.
    fn fill_holes(&mut self) {
        while !self.arrivals.is_empty()
            && let Some(row) = self.holes.pop()
        {
            // The server's end of a connection is at an odd slot: ends at the same host are more alike.
            let of_old = self.rows[row as usize].slot;
            let is_alike = |slot: &u32| slot % 2 == of_old % 2;
            let alike = self.arrivals.iter().position(is_alike);
            let slot = self.arrivals.swap_remove(alike.unwrap_or(0));
            self.seat(slot, row as usize);
        }
        // They are asked for from behind.
        self.arrivals.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The last rows move into what holes are left.
    fn close_up(&mut self) {
        self.holes.sort_unstable();
        let mut open = 0..self.holes.len();
        while !open.is_empty() {
            self.count -= 1;
            if self.holes[open.end - 1] as usize == self.count {
                open.end -= 1;
                continue;
            }
            if let Some(word) = self.wanted.get_mut(self.count / 64) {
                *word &= !(1 << (self.count % 64));
            }
            let hole = self.holes[open.start] as usize;
            self.seat(self.rows[self.count].slot, hole);
            open.start += 1;
        }
        self.holes.clear();
    }

    /// This row is another socket's from now on.
    fn seat(&mut self, slot: u32, row: usize) {
        self.place(slot, row);
        self.rows[row].slot = slot;
        self.want(row, News::Cells);
    }

    fn place(&mut self, slot: u32, row: usize) {
        let slots = slot as usize + 1;
        if self.places.len() < slots {
            self.places.resize(slots, NOWHERE);
        }
        self.places[slot as usize] = row as u32;
    }

    /// A socket for which there was no hole.
    fn append(&mut self, slot: usize, raw: &RawSocket) -> bool {
        let Some(codes) = self.codes.of(raw) else {
            return false;
        };
        self.place(slot as u32, self.rows.len());
        self.rows.push(Row {
            slot: slot as u32,
            news: News::None,
            codes,
            raw: *raw,
        });
        self.count += 1;
        if !self.row_by_row {
            self.page.push(raw, codes);
        }
        true
    }

    fn end_instant(&mut self) -> io::Result<()> {
        let Some(time) = self.time else {
            return Ok(());
        };
        let untold = self.next_wanted();
        debug_assert_eq!(untold, None, "all that is asked for is told");
        (self.asked, self.is_arranged) = (0, false);
        if self.row_by_row {
            for row in &self.rows {
                self.file.row(&row.cells(time, &self.codes))?;
            }
            return Ok(());
        }
        self.page.end_instant(time.as_secs_f64(), &self.rows);
        self.row_by_row = self.rows.len() > MOST_AT_AN_INSTANT;
        if self.page.rows >= self.group_rows || self.row_by_row {
            self.write_page()?;
        }
        Ok(())
    }

    fn write_page(&mut self) -> io::Result<()> {
        self.page.write(&mut self.file, &self.codes, &self.rows)
    }
}

/// `None`: null.
fn value(raw: &RawSocket, place: usize) -> Option<u64> {
    (raw.nulls >> place & 1 == 0).then_some(raw.bits[place])
}

impl Row {
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
