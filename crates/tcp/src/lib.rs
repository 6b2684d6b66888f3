//! TCP modelled on Linux 6.x. One [`Socket`] is one end of a connection: it is handed segments, timer expiries and
//! the application's calls with the time as an argument, and leaves packets and notices in an [`Outbox`].
//! Each concern is a file: a part with its own state, or a step of the socket (folder `socket`), which asks the parts in turn. It knows neither network nor path: whoever holds a socket carries its segments.
#![forbid(unsafe_code)]

mod ack_context;
mod agreed;
mod chrono;
pub mod config;
pub mod congestion;
mod counters;
mod delayed_ack;
mod outbox;
mod output;
mod peer_window;
mod prr;
mod rack;
mod rate;
mod receive_buffer;
mod receiver;
mod rtt;
mod sample;
mod scoreboard;
pub mod segment;
mod send_buffer;
mod socket;
mod timers;
mod timestamps;
mod tlp;
mod undo;
mod usage;

pub use config::Config;
pub use outbox::{Notice, Outbox};
pub use sample::SocketSample;
pub use segment::Segment;
pub use send_buffer::Writer;
pub use socket::{Socket, State};
