//! The sim engine: hosts whose TCP is modelled on Linux 6.x, joined by the pipes of `bentpipe-path`, in virtual time. No I/O, no clock: the same specification and seed give the same bits on any machine.
#![forbid(unsafe_code)]

mod clock;
mod connect;
mod connection;
pub mod gateway;
pub mod near;
mod network;
pub mod node;
pub mod packet;
pub mod pair;
pub mod record;
pub mod rows;
pub mod seat;
pub mod simulation;
pub mod sink;
pub mod spec;
pub mod spec_error;
pub mod split;
mod standard;
pub mod tunnel;
pub mod workload;
pub mod world;
