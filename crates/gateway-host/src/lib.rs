//! One gateway on real sockets, in one thread: the session of `bentpipe-gateway` over the QUIC carrier of `bentpipe-carrier`.
//!
//! ```text
//! hosts - TCP - [connections  | session | carrier] - UDP - path - the other gateway
//!       - UDP - [associations |
//! ```
//!
//! The caller makes the sockets: a UDP socket that is bound, listeners for the hosts' TCP connections, and for each connection that the
//! other gateway asks for one that goes on, as for each UDP association ([`Onward`]). So the same code serves a laboratory, where sockets have other hosts' addresses,
//! and a daemon.
//!
//! One [`epoll`](gateway) instance wakes the thread: a packet, a host, the timer of the pacer, or the caller who ends it. Nothing waits
//! in queues of this crate: a host's socket is read as far as its flow has room, and a flow as far as its host takes bytes, so
//! that back-pressure goes from one host to the other. Datagrams of hosts wait in the session only, which drops the oldest of too many.
#![deny(unsafe_code)]

mod association;
mod associations;
mod carrier;
mod choice;
mod clock;
mod connection;
mod connections;
mod datagrams;
pub mod entrance;
mod flows;
mod gateway;
mod onward;
mod original_destination;
mod packet_ends;
pub mod probe;
mod report;
mod resolver;
mod setup;
mod socket_options;
mod tcp;
mod transparent_udp;
mod tun;
mod tun_device;
mod udp;
mod user;
mod user_counts;
mod users;
mod watch;

pub use choice::ChoiceConfig;
pub use entrance::Entrance;
pub use flows::{FlowReport, FlowState};
pub use gateway::{Gateway, Stop};
pub use onward::{Onward, PacketWay, reset_code};
pub use original_destination::transparent_udp;
pub use packet_ends::PacketEnds;
pub use report::{
    AssociationsReport, CarrierKind, CarrierReport, PacketsReport, Report, UdpReport,
};
pub use setup::{Listener, Setup, Tcp};
pub use tcp::far_sockets;
pub use tun_device::tun_device;
pub use users::{MOST_USERS, UserFigures, Users};
pub use watch::{Change, Watch};

use bentpipe_carrier::identity::PublicKey;
use bentpipe_gateway::Role;
use std::net::SocketAddr;

/// The other gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// This gateway is near: it connects to far, which has to have this key.
    Far { address: SocketAddr, key: PublicKey },
    /// This gateway is far: it accepts near, which has to have this key, from any address.
    Near { key: PublicKey },
}

impl Peer {
    /// Which of the two this gateway is.
    pub fn own_role(&self) -> Role {
        match self {
            Self::Far { .. } => Role::Near,
            Self::Near { .. } => Role::Far,
        }
    }
}
