//! How a tunnel is set, and what its headers take.

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
    pub(crate) fn room(&self, direction: Direction) -> Option<Room> {
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
