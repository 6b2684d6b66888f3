//! What the network carries: a TCP segment or an echo, and where it goes.

use crate::network::Leg;
use bentpipe_path::packet::{Ecn, FlowKey, Packet as PathPacket, Segment as SequenceRange};
use bentpipe_tcp::segment::{Segment, flag};

/// Names a connection: a place in the slab and how often that place was used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub index: u32,
    pub generation: u32,
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

#[derive(Clone, Copy, Debug)]
pub enum Body {
    Tcp(Segment),
    Echo(Echo),
}

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub connection: ConnectionId,
    pub leg: Leg,
    /// A bit was flipped on the way; the receiver's checksum fails.
    pub corrupted: bool,
    pub body: Body,
}

impl Packet {
    pub fn tcp(&self) -> Option<&Segment> {
        match &self.body {
            Body::Tcp(segment) => Some(segment),
            Body::Echo(_) => None,
        }
    }

    /// 0 for TCP: the flows of a connection's two directions are told apart by the pipe.
    fn kind(&self) -> u64 {
        match self.body {
            Body::Tcp(_) => 0,
            Body::Echo(echo) => 1 + u64::from(echo.reply),
        }
    }
}

impl PathPacket for Packet {
    fn wire_bytes(&self) -> u32 {
        match &self.body {
            Body::Tcp(segment) => segment.wire_bytes,
            Body::Echo(echo) => echo.wire_bytes,
        }
    }

    /// A place's connections share a few keys by turns, so that what a pipe remembers of flows grows with those open at
    /// once, not with all that have been.
    fn flow(&self) -> FlowKey {
        let turn = u64::from(self.connection.generation) % KEYS_PER_PLACE;
        let key = u64::from(self.connection.index) << 32 | turn;
        FlowKey((key ^ self.kind() << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Tcp(segment) => segment.ecn,
            Body::Echo(echo) => echo.ecn,
        }
    }

    fn mark_ce(&mut self) {
        match &mut self.body {
            Body::Tcp(segment) => segment.ecn = Ecn::Ce,
            Body::Echo(echo) => echo.ecn = Ecn::Ce,
        }
    }

    fn corrupt(&mut self, _draw: u64) {
        self.corrupted = true;
    }

    fn segment(&self) -> Option<SequenceRange> {
        let Body::Tcp(segment) = &self.body else {
            return None;
        };
        Some(SequenceRange {
            seq: (segment.seq as u32)
                .wrapping_add(u32::from(segment.has(flag::SYN)))
                .wrapping_add(self.connection.initial_seq()),
            payload_bytes: segment.payload,
            syn: segment.has(flag::SYN),
        })
    }
}
