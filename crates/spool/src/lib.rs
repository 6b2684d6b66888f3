//! The formats in which an engine leaves what it measures while it runs. Each is written to any `io::Write`: nothing
//! here opens a file or reads a clock.
#![forbid(unsafe_code)]

pub mod cell;
pub mod link;
pub mod pcapng;
