//! A host between the client and the path, and the LAN that joins it to the client, as the specification has them.

use crate::node::config::HostConfig;
use bentpipe_path::config::PipeConfig;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NearConfig {
    pub host: HostConfig,
    /// The LAN's pipes, to the client and from it.
    pub down: PipeConfig,
    pub up: PipeConfig,
    /// What the web cache of each workload holds there; none if `None`.
    pub cache_bytes: Option<u64>,
}

bentpipe_reading::read_struct!(NearConfig {
    host = default,
    down = default,
    up = default,
    cache_bytes,
});
