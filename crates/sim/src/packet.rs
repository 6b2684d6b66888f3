//! What the network carries: a TCP segment, an echo or a datagram's bytes, and where it goes.

use crate::seat::{Seat, Side};
use bentpipe_path::packet::{Ecn, FlowKey, Packet as PathPacket, SequenceRange};
use bentpipe_tcp::segment::{Segment, flag};
use core::num::NonZeroU16;
use std::sync::Arc;

/// Names a connection: a place in the slab and how often that place was used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub index: u32,
    pub generation: u32,
}

impl bentpipe_base::ordered::Number for ConnectionId {
    fn pack(self) -> u64 {
        u64::from(self.index) << 32 | u64::from(self.generation)
    }

    fn unpack(number: u64) -> Self {
        Self {
            index: (number >> 32) as u32,
            generation: number as u32,
        }
    }
}

/// As ports come round.
const KEYS_PER_PLACE: u64 = 8;

impl ConnectionId {
    /// Where a pipe sees the sequence space begin: another for each use of the place, so that its SYN is known for new.
    fn initial_seq(self) -> u32 {
        self.generation.wrapping_mul(0x9e37_79b1)
    }
}

/// An ICMP echo of a workload: its `ConnectionId` is the workload and the sequence number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Echo {
    pub reply: bool,
    pub payload: u32,
    /// Whole IP packet.
    pub wire_bytes: u32,
    pub ecn: Ecn,
}

/// A datagram of a protocol of our own. A clone shares the payload.
#[derive(Clone, Debug)]
pub struct Bytes {
    pub payload: Arc<[u8]>,
    /// Of all headers before the payload.
    pub header_bytes: u16,
    pub ecn: Ecn,
    /// It is a repair of a tunnel, which a queue may let wait.
    pub repair: bool,
}

/// A UDP datagram of a workload, of which only the length matters: its `ConnectionId` is the workload and the sequence
/// number.
#[derive(Clone, Copy, Debug, Default)]
pub struct Datagram {
    /// Whole IP packet.
    pub wire_bytes: u32,
    pub ecn: Ecn,
}

#[derive(Clone, Debug)]
pub enum Body {
    Tcp(Segment),
    Echo(Echo),
    Datagram(Datagram),
    Bytes(Bytes),
}

/// Where a packet comes from and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub from: Seat,
    pub to: Seat,
    /// One of many servers, at whichever end is the server's.
    pub server: Option<ServerId>,
}

/// Names a server beyond the far end, which has a line of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId(pub(crate) NonZeroU16);

impl Address {
    /// The way of an answer.
    #[must_use]
    pub fn back(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            ..self
        }
    }

    /// The end of its connection that the packet comes from.
    pub fn sender(self) -> Side {
        if self.from < self.to {
            Side::Client
        } else {
            Side::Server
        }
    }
}

#[derive(Clone, Debug)]
pub struct Packet {
    pub body: Body,
    pub connection: ConnectionId,
    pub address: Address,
    /// A bit was flipped on the way; the receiver's checksum fails.
    pub corrupted: bool,
}

/// A packet without bytes is not larger than it was before there were bytes.
const _: () = assert!(size_of::<Packet>() <= 96);

impl Packet {
    pub fn new(connection: ConnectionId, address: Address, body: Body) -> Self {
        Self {
            body,
            connection,
            address,
            corrupted: false,
        }
    }

    pub fn tcp(&self) -> Option<&Segment> {
        match &self.body {
            Body::Tcp(segment) => Some(segment),
            Body::Echo(_) | Body::Datagram(_) | Body::Bytes(_) => None,
        }
    }

    /// Tells apart the flows that have the same [`ConnectionId`].
    fn kind(&self) -> u64 {
        match &self.body {
            Body::Tcp(_) => 0,
            Body::Echo(echo) => 1 + u64::from(echo.reply),
            Body::Bytes(_) => 3,
            Body::Datagram(_) => 4,
        }
    }
}

impl PathPacket for Packet {
    fn wire_bytes(&self) -> u32 {
        match &self.body {
            Body::Tcp(segment) => segment.wire_bytes,
            Body::Echo(echo) => echo.wire_bytes,
            Body::Datagram(datagram) => datagram.wire_bytes,
            Body::Bytes(bytes) => u32::from(bytes.header_bytes) + bytes.payload.len() as u32,
        }
    }

    /// A place's connections share a few keys by turns, so that what a pipe remembers of flows grows with those open at
    /// once, not with all that have been. All datagrams of a workload are one flow.
    fn flow(&self) -> FlowKey {
        let turn = match self.body {
            Body::Datagram(_) => 0,
            _ => u64::from(self.connection.generation) % KEYS_PER_PLACE,
        };
        let key = u64::from(self.connection.index) << 32 | turn;
        FlowKey((key ^ self.kind() << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Tcp(segment) => segment.ecn,
            Body::Echo(echo) => echo.ecn,
            Body::Datagram(datagram) => datagram.ecn,
            Body::Bytes(bytes) => bytes.ecn,
        }
    }

    fn mark_ce(&mut self) {
        match &mut self.body {
            Body::Tcp(segment) => segment.ecn = Ecn::Ce,
            Body::Echo(echo) => echo.ecn = Ecn::Ce,
            Body::Datagram(datagram) => datagram.ecn = Ecn::Ce,
            Body::Bytes(bytes) => bytes.ecn = Ecn::Ce,
        }
    }

    fn corrupt(&mut self, _draw: u64) {
        self.corrupted = true;
    }

    fn is_repair(&self) -> bool {
        matches!(&self.body, Body::Bytes(bytes) if bytes.repair)
    }

    fn segment(&self) -> Option<SequenceRange> {
        let segment = self.tcp()?;
        Some(SequenceRange {
            seq: (segment.seq as u32)
                .wrapping_add(u32::from(segment.has(flag::SYN)))
                .wrapping_add(self.connection.initial_seq()),
            payload_bytes: segment.payload,
            syn: segment.has(flag::SYN),
        })
    }
}
