//! What one proxy did, as the record has it.

use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SplitFigures {
    /// That it was asked for.
    pub connections: u64,
    /// Of them, those that failed after both of its sockets were connected: by a RST, or a timeout.
    pub resets: u64,
    /// Of them, those that failed before.
    pub connect_failures: u64,
    /// Payload passed on, to the client and to the servers.
    pub down_bytes: u64,
    pub up_bytes: u64,
    /// Payload taken from one side and not acknowledged by the other, of all connections together; the most at once.
    pub buffered_bytes_max: u64,
    /// Segments that it sent across the path again.
    pub retransmits: u64,
}
