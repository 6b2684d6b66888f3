//! What the workloads act on: the hosts at the ends of connections, the clock's calls, and the rows of results.

use crate::connection::Connection;
use crate::gateway::{GatewayFigures, SharedEnd};
use crate::near::NearConfig;
use crate::network::Network;
use crate::packet::{ConnectionId, ServerId};
use crate::rows::{DatagramRow, FailureRow, FlowRow, IntervalRow, PingRow, SocketRow};
pub use crate::seat::{Leg, Seat, Side};
use crate::split::{self, Facing, Proxy, SplitFigures};
use crate::tunnel::{Beside, Tunnel};
use bentpipe_base::EventQueue;
use bentpipe_path::Terrestrial;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::{Config, Outbox, Socket, Writer};
use core::cell::RefCell;
use std::rc::Rc;
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
    pub(crate) tunnel: Option<Tunnel>,
    pub(crate) beside_tunnel: Rc<RefCell<Beside>>,
    /// At near and at far.
    pub(crate) gateways: Option<[SharedEnd; 2]>,
    /// TCP ends at near and at far.
    pub(crate) is_split: bool,
    pub(crate) seed: u64,
    pub(crate) connections: Vec<Connection>,
    pub(crate) free: Vec<u32>,
    pub(crate) next_port: u16,
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) intervals: Vec<IntervalRow>,
    pub(crate) pings: Vec<PingRow>,
    pub(crate) failures: Vec<FailureRow>,
    pub(crate) datagrams: Vec<DatagramRow>,
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
            tunnel: None,
            beside_tunnel: Rc::default(),
            gateways: None,
            is_split: false,
            seed,
            connections: Vec::new(),
            free: Vec::new(),
            next_port: 40_000,
            flows: Vec::new(),
            intervals: Vec::new(),
            pings: Vec::new(),
            failures: Vec::new(),
            datagrams: Vec::new(),
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

    /// A UDP datagram of a workload to the other side; `payload` is all of it behind the UDP header.
    pub fn send_datagram(&mut self, from: Side, workload: usize, sequence: u32, payload: u32) {
        let id = ConnectionId {
            index: workload as u32,
            generation: sequence,
        };
        let to = from.other().into();
        self.network.at_host(from.into(), |host, now, out| {
            host.datagram(now, to, id, payload, out);
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

    /// Segments of a connection that have been sent across the path again, from this side: by its own socket, or by the proxy's.
    pub fn retransmits(&self, id: ConnectionId, sender: Side) -> u64 {
        let seat = match sender {
            Side::Client => Seat::Near,
            Side::Server => Seat::Far,
        };
        let socket = match self.network.proxy(seat) {
            Some(proxy) => proxy.socket(id, Facing::Path),
            None => self.socket(id, sender),
        };
        socket.map_or(0, Socket::retransmits)
    }

    /// Of the proxies at near and at far.
    pub(crate) fn split_figures(&self) -> Option<[SplitFigures; 2]> {
        let figures = |seat| self.network.proxy(seat).map(Proxy::figures);
        Some([figures(Seat::Near)?, figures(Seat::Far)?])
    }

    /// Of the gateways at near and at far.
    pub(crate) fn gateway_figures(&self) -> Option<[GatewayFigures; 2]> {
        let ends = self.gateways.as_ref()?;
        Some(ends.each_ref().map(|end| end.0.borrow().figures()))
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

    /// The sockets as they are now.
    pub(crate) fn sample(&self) -> Sample<'_> {
        Sample { world: self }
    }

    /// A sample is over.
    pub(crate) fn forget_touched(&mut self) {
        for seat in Seat::ALL {
            if let Some(host) = self.network.host_mut(seat) {
                host.forget_touched();
            }
            if let Some(proxy) = self.network.proxy_mut(seat) {
                proxy.forget_touched();
            }
        }
    }
}

/// The sockets at the instant of a sample. Each stands at an end, by its number along the way, of a place in the slab of
/// connections: one of two ends, or of six where TCP is split.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    world: &'a World,
}

impl<'a> Sample<'a> {
    pub fn time(&self) -> Time {
        self.world.now()
    }

    /// A host's present, which is later than the sample's time while it wakes.
    pub fn present(&self, host: Seat) -> Time {
        self.world.network.present(host)
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.world.connections.len()
    }

    /// Of 64 places, for each host those to which something has happened since the last sample: a socket may have come,
    /// changed or gone. The rows of all others differ in their time and [`waits`](SeenSocket::waits) at most.
    pub fn touched(&self, word: usize) -> [u64; Seat::ALL.len()] {
        Seat::ALL.map(|seat| {
            let network = &self.world.network;
            match network.host(seat) {
                Some(host) => host.touched(word),
                None => network.proxy(seat).map_or(0, |proxy| proxy.touched(word)),
            }
        })
    }

    /// How many ends a place has.
    #[inline]
    pub fn ends(&self) -> usize {
        if self.world.is_split {
            split::ENDS.len()
        } else {
            Side::BOTH.len()
        }
    }

    /// The host at an end of a place, and the side of its own connection that the socket there is at.
    #[inline]
    pub fn end(&self, place: usize, end: usize) -> (Seat, Side) {
        if self.world.is_split {
            return split::ENDS[end];
        }
        let side = Side::BOTH[end];
        (self.world.connections[place].leg.seat(side), side)
    }

    /// The open socket at this end of a place, if there is one.
    #[inline]
    pub fn socket(&self, place: usize, end: usize) -> Option<SeenSocket<'a>> {
        let world = self.world;
        let (host, side) = self.end(place, end);
        let connection = &world.connections[place];
        let id = ConnectionId {
            index: place as u32,
            generation: connection.generation,
        };
        let socket = match world.network.proxy(host) {
            Some(proxy) => proxy.socket(id, Facing::of(host, side)),
            None => world.network.host(host)?.socket(id),
        }?;
        (!socket.is_closed()).then_some(SeenSocket {
            world,
            connection,
            socket,
            time: world.now(),
            id,
            side,
            host,
        })
    }

    /// Shows every open socket, in the order of their connections.
    pub fn each(&self, mut see: impl FnMut(&SeenSocket<'a>)) {
        for place in 0..self.places() {
            for end in 0..self.ends() {
                if let Some(seen) = self.socket(place, end) {
                    see(&seen);
                }
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
}

impl SeenSocket<'_> {
    /// How long it has been busy, and of that waiting for the peer's window and for room in the send buffer.
    pub fn waits(&self) -> [Nanos; 3] {
        self.socket.waits(self.world.network.present(self.host))
    }

    /// Which of the [`waits`](Self::waits) grow with the host's time while nothing happens to it.
    pub fn growing_waits(&self) -> [bool; 3] {
        self.socket.growing_waits()
    }

    /// Segments that it has retransmitted so far.
    pub fn retransmits(&self) -> u64 {
        self.socket.retransmits()
    }

    /// At its own host and at the other.
    pub fn ports(&self) -> (u16, u16) {
        let (client_port, server_port) = self.world.ports(self.id);
        match self.side {
            Side::Client => (client_port, server_port),
            Side::Server => (server_port, client_port),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a caller takes it apart at once")]
    pub fn row(&self) -> SocketRow {
        let (local_port, remote_port) = self.ports();
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
