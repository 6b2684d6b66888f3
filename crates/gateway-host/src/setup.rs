//! What a gateway is made of.

use crate::choice::ChoiceConfig;
use crate::onward::Onward;
use crate::{Entrance, Peer};
use bentpipe_carrier::identity::Identity;
use bentpipe_carrier::quic;
use bentpipe_gateway::Config;
use std::fmt;
use std::os::fd::OwnedFd;
use std::time::Instant;

/// A TCP socket that listens and does not block, and how its connections say where they lead.
#[derive(Debug)]
pub struct Listener {
    pub socket: OwnedFd,
    pub entrance: Entrance,
}

impl From<OwnedFd> for Listener {
    fn from(socket: OwnedFd) -> Self {
        Self {
            socket,
            entrance: Entrance::Address,
        }
    }
}

/// What a gateway is made of.
pub struct Setup {
    pub session: Config,
    pub carrier: quic::Config,
    pub identity: Identity,
    pub peer: Peer,
    /// Towards the other gateway: bound, and does not block.
    pub udp: OwnedFd,
    /// TLS over TCP, for where UDP is blocked. `None`: the session goes over QUIC only.
    pub tcp: Option<Tcp>,
    pub choice: ChoiceConfig,
    /// At most 8.
    pub listeners: Vec<Listener>,
    /// Near: where TPROXY hands over hosts' datagrams to any address, at most 8 ([`crate::transparent_udp`]).
    pub transparent_udp: Vec<OwnedFd>,
    /// A TUN device for whole packets ([`crate::tun_device`]). Far needs `takes_ip` of the session's settings, too.
    pub tun: Option<OwnedFd>,
    pub onward: Box<dyn Onward + Send>,
    /// Hosts' connections that may be open at once, if descriptors suffice, and as many associations.
    pub most_connections: usize,
    /// UDP associations that one user may have open at once.
    pub most_user_associations: usize,
    /// Told of the payload that hosts were given, as it happens.
    pub on_delivered: Option<Box<dyn FnMut(Instant, u64) + Send>>,
    /// For tests and benches: asked for each UDP packet that is to be sent whether the path loses it.
    pub loses: Option<Box<dyn FnMut() -> bool + Send>>,
}

/// This gateway's part in TLS over TCP.
#[derive(Debug)]
pub enum Tcp {
    /// Near connects to far's address, where UDP gets no answer.
    Connect,
    /// Far listens with a socket that does not block, on the same port as with UDP: see [`crate::far_sockets`].
    Listen(OwnedFd),
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("peer", &self.peer)
            .finish_non_exhaustive()
    }
}
