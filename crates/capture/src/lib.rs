//! Captures of packets, and what their TCP connections did.
//!
//! [`FileReader`] reads pcap and pcapng from bytes that are handed over piece by piece; [`Analysis`] follows every TCP connection
//! in one pass and in bounded memory; [`Connection`] and its two [`flow::Flow`]s are what it found. There is no I/O and no clock,
//! and any bytes may be given: what is wrong is a [`CaptureError`] that names the place, never a panic.
#![forbid(unsafe_code)]

mod analysis;
mod clock_steps;
mod connection;
mod connections;
mod copies;
mod error;
mod file;
pub mod flow;
mod ip_checksums;
mod link;
mod report;
mod segment;
mod time_order;
mod vantage;

pub use analysis::{Analysis, Capture, PacketCounts};
pub use connection::{Connection, Offered};
pub use connections::GivenUp;
pub use error::CaptureError;
pub use file::{CapturedPacket, FileNotes, FileReader, MAX_BLOCK_BYTES, Step};
pub use link::{Carried, LinkType};
pub use report::{CaptureFacts, FlowColumns, FlowFacts};
pub use segment::{Endpoint, NotTcp, Options, Segment};
pub use vantage::{Vantage, vantage};
