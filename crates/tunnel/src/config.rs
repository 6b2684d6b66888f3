//! How a tunnel is set, and what its headers take.

use bentpipe_base::Nanos;
use bentpipe_fec::REPAIR_HEADER_BYTES;
use serde::Serialize;

/// Both directions are set alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelConfig {
    pub redundancy: Redundancy,
    /// A repair covers so many of the newest packets.
    pub window_packets: u32,
    /// The longest that a later packet waits for an earlier one; 0: none waits.
    pub hold_ns: Nanos,
    /// Missing packets are requested and sent again. Without it only repairs recover them.
    pub exact: Option<ExactRepair>,
}

bentpipe_reading::read_struct!(TunnelConfig {
    redundancy,
    window_packets,
    hold_ns,
    exact
});

/// How missing packets are requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ExactRepair {
    /// A packet is requested once it has been missing for so long; the request waits for the next report.
    pub patience_ns: Nanos,
    /// It is requested again after this, until a round trip has been measured.
    pub again_ns: Nanos,
    /// The exit keeps so many of the newest packets: those of a round trip and more.
    pub kept_packets: u32,
}

bentpipe_reading::read_struct!(ExactRepair {
    patience_ns,
    again_ns,
    kept_packets
});

/// How many repairs are sent. When they enter the queue of a pipe is the pipe's own affair (`QueueConfig::titration`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum Redundancy {
    /// So many per packet.
    Fixed { ratio: f64 },
    /// As the losses ask for that are reported.
    Adaptive,
}

bentpipe_reading::read_tagged!(Redundancy, "policy", Self::Adaptive, {
    "fixed" => Fixed { ratio },
    "adaptive" => Adaptive {},
});

/// Headers of IP and UDP below the tunnel.
pub fn outer_bytes(ip: u8) -> u32 {
    if ip == 6 { 48 } else { 28 }
}

/// The longest packet that enters a tunnel over a path with this MTU: its repair still fits.
pub fn inner_mtu(mtu: u32, ip: u8) -> u32 {
    mtu.saturating_sub(outer_bytes(ip) + REPAIR_HEADER_BYTES as u32)
}
