//! The hosts, the pipes between them, and the connections: what the workloads act on.

use crate::connection::Connection;
use crate::event::EventQueue;
use crate::host::HostConfig;
use crate::near::Near;
use crate::packet::{Body, ConnectionId, Echo, Packet};
pub use crate::place::{Host, Leg, Side};
use crate::sink::{Captured, FlowRow, IntervalRow, PingRow, SocketRow};
use crate::terrestrial::{Line, ServerId};
use crate::wakeup::Wakeups;
use bentpipe_base::SplitMix64;
use bentpipe_path::Pipe;
use bentpipe_path::time::Time;
use bentpipe_tcp::segment::Segment;
use bentpipe_tcp::{Notice, Outbox, Socket, Writer};
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

/// An arrival held back to be joined with what follows.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    pub held: Option<(ConnectionId, Side, Segment)>,
    pub until: Time,
}

/// By [`Host`].
pub(crate) type Settings = [Arc<bentpipe_tcp::Config>; Host::COUNT];

pub struct Network {
    pub(crate) now: Time,
    pub(crate) events: EventQueue<Event>,
    /// By [`Host`].
    pub(crate) hosts: [HostConfig; Host::COUNT],
    /// What their sockets are set to, and by workload, where its sockets are set otherwise.
    settings: Settings,
    own_settings: Vec<Option<Settings>>,
    /// By the side that a pipe leads to: `down` leads to the client.
    pub(crate) pipes: [Pipe<Packet>; 2],
    pub(crate) near: Option<Near>,
    pub(crate) mtu: u32,
    pub(crate) seed: u64,
    pub(crate) random: SplitMix64,
    /// By [`Host`].
    pub(crate) capture: [bool; Host::COUNT],
    pub(crate) connections: Vec<Connection>,
    pub(crate) free: Vec<u32>,
    pub(crate) next_port: u16,
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
        hosts: [HostConfig; Host::COUNT],
        pipes: [Pipe<Packet>; 2],
        near: Option<Near>,
        mtu: u32,
        seed: u64,
        start: Time,
        capture: [bool; Host::COUNT],
    ) -> Self {
        let wakeups = [("client", 0), ("server", 1), ("near", 2)]
            .map(|(name, host)| Wakeups::new(hosts[host].tcp.wakeup_ns, seed, name));
        Self {
            now: start,
            wakeups,
            events: EventQueue::default(),
            settings: hosts.each_ref().map(|host| Arc::new(host.tcp.clone())),
            hosts,
            own_settings: Vec::new(),
            pipes,
            near,
            mtu,
            seed,
            random: SplitMix64(seed ^ 0x5851_f42d_4c95_7f2d),
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

    /// Changes what a workload's sockets will be set to.
    pub(crate) fn set_sockets(
        &mut self,
        workload: usize,
        change: impl Fn(&mut bentpipe_tcp::Config),
    ) {
        let changed = |tcp: &Arc<bentpipe_tcp::Config>| {
            let mut tcp = bentpipe_tcp::Config::clone(tcp);
            change(&mut tcp);
            Arc::new(tcp)
        };
        if self.own_settings.len() <= workload {
            self.own_settings.resize(workload + 1, None);
        }
        self.own_settings[workload] = Some(self.settings.each_ref().map(changed));
    }

    pub(crate) fn settings(&self, workload: usize, host: Host) -> Arc<bentpipe_tcp::Config> {
        let own = self.own_settings.get(workload).and_then(Option::as_ref);
        Arc::clone(&own.unwrap_or(&self.settings)[host as usize])
    }

    /// The run's own random numbers.
    pub fn random(&mut self) -> u64 {
        self.random.draw()
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

    /// An echo request of a workload; `payload` as in ping(8)'s -s.
    pub fn ping(&mut self, from: Side, workload: usize, sequence: u32, payload: u32) {
        let header = self.hosts[from as usize].tcp.ip_header();
        let packet = Packet {
            connection: ConnectionId {
                index: workload as u32,
                generation: sequence,
            },
            leg: Leg::Whole,
            corrupted: false,
            body: Body::Echo(Echo {
                wire_bytes: header + 8 + payload,
                payload,
                ..Echo::default()
            }),
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
        for segment in out.packets.drain(..) {
            let packet = Packet {
                connection: id,
                leg,
                corrupted: false,
                body: Body::Tcp(segment),
            };
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
                    workload: connection.workload,
                    flow: connection.flow,
                    role: connection.role,
                    ip: self.hosts[host as usize].tcp.ip,
                    local_port,
                    remote_port,
                    sample: socket.sample(self.present(host)),
                });
            }
        }
    }
}
