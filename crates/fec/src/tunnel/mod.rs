//! A coded tunnel in one direction: [`TunnelSender`] where packets enter it, [`TunnelReceiver`] where they leave it. Two such
//! pairs make a tunnel for both directions.
//!
//! ```text
//! packets -> TunnelSender -> frames over the path -> TunnelReceiver -> packets
//!                  ^------------- reports back -------------'
//! ```
//!
//! Neither does I/O nor reads a clock. After each call that changes it, a driver asks `poll_transmit` (and the receiver's
//! `poll_release`) until they have nothing more, and calls again at `poll_timeout`. Times may not go back.
//!
//! A driver whose packets are real bytes gives them as they are. A simulator, whose packets have lengths but no bytes, gives a
//! few bytes that name the packet, and its length beside them: the code works on the bytes, and lengths on the wire are
//! counted from the length.

mod counters;
mod gaps;
mod losses;
mod missing;
mod receiver;
mod release;
mod round_trip;
mod sender;
mod sender_config;
#[cfg(test)]
mod tests;

pub use counters::{ReceiverCounters, SenderCounters};
pub use missing::ExactConfig;
pub use receiver::{ReceiverConfig, TunnelReceiver};
pub use release::{ReleaseOrder, Released};
pub use sender::{Heard, PushError, TunnelSender};
pub use sender_config::{SenderConfig, SenderConfigError};

use crate::frame::Frame;

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A packet as it was pushed.
    Source,
    /// A packet again, since the receiver has asked for it.
    Exact,
    /// A combination of packets, sent before anything is known to be lost.
    Repair,
    /// What the receiver tells the sender.
    Report,
}

impl FrameKind {
    /// What the first byte of a frame says. `None`: it is no frame.
    pub fn of(frame: &[u8]) -> Option<Self> {
        match frame.first()? >> 4 {
            0 => Some(Self::Source),
            1 => Some(Self::Exact),
            2 => Some(Self::Report),
            8.. => Some(Self::Repair),
            _ => None,
        }
    }
}

/// The number of the packet that a source frame or an exact repair carries. `None`: it carries none, or is no frame.
/// `near`: a number that is less than 2^27 away.
pub fn carried_number(frame: &[u8], near: u64) -> Option<u64> {
    match Frame::parse(frame).ok()? {
        Frame::Source { number, .. } | Frame::Exact { number, .. } => Some(number.nearest_to(near)),
        Frame::Repair { .. } | Frame::Report(_) => None,
    }
}

/// A frame that was written to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub kind: FrameKind,
    /// The frame with its header, packets counted by the lengths that the driver gave. Headers below the tunnel are not in it.
    pub wire_bytes: u32,
}

/// How a packet came to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    AsSource,
    AsExactRepair,
    Recovered,
}
