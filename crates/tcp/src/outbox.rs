//! What a socket leaves at each call: packets for the path and notices for its application.

use crate::segment::Segment;

/// What an application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    Connected,
    /// This many more bytes have been read in order.
    Read(u64),
    /// All that was written has been acknowledged.
    Drained,
    /// The peer will send nothing more.
    PeerClosed,
    /// The connection is over; `false` if it failed.
    Closed(bool),
}

/// What a socket leaves behind at each call; emptied by the caller, who keeps its memory.
#[derive(Debug, Default)]
pub struct Outbox {
    pub packets: Vec<Segment>,
    pub notices: Vec<Notice>,
}
