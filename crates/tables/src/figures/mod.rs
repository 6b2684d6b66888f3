//! The figures of a record, from a run's rows: how a pipe and its queue did, how long flows took. docs/results.md and
//! docs/queue-behaviour.md define them for readers.

mod autocorrelation;
mod flow_times;
mod named;
mod pipe;
mod queue;
mod statistics;

pub use flow_times::{FlowTimes, Span, Times, flow_times, pause_s};
pub use named::Named;
pub use pipe::{Bins, PipeFigures};
pub use queue::{QueueBehaviour, QueueQuestion, Retransmitting, queue_behaviour};
pub use statistics::percentile;
