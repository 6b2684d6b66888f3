//! The columns of texts and flags of samples: a number for each different value.

use super::{COLUMNS, RawSocket, TIME};
use crate::Socket;
use crate::column::{Cell, Kind};

/// The columns of texts and flags.
pub(super) const CODED: [usize; coded_count()] = coded();
/// The numbers of a row's texts and flags, by the place in [`CODED`].
pub(super) type RowCodes = [u8; CODED.len()];

const fn is_coded(place: usize) -> bool {
    matches!(Socket::COLUMNS[place].kind, Kind::Text | Kind::Flag)
}

const fn coded_count() -> usize {
    let (mut place, mut count) = (0, 0);
    while place < COLUMNS {
        count += is_coded(place) as usize;
        place += 1;
    }
    count
}

const fn coded() -> [usize; coded_count()] {
    let (mut place, mut count, mut places) = (0, 0, [0; coded_count()]);
    while place < COLUMNS {
        if is_coded(place) {
            places[count] = place;
            count += 1;
        }
        place += 1;
    }
    places
}

/// The columns that have no codes, but for the time: a bit for each.
pub(super) const VALUES: u64 = values();

const fn values() -> u64 {
    let (mut place, mut mask) = (0, 0);
    while place < COLUMNS {
        if !is_coded(place) && place != TIME {
            mask |= 1 << place;
        }
        place += 1;
    }
    mask
}

/// By the place in [`CODED`].
#[derive(Debug, Default)]
pub(super) struct Codes([Coded; CODED.len()]);

/// The texts that were seen, and the numbers of the bits that stood for them.
#[derive(Debug, Default)]
struct Coded {
    texts: Vec<Box<str>>,
    known: Vec<(u64, u8)>,
}

impl Codes {
    /// Of a row, which has a value in each of these columns. `None`: one of them is new.
    pub fn of(&self, raw: &RawSocket) -> Option<RowCodes> {
        let mut codes = RowCodes::default();
        for (number, place) in CODED.into_iter().enumerate() {
            codes[number] = self.code(number, raw.bits[place])?;
        }
        Some(codes)
    }

    #[inline]
    pub fn code(&self, number: usize, bits: u64) -> Option<u8> {
        let mut known = self.0[number].known.iter();
        known.find(|(at, _)| *at == bits).map(|(_, code)| *code)
    }

    pub fn texts(&self, number: usize) -> &[Box<str>] {
        &self.0[number].texts
    }

    pub fn learn(&mut self, raw: &RawSocket, row: &Socket<'_>) {
        let cells = row.cells();
        for (column, place) in self.0.iter_mut().zip(CODED) {
            column.learn(raw.bits[place], &cells[place]);
        }
    }
}

impl Coded {
    fn learn(&mut self, bits: u64, cell: &Cell<'_>) {
        if self.known.iter().any(|(at, _)| *at == bits) {
            return;
        }
        let code = match *cell {
            Cell::Text(text) => {
                let seen = self.texts.iter().position(|it| **it == *text);
                seen.unwrap_or_else(|| {
                    self.texts.push(text.into());
                    self.texts.len() - 1
                })
            }
            Cell::Flag(flag) => usize::from(flag),
            cell => unreachable!("{cell:?} in a column of texts or flags"),
        };
        let code = u8::try_from(code).expect("a socket's texts are few");
        self.known.push((bits, code));
    }
}
