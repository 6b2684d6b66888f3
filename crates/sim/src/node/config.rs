//! A machine: its TCP, and how its device hands up what arrives.

use bentpipe_path::time::Nanos;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostConfig {
    pub tcp: bentpipe_tcp::Config,
    /// Arrivals of one flow in sequence within this span are handed up as one (GRO, or a live datapath's
    /// super-packets). 0: each packet by itself.
    pub coalesce_ns: Nanos,
}

bentpipe_reading::read_struct!(HostConfig default { tcp, coalesce_ns });
