//! A coded tunnel between near and far: whole IP packets enter at one end and leave at the other, coded by `bentpipe-fec`.
//! TCP is not split.
//!
//! ```text
//! client - near = path = far - server
//!            '-- crossing --'
//! ```
//!
//! 1. The outer headers are IP and UDP, of the lab's IP version. Between them and the packet are the tunnel's own.
//! 2. ECN crosses as RFC 6040 says: the outer header of a packet has its ECN field, and a mark on the way is put into the
//!    packet. Repairs and reports are not ECN-capable.
//! 3. All frames of one direction are one flow to a queue that is fair between flows.
//! 4. Packets are lengths here, so a frame carries the packet's number in its place, and the code works on that.
//! 5. No packet is asked for again: it would come a round trip later, when TCP has sent it again.

mod crossing;
mod delays;
mod end;
mod figures;

pub(crate) use crossing::Crossing;
pub(crate) use end::TunnelEnd;
pub use figures::TunnelFigures;

use bentpipe_base::{Direction, Nanos};
use bentpipe_fec::REPAIR_HEADER_BYTES;
use serde::{Deserialize, Serialize};

/// Both directions are set alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TunnelConfig {
    pub redundancy: Redundancy,
    /// A repair covers so many of the newest packets.
    pub window_packets: u32,
    /// The longest that a later packet waits for an earlier one; 0: none waits.
    pub hold_ns: Nanos,
}

/// How many repairs are sent, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
pub enum Redundancy {
    /// So many per packet.
    Fixed { ratio: f64 },
    /// As the losses ask for that are reported.
    Adaptive,
    /// As many, and each when the queue has room. A direction without a rate always has.
    Titrated {
        down: Option<Room>,
        up: Option<Room>,
    },
}

/// When a repair may enter the queue of a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Room {
    /// What drains the queue.
    pub rate_bit_s: u64,
    /// A repair enters while the queue holds at most so much.
    pub queue_bytes: u64,
}

impl Redundancy {
    fn room(&self, direction: Direction) -> Option<Room> {
        match (self, direction) {
            (Self::Titrated { down, .. }, Direction::Down) => *down,
            (Self::Titrated { up, .. }, Direction::Up) => *up,
            (Self::Fixed { .. } | Self::Adaptive, _) => None,
        }
    }
}

/// Headers of IP and UDP below the tunnel.
pub fn outer_bytes(ip: u8) -> u32 {
    if ip == 6 { 48 } else { 28 }
}

/// The longest packet that enters a tunnel over a path with this MTU: its repair still fits.
pub fn inner_mtu(mtu: u32, ip: u8) -> u32 {
    mtu.saturating_sub(outer_bytes(ip) + REPAIR_HEADER_BYTES as u32)
}
