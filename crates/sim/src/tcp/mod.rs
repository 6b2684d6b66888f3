//! TCP modelled on Linux 6.x. One [`Socket`] is one end of a connection: it is handed segments, timer expiries and
//! the application's calls with the time as an argument, and leaves packets and notices in an [`Outbox`].
//! Each concern is a file.

mod acceptability;
mod ack;
mod chrono;
mod delayed_ack;
mod handshake;
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
mod segment;
mod send_buffer;
mod socket;
mod timers;
mod tlp;
mod undo;
mod validation;

pub use sample::SocketSample;
pub use send_buffer::Writer;
pub use socket::{Notice, Outbox, Socket, State};
