//! bentpipe's gateways at near and far: TCP ends at both, and between them its bytes cross in one session of `bentpipe-gateway`.
//!
//! ```text
//! client - near = path = far - server
//!    '- TCP -' '-session-' '- TCP -'
//! ```
//!
//! 1. The carrier is the one without encryption (`bentpipe_gateway::null`), with headers as long as QUIC's over UDP.
//! 2. The session is established when the run begins: gateways run all day.
//! 3. A gateway is given a connection when the kernel has completed the handshake, as a program behind TPROXY is; far connects when the
//!    flow has come.
//! 4. A program costs no time of its own.
//! 5. UDP crosses in the session, in an association for each workload. Echoes cross beside it.
//! 6. Bytes cross as bytes, all of them zero: the code and the flows' credit work on them.
//! 7. All flows are one local user's.
//! 8. The packets of some workloads may cross beside the session, as they are ([`Beside`](crate::tunnel::Beside)).

mod associations;
mod end;
mod host_side;

pub use bentpipe_gateway::{GatewayFigures, GatewayRedundancy};
pub(crate) use end::{SharedEnd, pair};

use crate::node::config::HostConfig;
use bentpipe_gateway::Rate;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GatewayConfig {
    /// Of near's sockets towards the client, and of far's towards the servers.
    pub near: HostConfig,
    pub far: HostConfig,
    /// How fast far sends to near, and near to far.
    pub down_rate: Rate,
    pub up_rate: Rate,
    pub redundancy: GatewayRedundancy,
}

bentpipe_reading::read_struct!(GatewayConfig {
    near = default,
    far = default,
    down_rate,
    up_rate,
    redundancy = default,
});
