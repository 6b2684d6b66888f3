//! A coded tunnel around a path, as both engines run and measure it: whole IP packets enter at one end and leave at the other, coded
//! by `bentpipe-fec`. No I/O, no clock: time is an argument.
//!
//! A [`Crossing`] is one direction. Whoever drives it carries its frames across the path, and puts headers of IP and UDP before
//! them ([`outer_bytes`]).
#![forbid(unsafe_code)]

mod config;
mod crossing;
mod delays;
mod figures;

pub use config::{ExactRepair, Redundancy, TunnelConfig, inner_mtu, outer_bytes};
pub use crossing::Crossing;
pub use figures::{PerSecond, TunnelFigures};
