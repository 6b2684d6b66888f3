//! What is known of one flow: whose it is, where it leads, and what it has carried.

use crate::entrance::Asked;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How far a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowState {
    /// The program has not said where it leads, or the other gateway takes no more flows.
    Waiting,
    /// The destination has not answered.
    Connecting,
    Open,
    /// One of both directions has ended.
    HalfClosed,
    /// A UDP association.
    Udp,
}

/// One flow of a host, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowReport {
    /// The host on near's side.
    pub host: SocketAddr,
    /// None: it is not known, or each datagram names its own.
    pub destination: Option<Asked>,
    pub state: FlowState,
    pub open_for: Duration,
    /// Since when no byte was read from its socket or written to it.
    pub idle_for: Duration,
    /// Payload from the socket to the other gateway, and from there to the socket.
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
}

/// What a connection or an association notes of itself.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub host: SocketAddr,
    pub destination: Option<Asked>,
    begun: Instant,
    pub moved: Instant,
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
}

impl Ledger {
    pub fn new(host: SocketAddr, destination: Option<Asked>) -> Self {
        let now = Instant::now();
        Self {
            host,
            destination,
            begun: now,
            moved: now,
            sent_bytes: 0,
            delivered_bytes: 0,
        }
    }

    pub fn bytes(&self) -> (u64, u64) {
        (self.sent_bytes, self.delivered_bytes)
    }

    pub fn has_moved(&mut self, now: Instant) {
        self.moved = now;
    }

    pub fn report(&self, state: FlowState, now: Instant) -> FlowReport {
        FlowReport {
            host: self.host,
            destination: self.destination.clone(),
            state,
            open_for: now.saturating_duration_since(self.begun),
            idle_for: now.saturating_duration_since(self.moved),
            sent_bytes: self.sent_bytes,
            delivered_bytes: self.delivered_bytes,
        }
    }
}

/// The flows that moved last, at most so many, and how many others there are.
pub(crate) fn newest(mut flows: Vec<FlowReport>, most: usize) -> (Vec<FlowReport>, u64) {
    flows.sort_by_key(|flow| flow.idle_for);
    let left_out = flows.len().saturating_sub(most) as u64;
    flows.truncate(most);
    (flows, left_out)
}
