//! The carrier over UDP: QUIC by noq-proto.
//!
//! An [`Endpoint`] is one end of one UDP socket. The near end has one connection at a time, the far end one for each near end. The driver
//! does this, in any order:
//!
//! - for each UDP packet: [`Endpoint::handle`], or for several that came together [`Endpoint::handle_packets`];
//! - at the time that [`Endpoint::poll_timeout`] names: [`Endpoint::handle_timeout`];
//! - after either, and after anything was sent: [`Endpoint::poll_event`], then [`Endpoint::poll_transmit`], each until it returns `None`.
//!
//! Nothing here paces or limits the rate: the session above does. Until `poll_transmit` has returned `None`, a connection accepts at most
//! `Config::datagram_send_bytes` of datagrams, so that control messages get their turn.

mod codes;
mod config;
mod control;
mod datagrams;
mod endpoint;
mod liveness;
mod peer;
mod secrets;
mod unlimited;

pub use config::Config;
pub use datagrams::Written;
pub use endpoint::Endpoint;
pub use noq_proto::EcnCodepoint;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// One or more UDP packets to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub destination: SocketAddr,
    /// The local address to send from, if that matters.
    pub source: Option<IpAddr>,
    pub ecn: Option<EcnCodepoint>,
    /// Bytes in the buffer, all packets together.
    pub size: usize,
    /// With more than one packet: the size of each but the last, which may be shorter.
    pub segment_size: Option<usize>,
}

/// Figures of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// Smoothed round-trip time. Acknowledgements held back are taken off.
    pub rtt: Duration,
    /// The UDP payload that a packet may have, in bytes.
    pub mtu: u16,
    pub packets_sent: u64,
    /// Packets taken for lost, by time. Some may have arrived late.
    pub packets_lost: u64,
    /// UDP payload.
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// When a packet with a connection ID of this connection last arrived.
    pub last_heard: Instant,
    /// Bytes of accepted datagrams that were not sent, because the path's MTU shrank.
    pub datagram_bytes_dropped_too_long: u64,
    /// Datagrams that arrived and found the receive queue full.
    pub datagrams_dropped_unread: u64,
}

/// Why an endpoint could not be made, or could not connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EndpointError {
    /// An address without a port, or without an address.
    Address(SocketAddr),
    /// `certain_udp_payload` and `largest_udp_payload`.
    UdpPayload(u16, u16),
    /// Only the near end connects.
    NotNear,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => {
                write!(f, "{address} is not an address that one can connect to")
            }
            Self::UdpPayload(certain, largest) => write!(
                f,
                "certain_udp_payload is {certain} and largest_udp_payload {largest}, expected 1200 to 65527"
            ),

            Self::NotNear => write!(f, "a far end does not connect"),
        }
    }
}

impl std::error::Error for EndpointError {}
