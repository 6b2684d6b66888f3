//! A run with its record and tables: runs a specification, writes what it measures to any `io::Write` as it comes
//! ([`run`], feature `parquet`) or keeps it as columns ([`ColumnRun`]), and lets the caller look on and stop it. Nothing here
//! opens a file.

mod columns;
mod figures;
mod flows;
mod packets;
mod pings;
#[cfg(feature = "parquet")]
mod recorder;
mod results;
mod socket_row;
#[cfg(feature = "parquet")]
mod sockets;
#[cfg(feature = "parquet")]
mod wire;

pub use columns::{ColumnRun, Request, TableColumns};
pub use packets::PacketQuestion;
#[cfg(feature = "parquet")]
pub use recorder::run;
pub use results::RunResults;

use bentpipe_tables::figures::QueueQuestion;
#[cfg(feature = "parquet")]
use std::io;

/// What the figures take that the simulation does not.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Of the pipes whose queue is asked about.
    pub down: Option<QueueQuestion>,
    pub up: Option<QueueQuestion>,
    /// A flow of so much fits in the initial window.
    pub small_bytes: u64,
}

bentpipe_reading::read_struct!(Question {
    down,
    up,
    small_bytes
});

/// Why a run gave nothing.
#[derive(Debug)]
pub enum RunError {
    /// The specification is no JSON of a [`SimSpec`], or one that cannot be run.
    Spec(String),
    /// A file cannot be written.
    #[cfg(feature = "parquet")]
    Write(io::Error),
    /// `go_on` said so.
    Stopped,
}

impl core::fmt::Display for RunError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Spec(why) => f.write_str(why),
            #[cfg(feature = "parquet")]
            Self::Write(error) => write!(f, "the run's folder cannot be written: {error}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl core::error::Error for RunError {}

#[cfg(feature = "parquet")]
impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}
