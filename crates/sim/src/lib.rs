//! The sim engine: hosts whose TCP is modelled on Linux 6.x, joined by the pipes of `bentpipe-path`, in virtual time. No I/O, no clock: the same specification and seed give the same bits on any machine.
#![forbid(unsafe_code)]

mod arrival;
mod connection;
mod departure;
pub mod event;
pub mod host;
pub mod near;
pub mod network;
pub mod packet;
mod place;
pub mod simulation;
pub mod sink;
pub mod terrestrial;
mod wakeup;
pub mod workload;
