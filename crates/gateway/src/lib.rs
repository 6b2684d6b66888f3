//! The protocol between two gateways, *near* and *far*, at the ends of a long path. No I/O, no clock: time is an argument.
//! docs/gateway-protocol.md is its normative description.
//!
//! ```text
//! hosts - Session (near) - carrier = path = carrier - Session (far) - hosts
//! ```
//!
//! A [`Session`] carries [flows](FlowId): byte streams that end at both gateways, and [channels](Channel) for datagrams, which may be lost. What it sends crosses as datagrams, which the
//! erasure code of `bentpipe-fec` repairs, and as a few control messages, which a carrier delivers in order. The carrier below it (QUIC,
//! or TLS over TCP) authenticates and encrypts. [`null::Carrier`] does neither; it is for virtual time.
//!
//! After each call that changes a session, a driver asks [`Session::poll_control`], [`Session::poll_datagram`] and
//! [`Session::poll_event`] until they have nothing more, and calls again at [`Session::poll_timeout`].
#![forbid(unsafe_code)]

mod config;
mod datagram;
mod flow;
mod frame;
mod hello;
mod law;
pub mod null;
mod pacer;
mod probe;
mod record;
mod scheduler;
mod session;
mod standing;
mod target;
mod varint;

pub use config::{Config, ConfigError, Rate};
pub use datagram::{DATAGRAM_MAX_BYTES, Datagram, DatagramFrame, DatagramFrames, Piece};
pub use flow::FlowId;
pub use frame::{Frame, FrameError, Frames};
pub use hello::{CONTROL_MAX_BYTES, Control, Hello, OLDEST_VERSION, VERSION};
pub use record::{GatewayFigures, GatewayRedundancy};
pub use session::{
    DatagramFigures, Event, Figures, OpenError, Received, ResetCode, Role, Sent, Session, Why,
    packet_payload_max,
};
pub use target::{Channel, NamedTarget, Target, TargetError};
