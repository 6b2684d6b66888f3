//! What a session has done so far, and how it stands.

use super::DatagramFigures;
use bentpipe_base::Nanos;
use bentpipe_fec::{ReceiverCounters, SenderCounters};

/// Counts are of the session's whole time; the coded planes' and those of datagrams begin anew with each new session.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    pub sender: SenderCounters,
    pub receiver: ReceiverCounters,
    pub round_trip: Option<Nanos>,
    /// The share that the channel loses, as the other gateway's reports say. `None`: they told of too few packets yet.
    pub channel_loss: Option<f64>,
    /// A missing packet is asked for after this.
    pub patience: Nanos,
    /// Packets that are not reported yet.
    pub outstanding: u64,
    pub flows: u64,
    /// Bytes that hosts gave, and that they took.
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    /// Flows that were opened from here, and from the other gateway.
    pub opened: u64,
    pub accepted: u64,
    pub resets: u64,
    pub probes: u64,
    /// Sessions that began.
    pub sessions: u64,
    /// Datagrams that came without a session, or that no gateway sends.
    pub strays: u64,
    pub malformed: u64,
    pub datagrams: DatagramFigures,
}
