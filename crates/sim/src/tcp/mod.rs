//! TCP modelled on Linux 6.x. One [`Socket`] is one end of a connection: it is handed segments, timer expiries and
//! the application's calls with the time as an argument, and leaves packets and notices in an [`Outbox`].
//! Each concern is a file.

mod ack;
mod chrono;
mod delayed_ack;
mod output;
mod rack;
mod rate;
mod receive_buffer;
mod receiver;
mod recovery;
mod rtt;
mod sack;
mod sample;
mod scoreboard;
mod send_buffer;
mod socket;
mod timers;
mod tlp;

pub use sample::SocketSample;
pub use socket::{Notice, Outbox, Socket, State};
