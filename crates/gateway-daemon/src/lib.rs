//! The parts of `bentpipe-gateway`, the daemon at each end of a slow path. Its parsers can be reached by fuzzing.
pub mod access;
pub mod check;
pub mod config;
pub mod invitation;
mod keeper;
pub mod keys;
mod notify;
pub mod pair;
pub mod quantity;
mod reload;
mod routing;
mod rules;
pub mod run;
pub mod setup;
mod sockets;
pub mod state;
pub mod status;
mod tun;
