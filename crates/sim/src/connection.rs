//! Connections: opened by a workload, known by a place in a slab that is used again.

use crate::network::{Leg, Network, Side};
use crate::packet::ConnectionId;
use crate::sink::Role;
use crate::terrestrial::ServerId;
use bentpipe_path::time::Time;
use bentpipe_tcp::Socket;

#[derive(Debug)]
pub(crate) struct Connection {
    pub generation: u32,
    pub workload: usize,
    /// The latest flow that it was given to.
    pub flow: Option<u64>,
    pub role: Role,
    pub leg: Leg,
    pub opener: Side,
    /// By side.
    pub sockets: [Option<Socket>; 2],
    /// The timer event in the queue that will look at each socket, if any.
    pub scheduled: [Time; 2],
    pub client_port: u16,
    pub server_port: u16,
    pub initial_seq: [u32; 2],
    /// The server it goes to, if that lies beyond the far end.
    pub server: Option<ServerId>,
}

impl Network {
    /// Opens a connection from the client; the server's socket appears when the SYN gets there.
    pub fn connect(&mut self, workload: usize, server_port: u16) -> ConnectionId {
        self.open(Side::Client, Leg::Whole, None, workload, server_port)
    }

    /// The same on another leg, from its client's end.
    pub fn connect_on(&mut self, leg: Leg, workload: usize, server_port: u16) -> ConnectionId {
        self.open(Side::Client, leg, None, workload, server_port)
    }

    /// The same from either side, to `port` at the other.
    pub fn connect_from(&mut self, opener: Side, workload: usize, port: u16) -> ConnectionId {
        self.open(opener, Leg::Whole, None, workload, port)
    }

    /// From the client to a server that lies beyond the far end.
    pub fn connect_to(
        &mut self,
        server: ServerId,
        workload: usize,
        server_port: u16,
    ) -> ConnectionId {
        self.open(
            Side::Client,
            Leg::Whole,
            Some(server),
            workload,
            server_port,
        )
    }

    fn open(
        &mut self,
        opener: Side,
        leg: Leg,
        server: Option<ServerId>,
        workload: usize,
        port: u16,
    ) -> ConnectionId {
        let initial_seq = [self.random() as u32, self.random() as u32];
        let (client_port, server_port) = match opener {
            Side::Client => (self.next_port, port),
            Side::Server => (port, self.next_port),
        };
        self.next_port = if self.next_port >= 60_999 {
            32_768
        } else {
            self.next_port + 1
        };
        let index = self.free.pop().unwrap_or_else(|| {
            self.connections.push(Connection {
                generation: 0,
                workload,
                flow: None,
                role: Role::Data,
                leg,
                opener,
                sockets: [None, None],
                scheduled: [Time::NEVER; 2],
                client_port,
                server_port,
                initial_seq,
                server,
            });
            self.connections.len() as u32 - 1
        });
        let connection = &mut self.connections[index as usize];
        connection.generation += 1;
        connection.workload = workload;
        connection.flow = None;
        connection.role = Role::Data;
        connection.leg = leg;
        connection.opener = opener;
        connection.client_port = client_port;
        connection.server_port = server_port;
        connection.initial_seq = initial_seq;
        connection.server = server;
        connection.scheduled = [Time::NEVER; 2];
        let id = ConnectionId {
            index,
            generation: connection.generation,
        };
        let random = self.random();
        let mut out = core::mem::take(&mut self.outbox);
        let host = leg.host(opener);
        let now = self.present(host);
        let settings = self.settings(workload, host);
        let socket = Socket::connect(&settings, self.mtu, random, now, &mut out);
        self.outbox = out;
        self.connections[index as usize].sockets[opener as usize] = socket;
        self.settle(id, opener);
        id
    }

    /// From now on the connection is this flow's.
    pub fn set_flow(&mut self, id: ConnectionId, flow: u64) {
        self.connections[id.index as usize].flow = Some(flow);
    }

    pub fn set_role(&mut self, id: ConnectionId, role: Role) {
        self.connections[id.index as usize].role = role;
    }

    pub fn socket(&self, id: ConnectionId, side: Side) -> Option<&Socket> {
        let connection = self.connections.get(id.index as usize)?;
        (connection.generation == id.generation)
            .then(|| connection.sockets[side as usize].as_ref())
            .flatten()
    }

    /// Client's and server's port.
    pub fn ports(&self, id: ConnectionId) -> (u16, u16) {
        let connection = &self.connections[id.index as usize];
        (connection.client_port, connection.server_port)
    }

    /// Frees a connection that both sides are done with; packets still under way find nobody.
    pub fn release(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id.index as usize];
        if connection.generation == id.generation && connection.sockets.iter().any(Option::is_some)
        {
            connection.sockets = [None, None];
            // A duplicate of its SYN that is still under way must not open it again.
            connection.generation += 1;
            self.free.push(id.index);
        }
    }
}
