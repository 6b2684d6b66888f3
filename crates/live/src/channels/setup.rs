//! One workload's setup, and what its threads need to know of the run.

use crate::clock::monotonic_ns;
use crate::family::Family;
use bentpipe_path::time::Nanos;
use bentpipe_workloads::Distribution;
use serde::Deserialize;
use std::path::PathBuf;

/// The servers' port, as in the simulator.
pub(super) const PORT: u16 = 5001;

/// One workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelsSetup {
    pub name: String,
    pub start_ns: i64,
    /// The run's end, where it is known beforehand.
    pub end_ns: Option<i64>,
    pub channels: u32,
    pub servers: u32,
    /// Of a flow, in bytes.
    pub size: Distribution,
    /// One way between the far end and each server, in nanoseconds, and its standard deviation per packet.
    pub terrestrial_delay: Distribution,
    pub terrestrial_jitter_ns: Nanos,
    /// Between the end of a flow and the channel's next connection.
    pub think_ns: Nanos,
    pub ip: Family,
    /// Programs between client and servers open each connection again, from a port of their own. So the client says its port in the
    /// first two bytes, and the server knows it by them.
    #[serde(default)]
    pub client_says_port: bool,
    /// Where the flows go, one row each.
    pub flows_csv: PathBuf,
}

/// What a workload's threads need to know of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub seed: u64,
    /// The number of the workload's first server among the run's.
    pub first_server: u32,
    pub zero_monotonic_ns: i64,
}

impl Place {
    /// Nanoseconds on the run's clock.
    pub fn now_ns(&self) -> i64 {
        monotonic_ns() - self.zero_monotonic_ns
    }
}
