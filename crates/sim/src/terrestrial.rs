//! Beyond the far end: each server at its own delay, both ways.
//!
//! The order of packets between the far end and one server is kept, so the order within a flow is. A server's packets
//! wait for each other, not for those of other servers. Captures at the server are taken at the far end, where packets of
//! all servers pass.

use crate::network::{Event, Host, Network, Side};
use crate::packet::{Body, ConnectionId, Packet};
use bentpipe_path::Terrestrial;
use bentpipe_path::time::Time;
use std::collections::VecDeque;

/// Names a server added by [`Network::add_server`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerId(u32);

/// One direction between the far end and a server.
#[derive(Debug)]
pub(crate) struct Line {
    delay: Terrestrial,
    under_way: VecDeque<(Time, Packet)>,
}

impl Line {
    fn new(delay: Terrestrial) -> Self {
        Self {
            delay,
            under_way: VecDeque::new(),
        }
    }
}

impl Network {
    /// A server behind these delays, to the client and from it.
    pub fn add_server(&mut self, down: Terrestrial, up: Terrestrial) -> ServerId {
        self.servers.push([Line::new(down), Line::new(up)]);
        ServerId(self.servers.len() as u32 - 1)
    }

    fn server_of(&self, id: ConnectionId) -> Option<ServerId> {
        let connection = self.connections.get(id.index as usize)?;
        (connection.generation == id.generation)
            .then_some(connection.server)
            .flatten()
    }

    /// Whether a packet that leaves the path has a line to a server before it. It does not wake the far end's host then: the
    /// server is woken when the packet leaves the line.
    pub(crate) fn goes_beyond(&self, to: Side, packet: &Packet) -> bool {
        to == Side::Server
            && matches!(packet.body, Body::Tcp(_))
            && self.server_of(packet.connection).is_some()
    }

    /// Puts a packet on its server's line towards `to`, or gives it back if there is none between.
    pub(crate) fn enter_line(&mut self, to: Side, packet: Packet) -> Option<Packet> {
        let Some(server) = self.server_of(packet.connection) else {
            return Some(packet);
        };
        // What a server sends leaves it in the host's present, which is later than the network's while the host wakes.
        let enters = match to {
            Side::Client => self.present(Host::Server),
            Side::Server => self.now,
        };
        let line = &mut self.servers[server.0 as usize][to as usize];
        let leaves = line.delay.leaves(enters);
        if line.under_way.is_empty() {
            self.events.push(leaves, Event::Line(server, to));
        }
        line.under_way.push_back((leaves, packet));
        None
    }

    /// The first packet on a line has come to its end.
    pub(crate) fn leave_line(&mut self, server: ServerId, to: Side) {
        let now = self.now;
        loop {
            let line = &mut self.servers[server.0 as usize][to as usize];
            let Some(&(leaves, packet)) = line.under_way.front() else {
                return;
            };
            if leaves > now {
                self.events.push(leaves, Event::Line(server, to));
                return;
            }
            line.under_way.pop_front();
            match to {
                Side::Client => self.transmit(Host::Server, to, packet),
                Side::Server => {
                    self.wakeups[Host::Server as usize].arrival(now);
                    if let Body::Tcp(segment) = packet.body {
                        self.coalesce(Host::Server, packet.connection, to, segment);
                    }
                }
            }
        }
    }
}
