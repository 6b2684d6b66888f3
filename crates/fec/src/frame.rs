//! What a coded tunnel puts before its bytes on the wire. All numbers are big-endian.
//!
//! | frame | bytes | fields |
//! |---|---|---|
//! | source | 4 + packet | kind 0 (4 bits), number (28 bits) |
//! | exact repair | 4 + packet | kind 1, number |
//! | report | 56 + 4 per range | kind 2, newest source packet that came; first missing; microseconds since the newest came; decided, lost, runs of losses, judged, lost on the channel, overflow, unknown and runs of unknown so far; last packet before an idle time with losses; microseconds since it came; deficit (16 bits); count of ranges (16 bits); each range: length - 1 (4 bits), number (28 bits) |
//! | repair | 10 + longest packet of its window | kind 8 + density (4 bits), first number (28 bits); count (16 bits); key (16 bits); coded length (16 bits), coded packets |
//!
//! Kind 8 + d is a repair of the density (d + 1) / 8.
//! A number is the low 28 bits of one that never wraps: it is right while sender and receiver are less than 2^27 packets apart,
//! which is 26 minutes of full packets at 1 Gbit/s.

use crate::coefficients::Density;
use crate::encoder::RepairId;
use core::fmt;

/// Before a packet, as source or as exact repair.
pub const SOURCE_HEADER_BYTES: usize = 4;
/// Before the coded bytes of a repair, which are as many as the longest packet of its window has.
pub const REPAIR_HEADER_BYTES: usize = 10;
/// Of a report that asks for nothing.
pub const REPORT_BYTES: usize = 56;
pub const REPORT_RANGE_BYTES: usize = 4;
/// A report asks for at most so many ranges.
pub const REPORT_MAX_RANGES: usize = 64;
/// Of one range of a report.
pub(crate) const RANGE_MAX_PACKETS: u8 = 16;

const NUMBER_BITS: u32 = 28;
const NUMBER_MASK: u32 = (1 << NUMBER_BITS) - 1;
const SOURCE: u8 = 0;
const EXACT: u8 = 1;
const REPORT: u8 = 2;
const REPAIR: u8 = 8;

/// The low bits of a packet's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WireNumber(u32);

impl WireNumber {
    /// After so many numbers the low bits are the same again.
    pub const RANGE: u64 = 1 << NUMBER_BITS;

    pub fn of(number: u64) -> Self {
        Self(number as u32 & NUMBER_MASK)
    }

    /// The number with these low bits that is nearest to `near`.
    pub fn nearest_to(self, near: u64) -> u64 {
        let ahead = self.0.wrapping_sub(near as u32) & NUMBER_MASK;
        let behind = NUMBER_MASK + 1 - ahead;
        if ahead <= behind {
            near + u64::from(ahead)
        } else {
            // Before the first packet there is none: then the number is ahead.
            let behind = near.checked_sub(u64::from(behind));
            behind.unwrap_or(near + u64::from(ahead))
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Source {
        number: WireNumber,
        packet: &'a [u8],
    },
    Exact {
        number: WireNumber,
        packet: &'a [u8],
    },
    Repair {
        first: WireNumber,
        symbols: u16,
        key: u16,
        density: Density,
        symbol: &'a [u8],
    },
    Report(Report),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// The newest source packet that came.
    pub newest: WireNumber,
    pub first_missing: WireNumber,
    /// How long ago the newest came.
    pub dwell_us: u32,
    /// Since the tunnel began, modulo 2^32: packets of which it is decided whether they were lost; lost ones; runs of those that were
    /// lost on the channel.
    pub decided: u32,
    pub lost: u32,
    pub runs: u32,
    /// Decided packets of which the receiver can say where they were lost if they were, and of them those lost on the channel and
    /// by overflow.
    pub judged: u32,
    pub channel: u32,
    pub overflow: u32,
    /// Of the lost, those at the end of a burst, and runs of them: whether they are overflow is told by the delay of the packet
    /// `before_idle`, which came so long ago.
    pub unknown: u32,
    pub unknown_runs: u32,
    pub before_idle: WireNumber,
    pub before_idle_us: u32,
    /// Missing packets less independent equations.
    pub deficit: u16,
    /// Asked for exactly: the first of each range and how many.
    pub ranges: Vec<(WireNumber, u8)>,
}

/// The bytes are not a frame of a coded tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    Truncated {
        bytes: usize,
        expected: usize,
    },
    Kind(u8),
    /// The report's count of ranges does not fit its length.
    Ranges {
        count: u16,
        bytes: usize,
    },
    /// A frame that goes the other way.
    Direction,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated { bytes, expected } => {
                write!(f, "frame of {bytes} bytes, expected at least {expected}")
            }
            Self::Kind(kind) => write!(f, "frame of kind {kind}, expected 0, 1, 2 or 8 to 15"),
            Self::Ranges { count, bytes } => write!(
                f,
                "report of {bytes} bytes with {count} ranges, expected at most {REPORT_MAX_RANGES} of {REPORT_RANGE_BYTES} bytes each"
            ),
            Self::Direction => {
                f.write_str("a report came to the receiver, or a packet to the sender")
            }
        }
    }
}

impl core::error::Error for FrameError {}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|it| it.first_chunk());
    field.map_or(0, |field| u32::from_be_bytes(*field))
}

fn short_at(bytes: &[u8], at: usize) -> u16 {
    let field = bytes.get(at..).and_then(|it| it.first_chunk());
    field.map_or(0, |field| u16::from_be_bytes(*field))
}

fn kind_and_number(kind: u8, number: WireNumber) -> [u8; 4] {
    (u32::from(kind) << NUMBER_BITS | number.0).to_be_bytes()
}

impl<'a> Frame<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let require = |expected| {
            if bytes.len() < expected {
                return Err(FrameError::Truncated {
                    bytes: bytes.len(),
                    expected,
                });
            }
            Ok(())
        };
        require(SOURCE_HEADER_BYTES)?;
        let first = number_at(bytes, 0);
        let number = WireNumber(first & NUMBER_MASK);
        let kind = (first >> NUMBER_BITS) as u8;
        let packet = &bytes[SOURCE_HEADER_BYTES..];
        match kind {
            SOURCE => Ok(Self::Source { number, packet }),
            EXACT => Ok(Self::Exact { number, packet }),
            REPORT => {
                require(REPORT_BYTES)?;
                Ok(Self::Report(Report::parse(bytes, number)?))
            }
            REPAIR.. => {
                require(REPAIR_HEADER_BYTES)?;
                Ok(Self::Repair {
                    first: number,
                    symbols: short_at(bytes, 4),
                    key: short_at(bytes, 6),
                    density: Density::of_eighths(kind - REPAIR + 1),
                    symbol: &bytes[8..],
                })
            }
            _ => Err(FrameError::Kind(kind)),
        }
    }
}

pub(crate) fn write_source(number: u64, packet: &[u8], exact: bool, out: &mut Vec<u8>) {
    let kind = if exact { EXACT } else { SOURCE };
    out.extend_from_slice(&kind_and_number(kind, WireNumber::of(number)));
    out.extend_from_slice(packet);
}

/// What comes before the repair symbol, whose first two bytes belong to [`REPAIR_HEADER_BYTES`].
pub(crate) fn write_repair_header(id: &RepairId, out: &mut Vec<u8>) {
    let kind = REPAIR + id.density.eighths() - 1;
    out.extend_from_slice(&kind_and_number(kind, WireNumber::of(id.first)));
    out.extend_from_slice(&id.symbols.to_be_bytes());
    out.extend_from_slice(&id.key.to_be_bytes());
}

impl Report {
    fn parse(bytes: &[u8], newest: WireNumber) -> Result<Self, FrameError> {
        let count = short_at(bytes, 54);
        let ranges = bytes[REPORT_BYTES..].as_chunks::<REPORT_RANGE_BYTES>();
        if ranges.0.len() != usize::from(count)
            || !ranges.1.is_empty()
            || ranges.0.len() > REPORT_MAX_RANGES
        {
            let bytes = bytes.len();
            return Err(FrameError::Ranges { count, bytes });
        }
        let range = |range: &[u8; 4]| {
            let word = u32::from_be_bytes(*range);
            let length = (word >> NUMBER_BITS) as u8 + 1;
            (WireNumber(word & NUMBER_MASK), length)
        };
        Ok(Self {
            newest,
            first_missing: WireNumber(number_at(bytes, 4) & NUMBER_MASK),
            dwell_us: number_at(bytes, 8),
            decided: number_at(bytes, 12),
            lost: number_at(bytes, 16),
            runs: number_at(bytes, 20),
            judged: number_at(bytes, 24),
            channel: number_at(bytes, 28),
            overflow: number_at(bytes, 32),
            unknown: number_at(bytes, 36),
            unknown_runs: number_at(bytes, 40),
            before_idle: WireNumber(number_at(bytes, 44) & NUMBER_MASK),
            before_idle_us: number_at(bytes, 48),
            deficit: short_at(bytes, 52),
            ranges: ranges.0.iter().map(range).collect(),
        })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        debug_assert!(self.ranges.len() <= REPORT_MAX_RANGES);
        out.extend_from_slice(&kind_and_number(REPORT, self.newest));
        for word in [
            self.first_missing.0,
            self.dwell_us,
            self.decided,
            self.lost,
            self.runs,
            self.judged,
            self.channel,
            self.overflow,
            self.unknown,
            self.unknown_runs,
            self.before_idle.0,
            self.before_idle_us,
        ] {
            out.extend_from_slice(&word.to_be_bytes());
        }
        out.extend_from_slice(&self.deficit.to_be_bytes());
        out.extend_from_slice(&(self.ranges.len() as u16).to_be_bytes());
        for &(first, length) in &self.ranges {
            debug_assert!((1..=RANGE_MAX_PACKETS).contains(&length));
            out.extend_from_slice(&kind_and_number(length - 1, first));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn headers_have_the_bytes_that_are_stated() {
        let mut out = Vec::new();
        write_source(7, &[], false, &mut out);
        assert_eq!(out.len(), SOURCE_HEADER_BYTES);
        out.clear();
        let id = RepairId {
            first: 7,
            symbols: 3,
            key: 9,
            density: Density::FULL,
        };
        write_repair_header(&id, &mut out);
        assert_eq!(
            out.len() + crate::symbol_ring::LENGTH_BYTES,
            REPAIR_HEADER_BYTES
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error_and_a_frame_is_written_as_it_was_read(
            bytes in prop::collection::vec(any::<u8>(), 0..120),
        ) {
            let mut out = Vec::new();
            match Frame::parse(&bytes) {
                Ok(Frame::Source { number, packet }) => write_source(number.0.into(), packet, false, &mut out),
                Ok(Frame::Exact { number, packet }) => write_source(number.0.into(), packet, true, &mut out),
                Ok(Frame::Repair { first, symbols, key, density, symbol }) => {
                    write_repair_header(&RepairId { first: first.0.into(), symbols, key, density }, &mut out);
                    out.extend_from_slice(symbol);
                }
                Ok(Frame::Report(report)) => {
                    report.write(&mut out);
                    // The four bits beside a number are not used.
                    out[4] |= bytes[4] & 0xf0;
                    out[44] |= bytes[44] & 0xf0;
                }
                Err(_) => out.clone_from(&bytes),
            }
            prop_assert_eq!(out, bytes);
        }

        #[test]
        fn a_report_is_read_as_it_was_written(
            words in any::<[u32; 12]>(),
            deficit: u16,
            ranges in prop::collection::vec((any::<u32>(), 1..=16_u8), 0..=REPORT_MAX_RANGES),
        ) {
            let report = Report {
                newest: WireNumber::of(words[0].into()),
                first_missing: WireNumber::of(words[1].into()),
                dwell_us: words[2],
                decided: words[3],
                lost: words[4],
                runs: words[0],
                judged: words[5],
                channel: words[11],
                overflow: words[6],
                unknown: words[7],
                unknown_runs: words[8],
                before_idle: WireNumber::of(words[9].into()),
                before_idle_us: words[10],
                deficit,
                ranges: ranges.iter().map(|&(first, length)| (WireNumber::of(first.into()), length)).collect(),
            };
            let mut out = Vec::new();
            report.write(&mut out);
            prop_assert_eq!(out.len(), REPORT_BYTES + REPORT_RANGE_BYTES * report.ranges.len());
            prop_assert_eq!(Frame::parse(&out), Ok(Frame::Report(report)));
        }

        #[test]
        fn a_number_is_found_again_within_half_of_its_range(
            number in 0..u64::from(u32::MAX) * 4, away in -(1_i64 << 27) + 1..1 << 27,
        ) {
            let near = number.saturating_add_signed(away);
            prop_assert_eq!(WireNumber::of(number).nearest_to(near), number);
        }
    }
}
