//! The driver of the `sim` engine: runs a specification, writes what it measures to files as it comes, and lets the
//! caller look on and stop it. The simulation itself does no I/O.
#![forbid(unsafe_code)]

mod flows;
mod outcome;
mod pings;
mod sockets;
mod spool;
mod wire;

pub use outcome::Outcome;

use bentpipe_path::time::Time;
use bentpipe_sim::simulation::{SimSpec, Simulation};
use core::ops::ControlFlow;
use spool::Spool;
use std::path::Path;

/// Why a run gave nothing.
#[derive(Debug)]
pub enum RunError {
    /// The specification is no JSON of a [`SimSpec`], or one that cannot be run.
    Spec(String),
    /// A file cannot be written.
    Spool(std::io::Error),
    /// `go_on` said so.
    Stopped,
}

impl core::fmt::Display for RunError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Spec(why) => f.write_str(why),
            Self::Spool(error) => write!(f, "the run's folder cannot be written: {error}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl core::error::Error for RunError {}

impl From<std::io::Error> for RunError {
    fn from(error: std::io::Error) -> Self {
        Self::Spool(error)
    }
}

/// Runs `spec`. `folder`, which exists, gets link.parquet, sockets.parquet, flows.parquet, pings.parquet and the captures asked
/// for;
/// `names` are the workloads'. `go_on` is told the run's time every few ten milliseconds of CPU.
pub fn run(
    spec: &SimSpec,
    names: &[String],
    folder: &Path,
    go_on: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Result<Outcome, RunError> {
    let simulation =
        Simulation::new(spec.clone()).map_err(|error| RunError::Spec(error.to_string()))?;
    let mut spool = Spool::create(folder, spec, names, go_on)?;
    let summary = simulation.run(&mut spool);
    spool.finish(&summary)
}
