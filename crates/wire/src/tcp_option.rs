//! TCP options: end, no operation and maximum segment size (RFC 9293, section 3.2), window scale and timestamps (RFC 7323),
//! SACK (RFC 2018). Others are passed on as bytes.

use crate::WireError;
use crate::bytes::{be16, be32};

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// The most that a TCP header has room for.
pub const MAX_BYTES: usize = 40;
const SACK_BLOCK_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption<'a> {
    NoOperation,
    MaximumSegmentSize(u16),
    WindowScale(u8),
    SackPermitted,
    Sack(SackBlocks<'a>),
    Timestamps {
        value: u32,
        echo: u32,
    },
    /// One that is not known here, or one of the above with a length that is not its own.
    Other {
        kind: u8,
        value: &'a [u8],
    },
}

/// Left and right edges, as sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SackBlocks<'a>(&'a [u8]);

impl<'a> SackBlocks<'a> {
    pub fn iter(self) -> impl Iterator<Item = (u32, u32)> + 'a {
        let blocks = self.0.chunks_exact(SACK_BLOCK_BYTES);
        blocks.filter_map(|block| Some((be32(block, 0)?, be32(block, 4)?)))
    }
}

/// Reads options one by one until their end, or until one that is cut short or has an impossible length, which is an error
/// and the last.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a> {
    rest: &'a [u8],
}

impl<'a> TcpOptions<'a> {
    pub fn new(option_bytes: &'a [u8]) -> Self {
        Self { rest: option_bytes }
    }
}

impl<'a> Iterator for TcpOptions<'a> {
    type Item = Result<TcpOption<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (&kind, after) = self.rest.split_first()?;
        match kind {
            END => {
                self.rest = &[];
                return None;
            }
            NO_OPERATION => {
                self.rest = after;
                return Some(Ok(TcpOption::NoOperation));
            }
            _ => {}
        }
        let whole = core::mem::take(&mut self.rest);
        let Some(&length) = after.first() else {
            return Some(Err(WireError::TooShort {
                what: "TCP option",
                needed: 2,
                found: 1,
            }));
        };
        let length = usize::from(length);
        if length < 2 {
            return Some(Err(WireError::Invalid {
                what: "length of a TCP option in bytes",
                found: length,
                expected: "at least 2",
            }));
        }
        let Some((option, rest)) = whole.split_at_checked(length) else {
            return Some(Err(WireError::TooShort {
                what: "TCP option",
                needed: length,
                found: whole.len(),
            }));
        };
        self.rest = rest;
        Some(Ok(TcpOption::of(kind, &option[2..])))
    }
}

impl<'a> TcpOption<'a> {
    fn of(kind: u8, value: &'a [u8]) -> Self {
        let known = match (kind, value.len()) {
            (MAXIMUM_SEGMENT_SIZE, 2) => be16(value, 0).map(Self::MaximumSegmentSize),
            (WINDOW_SCALE, 1) => Some(Self::WindowScale(value[0])),
            (SACK_PERMITTED, 0) => Some(Self::SackPermitted),
            (SACK, 1..) if value.len().is_multiple_of(SACK_BLOCK_BYTES) => {
                Some(Self::Sack(SackBlocks(value)))
            }
            (TIMESTAMPS, 8) => be32(value, 0)
                .zip(be32(value, 4))
                .map(|(value, echo)| Self::Timestamps { value, echo }),
            _ => None,
        };
        known.unwrap_or(Self::Other { kind, value })
    }
}

/// Options to be written, in the order in which they are added.
#[derive(Clone, Debug)]
pub struct TcpOptionBuffer {
    /// Beyond what is used: no operation, the padding.
    bytes: [u8; MAX_BYTES],
    used: usize,
}

impl Default for TcpOptionBuffer {
    fn default() -> Self {
        Self {
            bytes: [NO_OPERATION; MAX_BYTES],
            used: 0,
        }
    }
}

impl TcpOptionBuffer {
    pub fn push(&mut self, option: TcpOption<'_>) -> Result<(), WireError> {
        match option {
            TcpOption::NoOperation => self.room(1).map(|_| ()),
            TcpOption::MaximumSegmentSize(bytes) => {
                self.put(MAXIMUM_SEGMENT_SIZE, &bytes.to_be_bytes())
            }
            TcpOption::WindowScale(shift) => self.put(WINDOW_SCALE, &[shift]),
            TcpOption::SackPermitted => self.put(SACK_PERMITTED, &[]),
            TcpOption::Sack(SackBlocks(value)) => self.put(SACK, value),
            TcpOption::Timestamps { value, echo } => {
                let (value, echo) = (value.to_be_bytes(), echo.to_be_bytes());
                let both = [
                    value[0], value[1], value[2], value[3], echo[0], echo[1], echo[2], echo[3],
                ];
                self.put(TIMESTAMPS, &both)
            }
            TcpOption::Other { kind, value } => self.put(kind, value),
        }
    }

    /// Adds a SACK option of these blocks; none where there are no blocks.
    pub fn push_sack(
        &mut self,
        blocks: impl IntoIterator<Item = (u32, u32)>,
    ) -> Result<(), WireError> {
        let mut value = [0; MAX_BYTES];
        let mut used = 0;
        for (left, right) in blocks {
            let Some(room) = value.get_mut(used..used + SACK_BLOCK_BYTES) else {
                return Err(Self::no_room(used + SACK_BLOCK_BYTES));
            };
            room[..4].copy_from_slice(&left.to_be_bytes());
            room[4..].copy_from_slice(&right.to_be_bytes());
            used += SACK_BLOCK_BYTES;
        }
        if used == 0 {
            return Ok(());
        }
        self.put(SACK, &value[..used])
    }

    /// The options, padded to a multiple of 4 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.used.next_multiple_of(4)]
    }

    fn put(&mut self, kind: u8, value: &[u8]) -> Result<(), WireError> {
        let room = self.room(2 + value.len())?;
        room[0] = kind;
        room[1] = 2 + value.len() as u8;
        room[2..].copy_from_slice(value);
        Ok(())
    }

    fn room(&mut self, bytes: usize) -> Result<&mut [u8], WireError> {
        let end = self.used + bytes;
        let room = self
            .bytes
            .get_mut(self.used..end)
            .ok_or(Self::no_room(end))?;
        self.used = end;
        Ok(room)
    }

    fn no_room(needed: usize) -> WireError {
        WireError::TooShort {
            what: "room for TCP options",
            needed,
            found: MAX_BYTES,
        }
    }
}
