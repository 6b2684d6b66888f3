//! The hosts, the pipes between them, and the connections: what the workloads act on.

use crate::event::EventQueue;
use crate::host::HostConfig;
use crate::near::Near;
use crate::packet::{ConnectionId, Kind, Packet};
pub use crate::place::{Host, Leg, Side};
use crate::sink::{Captured, FlowRow, IntervalRow, PingRow, SocketRow};
use crate::tcp::{Notice, Outbox, Socket, Writer};
use crate::terrestrial::{Line, ServerId};
use crate::wakeup::Wakeups;
use bentpipe_path::Pipe;
use bentpipe_path::time::Time;
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) enum Event {
    Timer(ConnectionId, Side),
    Application {
        workload: usize,
        token: u64,
    },
    Flush(Host),
    /// Something may leave the LAN between client and near at this end of it.
    Lan(Side),
    Line(ServerId, Side),
    Sample,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub generation: u32,
    workload: usize,
    pub leg: Leg,
    pub opener: Side,
    /// By side.
    pub sockets: [Option<Socket>; 2],
    /// The timer event in the queue that will look at each socket, if any.
    scheduled: [Time; 2],
    pub client_port: u16,
    pub server_port: u16,
    pub initial_seq: [u32; 2],
    /// The server it goes to, if that lies beyond the far end.
    pub server: Option<ServerId>,
}

/// An arrival held back to be joined with what follows.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    pub held: Option<Packet>,
    pub until: Time,
}

pub struct Network {
    pub(crate) now: Time,
    pub(crate) events: EventQueue<Event>,
    /// By [`Host`].
    pub(crate) hosts: [Arc<HostConfig>; Host::COUNT],
    /// By the side that a pipe leads to: `down` leads to the client.
    pub(crate) pipes: [Pipe<Packet>; 2],
    pub(crate) near: Option<Near>,
    pub(crate) mtu: u32,
    pub(crate) seed: u64,
    pub(crate) random: u64,
    /// By [`Host`].
    pub(crate) capture: [bool; Host::COUNT],
    pub(crate) connections: Vec<Connection>,
    free: Vec<u32>,
    next_port: u16,
    /// Lines towards the client and towards the server, of each server beyond the far end.
    pub(crate) servers: Vec<[Line; 2]>,
    pub(crate) coalescers: [Coalescer; Host::COUNT],
    pub(crate) wakeups: [Wakeups; Host::COUNT],
    pub(crate) outbox: Outbox,
    pub(crate) notices: VecDeque<(usize, ConnectionId, Side, Notice)>,
    pub(crate) echoes: VecDeque<(usize, u32)>,
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) intervals: Vec<IntervalRow>,
    pub(crate) pings: Vec<PingRow>,
    pub(crate) captured: Vec<Captured>,
    pub(crate) next_flow: u64,
}

impl Network {
    pub(crate) fn new(
        hosts: [Arc<HostConfig>; Host::COUNT],
        pipes: [Pipe<Packet>; 2],
        near: Option<Near>,
        mtu: u32,
        seed: u64,
        start: Time,
        capture: [bool; Host::COUNT],
    ) -> Self {
        let wakeups = [("client", 0), ("server", 1), ("near", 2)]
            .map(|(name, host)| Wakeups::new(hosts[host].wakeup_ns, seed, name));
        Self {
            now: start,
            wakeups,
            events: EventQueue::default(),
            hosts,
            pipes,
            near,
            mtu,
            seed,
            random: seed ^ 0x5851_f42d_4c95_7f2d,
            capture,
            connections: Vec::new(),
            free: Vec::new(),
            next_port: 40_000,
            servers: Vec::new(),
            coalescers: Default::default(),
            outbox: Outbox::default(),
            notices: VecDeque::new(),
            echoes: VecDeque::new(),
            flows: Vec::new(),
            intervals: Vec::new(),
            pings: Vec::new(),
            captured: Vec::new(),
            next_flow: 0,
        }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// A host's present, which is later while it wakes.
    pub(crate) fn present(&self, host: Host) -> Time {
        self.wakeups[host as usize].present(self.now)
    }

    /// The run's own random numbers (splitmix64).
    pub fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn flow_number(&mut self) -> u64 {
        self.next_flow += 1;
        self.next_flow - 1
    }

    // --- what a workload may do ---

    /// Calls the workload's `on_timer` with `token` at `at`.
    pub fn call_at(&mut self, at: Time, workload: usize, token: u64) {
        self.events
            .push(at.max(self.now), Event::Application { workload, token });
    }

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
        let host = &self.hosts[host as usize];
        let socket = Socket::connect(id, host, self.mtu, random, now, &mut out);
        self.outbox = out;
        self.connections[index as usize].sockets[opener as usize] = socket;
        self.settle(id, opener);
        id
    }

    pub fn write(&mut self, id: ConnectionId, side: Side, bytes: u64) {
        self.with_socket(id, side, |socket, now, out| socket.write(now, bytes, out));
    }

    /// How the application at this side writes from now on; otherwise until the send buffer is full.
    pub fn set_writer(&mut self, id: ConnectionId, side: Side, writer: Writer) {
        self.with_socket(id, side, |socket, _, _| socket.set_writer(writer));
    }

    pub fn stop_writing(&mut self, id: ConnectionId, side: Side) {
        self.with_socket(id, side, |socket, now, _| socket.stop_writing(now));
    }

    pub fn close(&mut self, id: ConnectionId, side: Side) {
        self.with_socket(id, side, Socket::close);
    }

    pub fn abort(&mut self, id: ConnectionId, side: Side) {
        self.with_socket(id, side, Socket::abort);
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

    /// An echo request of a workload; `payload` as in ping(8)'s -s.
    pub fn ping(&mut self, from: Side, workload: usize, sequence: u32, payload: u32) {
        let header = self.hosts[from as usize].ip_header();
        let packet = Packet {
            kind: Kind::EchoRequest,
            connection: ConnectionId {
                index: workload as u32,
                generation: sequence,
            },
            wire_bytes: header + 8 + payload,
            payload,
            segments: 1,
            ..Packet::default()
        };
        self.send(from, packet);
    }

    // --- within ---

    fn with_socket(
        &mut self,
        id: ConnectionId,
        side: Side,
        act: impl FnOnce(&mut Socket, Time, &mut Outbox),
    ) {
        if let Some(connection) = self.connections.get_mut(id.index as usize)
            && connection.generation == id.generation
            && let Some(socket) = connection.sockets[side as usize].as_mut()
        {
            let now = self.wakeups[connection.leg.host(side) as usize].present(self.now);
            act(socket, now, &mut self.outbox);
            self.settle(id, side);
        }
    }

    /// Passes on what a socket left, and sees that its next timer is in the queue.
    pub(crate) fn settle(&mut self, id: ConnectionId, side: Side) {
        let mut out = core::mem::take(&mut self.outbox);
        let leg = self.connections[id.index as usize].leg;
        for mut packet in out.packets.drain(..) {
            packet.leg = leg;
            self.send(side, packet);
        }
        let connection = &mut self.connections[id.index as usize];
        for notice in out.notices.drain(..) {
            self.notices
                .push_back((connection.workload, id, side, notice));
        }
        self.outbox = out;
        let next = connection.sockets[side as usize]
            .as_ref()
            .and_then(Socket::next_timer);
        if let Some(at) = next
            && at < connection.scheduled[side as usize]
        {
            connection.scheduled[side as usize] = at;
            self.events.push(at, Event::Timer(id, side));
        }
    }

    pub(crate) fn on_timer(&mut self, id: ConnectionId, side: Side) {
        let connection = &mut self.connections[id.index as usize];
        if connection.generation != id.generation || connection.scheduled[side as usize] > self.now
        {
            return;
        }
        let now = self.wakeups[connection.leg.host(side) as usize].present(self.now);
        connection.scheduled[side as usize] = Time::NEVER;
        if let Some(socket) = connection.sockets[side as usize].as_mut() {
            if socket.next_timer().is_some_and(|at| at <= now) {
                socket.on_timer(now, &mut self.outbox);
            }
            self.settle(id, side);
        }
    }

    /// A row for each open socket.
    pub(crate) fn sample(&self, mut take: impl FnMut(&SocketRow)) {
        for connection in &self.connections {
            for side in Side::BOTH {
                let Some(socket) = &connection.sockets[side as usize] else {
                    continue;
                };
                if socket.is_closed() {
                    continue;
                }
                let (local_port, remote_port) = match side {
                    Side::Client => (connection.client_port, connection.server_port),
                    Side::Server => (connection.server_port, connection.client_port),
                };
                let host = connection.leg.host(side);
                take(&SocketRow {
                    time: self.now,
                    host,
                    ip: self.hosts[host as usize].ip,
                    local_port,
                    remote_port,
                    sample: socket.sample(self.present(host)),
                });
            }
        }
    }
}
