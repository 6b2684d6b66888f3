//! One direction of a long path: ingress, queue, shaper, propagation, channel, and a meter over them.
//!
//! Nothing here does I/O, reads a clock, or allocates per packet once warm. Time is an argument.

pub mod config;
pub mod packet;
pub mod time;
