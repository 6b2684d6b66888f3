//! TCP ended at near and at far, as a pair of performance-enhancing proxies does (RFC 3135): each connection becomes three,
//! and the one across the path has settings of its own. The hosts see each other's addresses and ports.
//!
//! ```text
//! client - near = path = far - server
//!    '-- 1 --' '--- 2 ---' '-- 3 --'
//! ```
//!
//! The model is a program on Linux behind TPROXY. It is given a connection when the kernel has completed the handshake, so each
//! connects onward only then. It relays with back pressure: it reads as much as the other socket's send buffer takes, and holds
//! [`BLOCK`] bytes at most that do not fit (the pipe of splice(2)). A FIN is passed on when all before it has been, a failed
//! connection (RST, or a timeout) at once as a RST.
//!
//! 1. The program costs no time of its own. The machine's wake-ups are those of a host.
//! 2. Echoes and datagrams pass as if nothing were there.
//! 3. There is no limit to the number of connections, and no idle timeout.
//! 4. When the workload is done with a connection (both of its hosts have closed it, or one has failed) the proxies forget it too,
//!    with what they have still to send.

mod end;
mod figures;
mod proxy;
mod relay;

pub(crate) use end::SplitEnd;
pub use figures::SplitFigures;
pub(crate) use proxy::Proxy;

use crate::node::config::HostConfig;
use crate::seat::{Seat, Side};
use serde::Serialize;

/// The most that a proxy holds of a direction beside its sockets' buffers, in bytes.
const BLOCK: u64 = 64 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SplitConfig {
    /// Of near's sockets towards the client, and of its machine.
    pub near: HostConfig,
    /// Of far's sockets towards the servers, and of its machine.
    pub far: HostConfig,
    /// Of the sockets at both ends of the path.
    pub path: HostConfig,
}

bentpipe_reading::read_struct!(SplitConfig default { near, far, path });

/// Which of a relayed connection's two sockets at a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Facing {
    /// Towards the client, or the servers.
    Host,
    Path,
}

impl Facing {
    pub const BOTH: [Self; 2] = [Self::Host, Self::Path];

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Host => Self::Path,
            Self::Path => Self::Host,
        }
    }

    /// Of the socket at `seat` that stands at this side of its own connection.
    pub fn of(seat: Seat, side: Side) -> Self {
        if (seat == Seat::Near) == (side == Side::Client) {
            Self::Path
        } else {
            Self::Host
        }
    }
}

/// Where the sockets of a connection that is split stand, and at which side of their own connection, along the way.
pub(crate) const ENDS: [(Seat, Side); 6] = [
    (Seat::Client, Side::Client),
    (Seat::Near, Side::Server),
    (Seat::Near, Side::Client),
    (Seat::Far, Side::Server),
    (Seat::Far, Side::Client),
    (Seat::Server, Side::Server),
];
