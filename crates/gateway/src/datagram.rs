//! What a packet with datagrams is made of: frames, one after another, until its end. These packets may be lost for good.
//!
//! | type | frame | fields |
//! |---|---|---|
//! | 1 | DATAGRAM | flow, length (varints), bytes |
//! | 2 | DATAGRAM WITH ADDRESS | flow (varint), family (8 bits: 4 or 6), address (4 or 16 bytes), port (16 bits), length (varint), bytes |
//! | 3 | PIECE | number, total, offset, length (varints), bytes |
//!
//! The pieces of one number, put together, are one frame of type 1 or 2 of `total` bytes.

use crate::flow::FlowId;
use crate::frame::FrameError;
use crate::varint;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const DATAGRAM: u8 = 1;
const WITH_ADDRESS: u8 = 2;
const PIECE: u8 = 3;

/// The longest datagram, in bytes.
pub const DATAGRAM_MAX_BYTES: usize = 65_535;
/// What stands before a datagram's bytes, at most.
const HEADER_MAX_BYTES: usize = 1 + 8 + 19 + 4;
/// The longest frame that comes in pieces.
pub(crate) const WHOLE_MAX_BYTES: usize = DATAGRAM_MAX_BYTES + HEADER_MAX_BYTES;

/// A datagram, as it crosses or as it is given to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    pub flow: FlowId,
    /// Where it goes to, or comes from, if that is not the association's destination.
    pub address: Option<SocketAddr>,
    pub bytes: &'a [u8],
}

/// A part of a frame that is longer than a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The same for all pieces of one frame.
    pub number: u64,
    /// Bytes of the frame.
    pub total: u64,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// One frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramFrame<'a> {
    Whole(Datagram<'a>),
    Piece(Piece<'a>),
}

impl Datagram<'_> {
    /// Appends the frame.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(if self.address.is_some() {
            WITH_ADDRESS
        } else {
            DATAGRAM
        });
        varint::write(self.flow.0, out);
        if let Some(address) = self.address {
            match address.ip() {
                IpAddr::V4(ip) => {
                    out.push(4);
                    out.extend_from_slice(&ip.octets());
                }
                IpAddr::V6(ip) => {
                    out.push(6);
                    out.extend_from_slice(&ip.octets());
                }
            }
            out.extend_from_slice(&address.port().to_be_bytes());
        }
        varint::write(self.bytes.len() as u64, out);
        out.extend_from_slice(self.bytes);
    }
}

impl Piece<'_> {
    /// Bytes before a piece's own.
    pub fn header_bytes(number: u64, total: usize, offset: usize, length: usize) -> usize {
        let lengths = [number, total as u64, offset as u64, length as u64].map(varint::length);
        1 + lengths.iter().sum::<usize>()
    }

    /// Appends the frame.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(PIECE);
        for number in [
            self.number,
            self.total,
            self.offset,
            self.bytes.len() as u64,
        ] {
            varint::write(number, out);
        }
        out.extend_from_slice(self.bytes);
    }
}

fn number(bytes: &[u8]) -> Result<(u64, &[u8]), FrameError> {
    varint::read(bytes).ok_or(FrameError::Truncated)
}

fn array<const N: usize>(bytes: &[u8]) -> Result<([u8; N], &[u8]), FrameError> {
    let split = bytes.split_first_chunk::<N>();
    split
        .map(|(it, rest)| (*it, rest))
        .ok_or(FrameError::Truncated)
}

/// So many bytes, which stand behind their number.
fn counted(bytes: &[u8]) -> Result<(&[u8], &[u8]), FrameError> {
    let (length, bytes) = number(bytes)?;
    let length = usize::try_from(length).map_err(|_| FrameError::Truncated)?;
    bytes.split_at_checked(length).ok_or(FrameError::Truncated)
}

impl<'a> DatagramFrame<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), FrameError> {
        let ([kind], bytes) = array(bytes)?;
        match kind {
            DATAGRAM | WITH_ADDRESS => {
                let (flow, mut bytes) = number(bytes)?;
                let mut address = None;
                if kind == WITH_ADDRESS {
                    let (it, rest) = Self::read_address(bytes)?;
                    (address, bytes) = (Some(it), rest);
                }
                let (bytes, rest) = counted(bytes)?;
                if bytes.len() > DATAGRAM_MAX_BYTES {
                    return Err(FrameError::Length(bytes.len() as u64));
                }
                let flow = FlowId(flow);
                let whole = Datagram {
                    flow,
                    address,
                    bytes,
                };
                Ok((Self::Whole(whole), rest))
            }
            PIECE => {
                let (piece_number, bytes) = number(bytes)?;
                let (total, bytes) = number(bytes)?;
                let (offset, bytes) = number(bytes)?;
                let (bytes, rest) = counted(bytes)?;
                if total > WHOLE_MAX_BYTES as u64 {
                    return Err(FrameError::Length(total));
                }
                if offset + bytes.len() as u64 > total || bytes.is_empty() {
                    return Err(FrameError::Offset);
                }
                let piece = Piece {
                    number: piece_number,
                    total,
                    offset,
                    bytes,
                };
                Ok((Self::Piece(piece), rest))
            }
            other => Err(FrameError::Type(other)),
        }
    }

    fn read_address(bytes: &[u8]) -> Result<(SocketAddr, &[u8]), FrameError> {
        let ([family], bytes) = array(bytes)?;
        let (ip, bytes): (IpAddr, _) = match family {
            4 => array::<4>(bytes).map(|(ip, rest)| (Ipv4Addr::from(ip).into(), rest))?,
            6 => array::<16>(bytes).map(|(ip, rest)| (Ipv6Addr::from(ip).into(), rest))?,
            other => return Err(FrameError::Family(other)),
        };
        let (port, bytes) = array(bytes)?;
        Ok((SocketAddr::new(ip, u16::from_be_bytes(port)), bytes))
    }
}

/// The frames of a packet. After an error there are no more.
#[derive(Clone, Debug)]
pub struct DatagramFrames<'a>(&'a [u8]);

impl<'a> DatagramFrames<'a> {
    pub fn of(packet: &'a [u8]) -> Self {
        Self(packet)
    }
}

impl<'a> Iterator for DatagramFrames<'a> {
    type Item = Result<DatagramFrame<'a>, FrameError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let read = DatagramFrame::read(self.0);
        self.0 = read.map_or(&[], |(_, rest)| rest);
        Some(read.map(|(frame, _)| frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Parts = (u8, u64, [u8; 16], u16, u16, Vec<u8>);

    fn parts() -> impl Strategy<Value = Vec<Parts>> {
        let bytes = prop::collection::vec(any::<u8>(), 1..40);
        let parts = (
            0_u8..4,
            0..1_u64 << 61,
            any::<[u8; 16]>(),
            any::<u16>(),
            any::<u16>(),
            bytes,
        );
        prop::collection::vec(parts, 1..8)
    }

    fn write((kind, number, ip, port, offset, bytes): &Parts, out: &mut Vec<u8>) {
        match frame(&(*kind, *number, *ip, *port, *offset, bytes.clone()), bytes) {
            DatagramFrame::Whole(whole) => whole.write(out),
            DatagramFrame::Piece(piece) => piece.write(out),
        }
    }

    fn frame<'a>(
        (kind, number, ip, port, offset, _): &Parts,
        bytes: &'a [u8],
    ) -> DatagramFrame<'a> {
        let v4 = Ipv4Addr::new(ip[0], ip[1], ip[2], ip[3]);
        let address = match kind {
            0 => None,
            1 => Some(SocketAddr::new(v4.into(), *port)),
            2 => Some(SocketAddr::new(Ipv6Addr::from(*ip).into(), *port)),
            _ => {
                let offset = u64::from(*offset / 2);
                let total = offset + bytes.len() as u64 + u64::from(*port / 4);
                return DatagramFrame::Piece(Piece {
                    number: *number,
                    total,
                    offset,
                    bytes,
                });
            }
        };
        let flow = FlowId(*number);
        DatagramFrame::Whole(Datagram {
            flow,
            address,
            bytes,
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(all in parts()) {
            let mut packet = Vec::new();
            for it in &all {
                write(it, &mut packet);
            }
            let read: Result<Vec<_>, _> = DatagramFrames::of(&packet).collect();
            prop_assert_eq!(read, Ok(all.iter().map(|it| frame(it, &it.5)).collect()));
        }

        #[test]
        fn a_packet_that_is_cut_gives_an_error_or_fewer_frames(all in parts(), cut in 0_usize..400) {
            let mut packet = Vec::new();
            for it in &all {
                write(it, &mut packet);
            }
            packet.truncate(cut.min(packet.len() - 1));
            let read: Result<Vec<_>, _> = DatagramFrames::of(&packet).collect();
            prop_assert!(read.is_err() || read.is_ok_and(|read| read.len() < all.len()));
        }

        #[test]
        fn any_bytes_are_read_or_refused_and_no_frame_is_longer_than_allowed(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            for frame in DatagramFrames::of(&bytes).flatten() {
                if let DatagramFrame::Piece(piece) = frame {
                    prop_assert!(piece.total <= WHOLE_MAX_BYTES as u64);
                    prop_assert!(piece.offset + piece.bytes.len() as u64 <= piece.total);
                }
            }
        }
    }
}
