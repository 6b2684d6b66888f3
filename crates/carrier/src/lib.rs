//! What carries a gateway's session between its two ends: QUIC over UDP, or TLS 1.3 over a TCP byte stream. No I/O and no clock: the
//! driver above owns the sockets, and `now` is an argument.
//!
//! Both carry the same two kinds of messages:
//!
//! - **datagrams**, of at most `max_datagram` bytes: the coded bulk data. They can be lost and reordered. The carrier itself does not drop
//!   one in silence: a full queue is an error of the sender ([`SendError::Full`]), and what else is dropped is counted.
//! - **control messages**, of at most 16 KiB: reliable and in order.
//!
//! The session has its own pacer and its own control law, so the carrier does not limit the rate. Both ends prove that they have an
//! Ed25519 key that the other end knows ([`identity`]). There is no 0-RTT: nothing can be replayed.
//!
//! docs/gateway-carriers.md says what is on the wire.
#![forbid(unsafe_code)]

#[cfg(feature = "protocols")]
mod base64;
#[cfg(feature = "protocols")]
mod event;
pub mod framing;
#[cfg(feature = "protocols")]
pub mod identity;
#[cfg(feature = "protocols")]
pub mod pool;
#[cfg(feature = "protocols")]
pub mod quic;
#[cfg(feature = "protocols")]
pub mod tls;
#[cfg(feature = "protocols")]
mod trust;

#[cfg(feature = "protocols")]
pub use event::{Event, PeerId, SendError, Why};

/// The name of the protocol and its version: the ALPN of both carriers.
pub const PROTOCOL: &str = "bentpipe/1";
