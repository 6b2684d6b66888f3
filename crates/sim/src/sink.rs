//! Where a run's results go while it runs: nothing of them is kept inside, so memory does not grow with time.

use crate::rows::{Captured, DatagramRow, FailureRow, FlowRow, IntervalRow, PingRow, SocketRow};
use crate::seat::Side;
use crate::world::Sample;
use bentpipe_path::Bin;
use bentpipe_path::time::Time;
use core::ops::ControlFlow;

/// What takes the results. Every method has an empty default.
pub trait Sink {
    /// A finished bin of the pipe that leads to `to`.
    fn bin(&mut self, to: Side, bin: &Bin) {
        let _ = (to, bin);
    }
    /// The sockets at the instant of a sample. By default each open one is handed to [`socket`](Self::socket).
    fn sample(&mut self, sample: Sample<'_>) {
        sample.each(|seen| self.socket(&seen.row()));
    }
    /// An open socket, at every sample, in the order of their connections.
    fn socket(&mut self, row: &SocketRow) {
        let _ = row;
    }
    fn flow(&mut self, row: &FlowRow) {
        let _ = row;
    }
    fn interval(&mut self, row: &IntervalRow) {
        let _ = row;
    }
    fn ping(&mut self, row: &PingRow) {
        let _ = row;
    }
    /// In the order in which they came; those that never came last.
    fn datagram(&mut self, row: &DatagramRow) {
        let _ = row;
    }
    /// Of a workload that has no row in `flows` which could say it.
    fn failure(&mut self, row: &FailureRow) {
        let _ = row;
    }
    /// Called only for the hosts in `SimSpec::capture`.
    fn packet(&mut self, captured: &Captured) {
        let _ = captured;
    }
    /// Asked now and then, with the time that the run has reached; `Break` ends the run there.
    fn go_on(&mut self, now: Time) -> ControlFlow<()> {
        let _ = now;
        ControlFlow::Continue(())
    }
}

/// Takes nothing.
#[derive(Debug, Default)]
pub struct Discard;
impl Sink for Discard {}
