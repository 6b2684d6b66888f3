//! The rows of a run's results.

use crate::packet::{ConnectionId, Packet};
use crate::seat::{Leg, Seat, Side};
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tables::pcapng::InterfaceDirection;
use bentpipe_tcp::SocketSample;

/// What a connection is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Carries a workload's payload between its client and the server that it asks.
    #[default]
    Data,
    /// iperf3's own messages.
    Control,
    /// Between the cache at near and the server.
    Upstream,
}

/// One row of the `sockets` table.
#[derive(Clone, Debug)]
pub struct SocketRow {
    pub time: Time,
    pub id: ConnectionId,
    /// Which of the connection's ends it is.
    pub side: Side,
    pub host: Seat,
    /// Place of the workload in the specification.
    pub workload: usize,
    /// The latest flow that the connection was given to.
    pub flow: Option<u64>,
    pub role: Role,
    pub ip: u8,
    pub local_port: u16,
    pub remote_port: u16,
    pub sample: SocketSample,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowOutcome {
    Finished,
    Unfinished,
    Failed,
}

/// One row of the `flows` table.
#[derive(Clone, Debug)]
pub struct FlowRow {
    pub flow: u64,
    /// Place of the workload in the specification.
    pub workload: usize,
    /// Where the connection was opened from, which `local_port` is of.
    pub opener: Side,
    /// Where the data goes to: the client for `down`.
    pub receiver: Side,
    pub ip: u8,
    pub local_port: u16,
    pub remote_port: u16,
    pub size_bytes: Option<u64>,
    pub start: Time,
    pub first_byte: Option<Time>,
    pub end: Option<Time>,
    /// From when on the receiver's clock counts.
    pub counted_from: Time,
    /// Payload read by the receiving application, and how much of it within the time to be left out.
    pub bytes: u64,
    pub omitted_bytes: u64,
    /// Of the whole connection, and how many of them within the time to be left out.
    pub retransmits: u64,
    pub omitted_retransmits: u64,
    pub outcome: FlowOutcome,
    pub why: Option<&'static str>,
    pub detail: FlowDetail,
}

/// Whether a web cache had what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cached {
    Hit,
    Miss,
}

/// What only some kinds of workload know of a flow; numbers from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowDetail {
    /// What the connection spans.
    pub leg: Leg,
    /// One of many clients, or servers, of the workload.
    pub client: Option<u32>,
    pub server: Option<u32>,
    /// When the client was connected; `None` on a connection that was open before.
    pub connected: Option<Time>,
    /// The visit of a web client that it belongs to.
    pub visit: Option<u32>,
    /// What was asked for, by its popularity, from 1.
    pub object: Option<u32>,
    pub cache: Option<Cached>,
    /// How long the server takes before it answers this request, zero for a cache's hit; `None`: it answers at once.
    pub think: Option<Nanos>,
}

/// A second of an iperf3 transfer as its receiver counts it, all streams together, or the rest of one at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntervalRow {
    pub workload: usize,
    pub start: Time,
    pub end: Time,
    pub bytes: u64,
    /// Within the time to be left out.
    pub omitted: bool,
}

/// One row of the `pings` table: an echo request, or a message of `interactive`. `rtt` is `None` if the answer never came.
#[derive(Clone, Copy, Debug)]
pub struct PingRow {
    pub time: Time,
    pub workload: usize,
    pub sequence: u32,
    pub rtt: Option<bentpipe_path::time::Nanos>,
}

/// A datagram of a workload `call`; `delay` is `None` if it never came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramRow {
    pub workload: usize,
    /// Where it went to.
    pub to: Side,
    pub sequence: u32,
    pub sent: Time,
    pub delay: Option<Nanos>,
}

/// What went wrong with a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureRow {
    pub workload: usize,
    pub why: &'static str,
}

/// A packet at one end of the path, as a capture at that host sees it.
#[derive(Clone, Debug)]
pub struct Captured {
    pub time: Time,
    pub at: Seat,
    /// The end of its connection that it comes from.
    pub sender: Side,
    /// As `at` sees it.
    pub direction: InterfaceDirection,
    pub client_port: u16,
    pub server_port: u16,
    /// Initial sequence numbers of the sender and of the other side: the wire's numbers are offset plus these.
    pub initial_seq: u32,
    pub initial_ack: u32,
    pub ip: u8,
    pub packet: Packet,
}
