//! How a workload opens a connection, says what it is for, and releases it.

use crate::connection::Connection;
use crate::network::capture::Numbers;
use crate::node::host::End;
use crate::packet::{ConnectionId, ServerId};
use crate::rows::Role;
use crate::seat::{Leg, Seat, Side};
use crate::world::World;

impl World {
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
        let server = Some(server);
        self.open(Side::Client, Leg::Whole, server, workload, server_port)
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
            self.connections.push(Connection::default());
            self.connections.len() as u32 - 1
        });
        let connection = &mut self.connections[index as usize];
        connection.generation += 1;
        connection.workload = workload;
        connection.flow = None;
        connection.role = Role::Data;
        connection.leg = leg;
        connection.open = true;
        let generation = connection.generation;
        let id = ConnectionId { index, generation };
        self.beside_tunnel.borrow_mut().open(id, workload);
        let numbers = Numbers {
            client_port,
            server_port,
            initial_seq,
        };
        self.network.recorder.open(id, numbers);
        for side in Side::BOTH {
            let seat = leg.seat(side);
            let end = End {
                id,
                side,
                workload,
                to: leg.seat(side.other()),
                server,
                settings: self.settings(workload, seat),
                listens: side != opener,
            };
            self.network.at_host(seat, |host, _, _| host.add(end));
        }
        self.network.at_host(leg.seat(opener), |host, now, out| {
            host.connect(now, id, out);
        });
        id
    }

    /// From now on the connection is this flow's.
    pub fn set_flow(&mut self, id: ConnectionId, flow: u64) {
        self.connections[id.index as usize].flow = Some(flow);
        self.touch(id);
    }

    pub fn set_role(&mut self, id: ConnectionId, role: Role) {
        self.connections[id.index as usize].role = role;
        self.touch(id);
    }

    /// The rows of its sockets are not what they were.
    fn touch(&mut self, id: ConnectionId) {
        let leg = self.connections[id.index as usize].leg;
        for side in Side::BOTH {
            if let Some(host) = self.network.host_mut(leg.seat(side)) {
                host.touch(id.index);
            }
        }
        for seat in [Seat::Near, Seat::Far] {
            if let Some(proxy) = self.network.proxy_mut(seat) {
                proxy.touch(id.index);
            }
        }
    }

    /// Client's and server's port.
    pub fn ports(&self, id: ConnectionId) -> (u16, u16) {
        let numbers = self.network.recorder.numbers(id);
        (numbers.client_port, numbers.server_port)
    }

    /// Frees a connection that both sides are done with; packets still under way find nobody.
    pub fn release(&mut self, id: ConnectionId) {
        let connection = &mut self.connections[id.index as usize];
        if connection.generation == id.generation && connection.open {
            connection.open = false;
            // A duplicate of its SYN that is still under way must not open it again.
            connection.generation += 1;
            let leg = connection.leg;
            for side in Side::BOTH {
                self.network
                    .at_host(leg.seat(side), |host, _, _| host.remove(id));
            }
            for seat in [Seat::Near, Seat::Far] {
                if let Some(proxy) = self.network.proxy_mut(seat) {
                    proxy.release(id);
                }
            }
            for gateway in self.gateways.iter().flatten() {
                gateway.0.borrow_mut().release(id);
            }
            self.free.push(id.index);
        }
    }
}
