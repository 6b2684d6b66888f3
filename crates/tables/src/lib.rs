//! The tables that a run leaves behind, and the formats that they are written in.
//!
//! Each table is a file here and a row type with its columns as fields, said once: name (with its unit), type, whether
//! it may be null, meaning. Both engines fill the rows; Python reads the columns from [`TABLES`].
//! What could not be known is null, never zero. Times are seconds on the run's own clock, whose zero is where the lab's
//! `start = "0 s"` lies: what happened before it is negative.
//!
//! Rows go to any `io::Write`: nothing here opens a file or reads a clock.
#![forbid(unsafe_code)]

mod column;
pub mod csv;
pub mod figures;
mod flow;
mod link;
mod packet;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod pcapng;
mod ping;
#[cfg(feature = "parquet")]
pub mod samples;
mod socket;
mod tool;

pub use column::{Cell, Column, Kind, Raw, Table};
pub use flow::Flow;
pub use link::Link;
pub use packet::Packet;
pub use ping::Ping;
pub use socket::Socket;
pub use tool::Tool;

/// Every table of a run's folder, in the order in which they are documented.
pub const TABLES: [Table; 5] = [
    Link::TABLE,
    Socket::TABLE,
    Flow::TABLE,
    Ping::TABLE,
    Tool::TABLE,
];
