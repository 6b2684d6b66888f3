//! What a packet of the coded plane is made of: frames, one after another, until its end.
//!
//! | type | frame | fields |
//! |---|---|---|
//! | 1 | DATA | flow, offset, length (varints), bytes |
//! | 2 | END | as DATA; these are the flow's last bytes, perhaps none |
//! | 3 | RESET | flow (varint), code (8 bits): both directions of the flow are over |
//! | 4 | FLOW CREDIT | flow, limit (varints): offsets below `limit` may be sent |
//! | 5 | SESSION CREDIT | limit (varint): so many bytes of all flows together may be sent |
//! | 6 | FLOWS CREDIT | limit (varint): so many flows may be opened |
//!
//! Every byte of a flow is in exactly one DATA or END frame: what is lost is repaired below.

use crate::flow::FlowId;
use crate::varint;
use core::fmt;

const DATA: u8 = 1;
const END: u8 = 2;
const RESET: u8 = 3;
const FLOW_CREDIT: u8 = 4;
const SESSION_CREDIT: u8 = 5;
const FLOWS_CREDIT: u8 = 6;

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    Data {
        flow: FlowId,
        offset: u64,
        bytes: &'a [u8],
        /// Nothing follows.
        end: bool,
    },
    Reset {
        flow: FlowId,
        code: u8,
    },
    FlowCredit {
        flow: FlowId,
        limit: u64,
    },
    SessionCredit {
        limit: u64,
    },
    FlowsCredit {
        limit: u64,
    },
}

/// A packet that no gateway sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The packet ends within a frame.
    Truncated,
    Type(u8),
    /// Offset and length together are more than 2^62 - 1, or than a frame in pieces has.
    Offset,
    /// A datagram, or a frame in pieces, that is longer than any may be.
    Length(u64),
    /// Of an address.
    Family(u8),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => f.write_str("the packet ends within a frame"),
            Self::Type(kind) => write!(
                f,
                "frame of type {kind}, expected 1 to 6, or 1 to 3 with datagrams"
            ),
            Self::Offset => f.write_str("bytes beyond the end of what they belong to"),
            Self::Length(bytes) => write!(f, "datagram of {bytes} bytes"),
            Self::Family(family) => write!(f, "address family {family}, expected 4 or 6"),
        }
    }
}

impl core::error::Error for FrameError {}

impl<'a> Frame<'a> {
    /// The bytes before a DATA or END frame's own.
    pub fn data_header_bytes(flow: FlowId, offset: u64, length: usize) -> usize {
        1 + varint::length(flow.0) + varint::length(offset) + varint::length(length as u64)
    }

    /// Appends the frame.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Data {
                flow,
                offset,
                bytes,
                end,
            } => {
                Self::write_data_header(flow, offset, bytes.len(), end, out);
                out.extend_from_slice(bytes);
            }
            Self::Reset { flow, code } => {
                out.push(RESET);
                varint::write(flow.0, out);
                out.push(code);
            }
            Self::FlowCredit { flow, limit } => {
                out.push(FLOW_CREDIT);
                varint::write(flow.0, out);
                varint::write(limit, out);
            }
            Self::SessionCredit { limit } => {
                out.push(SESSION_CREDIT);
                varint::write(limit, out);
            }
            Self::FlowsCredit { limit } => {
                out.push(FLOWS_CREDIT);
                varint::write(limit, out);
            }
        }
    }

    /// Appends what stands before the bytes of a DATA or END frame.
    pub(crate) fn write_data_header(
        flow: FlowId,
        offset: u64,
        length: usize,
        end: bool,
        out: &mut Vec<u8>,
    ) {
        out.push(if end { END } else { DATA });
        varint::write(flow.0, out);
        varint::write(offset, out);
        varint::write(length as u64, out);
    }

    fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), FrameError> {
        let (&kind, bytes) = bytes.split_first().ok_or(FrameError::Truncated)?;
        let number = |bytes| varint::read(bytes).ok_or(FrameError::Truncated);
        let flow = |bytes| number(bytes).map(|(id, rest)| (FlowId(id), rest));
        Ok(match kind {
            DATA | END => {
                let (flow, bytes) = flow(bytes)?;
                let (offset, bytes) = number(bytes)?;
                let (length, bytes) = number(bytes)?;
                if offset + length > varint::MAX {
                    return Err(FrameError::Offset);
                }
                let length = usize::try_from(length).map_err(|_| FrameError::Truncated)?;
                let split = bytes.split_at_checked(length);
                let (bytes, rest) = split.ok_or(FrameError::Truncated)?;
                let end = kind == END;
                let frame = Self::Data {
                    flow,
                    offset,
                    bytes,
                    end,
                };
                (frame, rest)
            }
            RESET => {
                let (flow, bytes) = flow(bytes)?;
                let (&code, rest) = bytes.split_first().ok_or(FrameError::Truncated)?;
                (Self::Reset { flow, code }, rest)
            }
            FLOW_CREDIT => {
                let (flow, bytes) = flow(bytes)?;
                let (limit, rest) = number(bytes)?;
                (Self::FlowCredit { flow, limit }, rest)
            }
            SESSION_CREDIT => {
                let (limit, rest) = number(bytes)?;
                (Self::SessionCredit { limit }, rest)
            }
            FLOWS_CREDIT => {
                let (limit, rest) = number(bytes)?;
                (Self::FlowsCredit { limit }, rest)
            }
            other => return Err(FrameError::Type(other)),
        })
    }
}

/// The frames of a packet. After an error there are no more.
#[derive(Clone, Debug)]
pub struct Frames<'a>(&'a [u8]);

impl<'a> Frames<'a> {
    pub fn of(packet: &'a [u8]) -> Self {
        Self(packet)
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = Result<Frame<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = Frame::read(self.0);
        self.0 = read.map_or(&[], |(_, rest)| rest);
        Some(read.map(|(frame, _)| frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = Vec<(u8, u64, u64, Vec<u8>)>> {
        let bytes = prop::collection::vec(any::<u8>(), 0..40);
        prop::collection::vec((0_u8..6, 0..1_u64 << 61, 0..1_u64 << 61, bytes), 1..8)
    }

    fn frame((kind, id, number, bytes): &(u8, u64, u64, Vec<u8>)) -> Frame<'_> {
        let (flow, limit) = (FlowId(*id), *number);
        match kind {
            0 | 1 => Frame::Data {
                flow,
                offset: limit,
                bytes,
                end: *kind == 1,
            },
            2 => Frame::Reset {
                flow,
                code: limit as u8,
            },
            3 => Frame::FlowCredit { flow, limit },
            4 => Frame::SessionCredit { limit },
            _ => Frame::FlowsCredit { limit },
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(all in frames()) {
            let mut packet = Vec::new();
            for each in &all {
                frame(each).write(&mut packet);
            }
            let read: Result<Vec<_>, _> = Frames::of(&packet).collect();
            prop_assert_eq!(read, Ok(all.iter().map(frame).collect()));
        }

        #[test]
        fn a_packet_that_is_cut_gives_an_error_or_fewer_frames(all in frames(), cut in 0_usize..400) {
            let mut packet = Vec::new();
            for each in &all {
                frame(each).write(&mut packet);
            }
            packet.truncate(cut.min(packet.len().saturating_sub(1)));
            let read: Result<Vec<_>, _> = Frames::of(&packet).collect();
            prop_assert!(read.is_err() || read.is_ok_and(|read| read.len() < all.len()));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let count = Frames::of(&bytes).count();
            prop_assert!(count <= bytes.len());
        }
    }

    #[test]
    fn an_unknown_type_is_named() {
        let error = Frames::of(&[9]).next().unwrap().unwrap_err();
        let expected = "frame of type 9, expected 1 to 6, or 1 to 3 with datagrams";
        assert_eq!(error.to_string(), expected);
    }
}
