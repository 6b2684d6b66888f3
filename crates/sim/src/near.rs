//! A host between the client and the path, and the LAN that joins it to the client, as the specification has them.

use crate::node::config::HostConfig;
use bentpipe_path::config::PipeConfig;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearConfig {
    #[serde(default)]
    pub host: HostConfig,
    /// The LAN's pipes, to the client and from it.
    #[serde(default)]
    pub down: PipeConfig,
    #[serde(default)]
    pub up: PipeConfig,
    /// What the web cache of each workload holds there; none if `None`.
    pub cache_bytes: Option<u64>,
}
