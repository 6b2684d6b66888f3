//! TCP modelled on Linux 6.x. One [`Socket`] is one end of a connection: it is handed segments, timer expiries and
//! the application's calls with the time as an argument, and leaves packets and notices in an [`Outbox`].
//! Each concern is a file. It knows neither network nor path: whoever holds a socket carries its segments.
#![forbid(unsafe_code)]

mod acceptability;
mod ack;
mod chrono;
pub mod config;
pub mod congestion;
mod delayed_ack;
mod handshake;
mod header;
mod invariants;
mod newreno;
mod output;
mod pacing;
mod prr;
mod rack;
mod rate;
mod receive_buffer;
mod receiver;
mod recovery;
mod retransmission;
mod rtt;
mod sack;
mod sample;
mod scoreboard;
pub mod segment;
mod send_buffer;
mod socket;
mod timers;
mod tlp;
mod undo;
mod validation;

pub use config::Config;
pub use sample::SocketSample;
pub use segment::Segment;
pub use send_buffer::Writer;
pub use socket::{Notice, Outbox, Socket, State};
