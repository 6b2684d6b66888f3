//! The columns of texts and flags of samples: a number for each different value, all of a row's in one word.

use super::{COLUMNS, RawSocket, TIME};
use crate::Socket;
use crate::column::{Cell, Kind};

/// Bits of a text's or a flag's number.
pub(super) const CODE_BITS: usize = 8;
/// The columns of texts and flags.
pub(super) const CODED: [usize; coded_count()] = coded();

const fn is_coded(place: usize) -> bool {
    matches!(Socket::COLUMNS[place].kind, Kind::Text | Kind::Flag)
}

const fn coded_count() -> usize {
    let (mut place, mut count) = (0, 0);
    while place < COLUMNS {
        count += is_coded(place) as usize;
        place += 1;
    }
    assert!(count * CODE_BITS <= 64, "a word holds a row's codes");
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

#[derive(Debug)]
pub(super) struct Codes {
    /// The columns that have none, but for the time.
    pub values: u64,
    /// By the place in [`CODED`].
    pub columns: [Coded; CODED.len()],
}

/// The texts that were seen, and the numbers of the bits that stood for them.
#[derive(Debug, Default)]
pub(super) struct Coded {
    pub texts: Vec<Box<str>>,
    known: Vec<(u64, u8)>,
}

impl Default for Codes {
    fn default() -> Self {
        let all = ((1 << COLUMNS) - 1) & !(1 << TIME);
        Self {
            values: CODED.iter().fold(all, |mask, place| mask & !(1 << place)),
            columns: Default::default(),
        }
    }
}

impl Codes {
    /// Of a row, which has a value in each of these columns. `None`: one of them is new.
    pub fn of(&self, raw: &RawSocket) -> Option<u64> {
        let mut codes = 0;
        for (number, (column, place)) in self.columns.iter().zip(CODED).enumerate() {
            let bits = raw.bits[place];
            let (_, code) = column.known.iter().find(|(at, _)| *at == bits)?;
            codes |= u64::from(*code) << (number * CODE_BITS);
        }
        Some(codes)
    }

    pub fn learn(&mut self, raw: &RawSocket, row: &Socket<'_>) {
        let cells = row.cells();
        for (column, place) in self.columns.iter_mut().zip(CODED) {
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
