//! A run with its record and tables: runs a specification, writes what it measures to any `io::Write` as it comes, and
//! lets the caller look on and stop it. Nothing here opens a file.

mod columns;
mod figures;
mod flows;
mod pings;
mod recorder;
mod results;
mod sockets;
mod wire;

pub use columns::{ColumnRun, Request, TableColumns};
pub use results::RunResults;

use crate::simulation::Simulation;
use crate::spec::SimSpec;
use bentpipe_path::time::Time;
use bentpipe_tables::figures::QueueQuestion;
use core::ops::ControlFlow;
use recorder::Recorder;
use serde::Deserialize;
use std::io::{self, Write};

/// What the figures take that the simulation does not.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Question {
    /// Of the pipes whose queue is asked about.
    pub down: Option<QueueQuestion>,
    pub up: Option<QueueQuestion>,
    /// A flow of so much fits in the initial window.
    pub small_bytes: u64,
}

/// Why a run gave nothing.
#[derive(Debug)]
pub enum RunError {
    /// The specification is no JSON of a [`SimSpec`], or one that cannot be run.
    Spec(String),
    /// A file cannot be written.
    Write(io::Error),
    /// `go_on` said so.
    Stopped,
}

impl core::fmt::Display for RunError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Spec(why) => f.write_str(why),
            Self::Write(error) => write!(f, "the run's folder cannot be written: {error}"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl core::error::Error for RunError {}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Runs `spec`, whose workloads have these names. `create` is asked for something to write each file to: link.parquet,
/// sockets.parquet, flows.parquet, pings.parquet and the captures asked for. `go_on` is told the run's time every few ten
/// milliseconds of CPU. Returns what the run amounted to and the tables by their names.
#[expect(clippy::type_complexity, reason = "a list of names and what they name")]
pub fn run<W: Write + Send>(
    spec: &SimSpec,
    names: &[String],
    question: &Question,
    create: impl FnMut(&str) -> io::Result<W>,
    go_on: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Result<(RunResults, Vec<(&'static str, W)>), RunError> {
    let simulation =
        Simulation::new(spec.clone()).map_err(|error| RunError::Spec(error.to_string()))?;
    let mut recorder = Recorder::create(spec, names, question, create, go_on)?;
    let summary = simulation.run(&mut recorder);
    recorder.finish(&summary)
}
