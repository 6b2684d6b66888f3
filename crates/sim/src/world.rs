//! What the workloads act on: the hosts at the ends of connections, the clock's calls, and the rows of results.

use crate::connection::Connection;
use crate::near::NearConfig;
use crate::network::Network;
use crate::packet::{ConnectionId, ServerId};
use crate::rows::{FlowRow, IntervalRow, PingRow, SocketRow};
pub use crate::seat::{Leg, Seat, Side};
use bentpipe_base::EventQueue;
use bentpipe_path::Terrestrial;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::{Config, Outbox, Socket, Writer};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) enum Call {
    Application { workload: usize, token: u64 },
    Sample,
}

/// What sockets are set to, by [`Seat`].
pub(crate) type Settings = [Arc<Config>; Seat::ALL.len()];

pub struct World {
    pub(crate) network: Network,
    /// Calls of workloads, and samples.
    pub(crate) calls: EventQueue<Call>,
    settings: Settings,
    /// By workload, where its sockets are set otherwise.
    own_settings: Vec<Option<Settings>>,
    pub(crate) near: Option<NearConfig>,
    pub(crate) seed: u64,
    pub(crate) connections: Vec<Connection>,
    pub(crate) free: Vec<u32>,
    pub(crate) next_port: u16,
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) intervals: Vec<IntervalRow>,
    pub(crate) pings: Vec<PingRow>,
    next_flow: u64,
}

impl World {
    pub(crate) fn new(
        network: Network,
        settings: Settings,
        near: Option<NearConfig>,
        seed: u64,
    ) -> Self {
        Self {
            network,
            calls: EventQueue::default(),
            settings,
            own_settings: Vec::new(),
            near,
            seed,
            connections: Vec::new(),
            free: Vec::new(),
            next_port: 40_000,
            flows: Vec::new(),
            intervals: Vec::new(),
            pings: Vec::new(),
            next_flow: 0,
        }
    }

    pub fn now(&self) -> Time {
        self.network.now()
    }

    /// IPv4 or IPv6.
    pub fn ip(&self) -> u8 {
        self.settings[Seat::Client as usize].ip
    }

    /// Changes what a workload's sockets will be set to.
    pub(crate) fn set_sockets(&mut self, workload: usize, change: impl Fn(&mut Config)) {
        let changed = |tcp: &Arc<Config>| {
            let mut tcp = Config::clone(tcp);
            change(&mut tcp);
            Arc::new(tcp)
        };
        if self.own_settings.len() <= workload {
            self.own_settings.resize(workload + 1, None);
        }
        self.own_settings[workload] = Some(self.settings.each_ref().map(changed));
    }

    pub(crate) fn settings(&self, workload: usize, seat: Seat) -> Arc<Config> {
        let own = self.own_settings.get(workload).and_then(Option::as_ref);
        Arc::clone(&own.unwrap_or(&self.settings)[seat as usize])
    }

    /// The run's own random numbers.
    pub fn random(&mut self) -> u64 {
        self.network.out.random()
    }

    pub fn flow_number(&mut self) -> u64 {
        self.next_flow += 1;
        self.next_flow - 1
    }

    // --- what a workload may do ---

    /// Calls the workload's `on_timer` with `token` at `at`.
    pub fn call_at(&mut self, at: Time, workload: usize, token: u64) {
        let at = at.max(self.now());
        self.calls.push(at, Call::Application { workload, token });
    }

    pub fn write(&mut self, id: ConnectionId, side: Side, bytes: u64) {
        self.at_socket(id, side, |socket, now, out| socket.write(now, bytes, out));
    }

    /// How the application at this side writes from now on; otherwise until the send buffer is full.
    pub fn set_writer(&mut self, id: ConnectionId, side: Side, writer: Writer) {
        self.at_socket(id, side, |socket, _, _| socket.set_writer(writer));
    }

    /// `TCP_NODELAY` on the socket at this side.
    pub fn set_nodelay(&mut self, id: ConnectionId, side: Side) {
        self.at_socket(id, side, |socket, _, _| socket.set_nodelay());
    }

    pub fn stop_writing(&mut self, id: ConnectionId, side: Side) {
        self.at_socket(id, side, |socket, now, _| socket.stop_writing(now));
    }

    pub fn close(&mut self, id: ConnectionId, side: Side) {
        self.at_socket(id, side, Socket::close);
    }

    pub fn abort(&mut self, id: ConnectionId, side: Side) {
        self.at_socket(id, side, Socket::abort);
    }

    /// An echo request of a workload; `payload` as in ping(8)'s -s.
    pub fn ping(&mut self, from: Side, workload: usize, sequence: u32, payload: u32) {
        let id = ConnectionId {
            index: workload as u32,
            generation: sequence,
        };
        let to = from.other().into();
        self.network.at_host(from.into(), |host, now, out| {
            host.ping(now, to, id, payload, out);
        });
    }

    /// A server behind these delays, to the client and from it. `None`: there are too many.
    pub fn add_server(&mut self, down: Terrestrial, up: Terrestrial) -> Option<ServerId> {
        self.network.add_server(up, down)
    }

    pub fn socket(&self, id: ConnectionId, side: Side) -> Option<&Socket> {
        let connection = self.connections.get(id.index as usize)?;
        self.network.host(connection.leg.seat(side))?.socket(id)
    }

    fn at_socket(
        &mut self,
        id: ConnectionId,
        side: Side,
        act: impl FnOnce(&mut Socket, Time, &mut Outbox),
    ) {
        if let Some(connection) = self.connections.get(id.index as usize) {
            let seat = connection.leg.seat(side);
            self.network.at_host(seat, |host, now, out| {
                host.act(now, id, out, act);
            });
        }
    }

    /// Shows each open socket.
    pub(crate) fn sample(&self, mut see: impl FnMut(&SeenSocket<'_>)) {
        let hosts = Seat::ALL.map(|seat| self.network.host(seat));
        for (index, connection) in (0..).zip(&self.connections) {
            let generation = connection.generation;
            let id = ConnectionId { index, generation };
            for side in Side::BOTH {
                let host = connection.leg.seat(side);
                let found = hosts[host as usize].and_then(|host| host.watched_socket(id));
                let Some((socket, changes)) = found.filter(|(socket, _)| !socket.is_closed())
                else {
                    continue;
                };
                see(&SeenSocket {
                    world: self,
                    connection,
                    socket,
                    time: self.now(),
                    id,
                    side,
                    host,
                    changes,
                });
            }
        }
    }
}

/// An open socket at the instant of a sample.
#[derive(Clone, Copy)]
pub struct SeenSocket<'a> {
    world: &'a World,
    connection: &'a Connection,
    socket: &'a Socket,
    pub time: Time,
    pub id: ConnectionId,
    /// Which of the connection's ends it is.
    pub side: Side,
    pub host: Seat,
    /// How often something has happened to it: as long as that stays, only [`waits`](Self::waits) differs.
    changes: u64,
}

impl SeenSocket<'_> {
    /// What its row is of: if that is the same, so is the row, but for its time and [`waits`](Self::waits).
    pub fn version(&self) -> (ConnectionId, Option<u64>, u64) {
        (self.id, self.connection.flow, self.changes)
    }

    /// How long it has been busy, and of that waiting for the peer's window and for room in the send buffer.
    pub fn waits(&self) -> [Nanos; 3] {
        self.socket.waits(self.world.network.present(self.host))
    }

    #[inline]
    pub fn row(&self) -> SocketRow {
        let (client_port, server_port) = self.world.ports(self.id);
        let (local_port, remote_port) = match self.side {
            Side::Client => (client_port, server_port),
            Side::Server => (server_port, client_port),
        };
        SocketRow {
            time: self.time,
            id: self.id,
            side: self.side,
            host: self.host,
            workload: self.connection.workload,
            flow: self.connection.flow,
            role: self.connection.role,
            ip: self.world.settings[self.host as usize].ip,
            local_port,
            remote_port,
            sample: self.socket.sample(self.world.network.present(self.host)),
        }
    }
}
