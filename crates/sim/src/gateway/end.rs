//! The gateway at near or at far.

use super::associations::Associations;
use super::host_side::{Call, HostSide, connection, target};
use super::{GatewayConfig, GatewayFigures};
use crate::node::{Node, Outbox};
use crate::packet::{Address, Body, Bytes, ConnectionId, Packet};
use crate::seat::{Seat, lies_across};
use crate::tunnel::Beside;
use bentpipe_base::{EventQueue, Nanos, OrderedMap, Time};
use bentpipe_fec::FrameKind;
use bentpipe_gateway::{Config, ConfigError, Event, FlowId, Role, Session, null};
use bentpipe_path::packet::Ecn;
use bentpipe_tcp::Socket;
use bentpipe_tcp::segment::{Segment, flag};
use core::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// No workload's connection has this place.
const FRAMES: ConnectionId = ConnectionId {
    index: u32::MAX,
    generation: 0,
};
const UDP_BYTES: u32 = 8;

#[derive(Debug)]
pub(crate) struct GatewayEnd {
    seat: Seat,
    peer: Seat,
    session: Session,
    carrier: null::Carrier,
    settings: Arc<bentpipe_tcp::Config>,
    host_mtu: u32,
    /// IP and UDP.
    header_bytes: u16,
    max_datagram: usize,
    hosts: OrderedMap<ConnectionId, HostSide>,
    associations: Associations,
    beside: Rc<RefCell<Beside>>,
    by_flow: OrderedMap<FlowId, ConnectionId>,
    /// By a connection's place: those of an earlier use are over.
    first_generation: OrderedMap<u32, u32>,
    timers: EventQueue<ConnectionId>,
    tcp: bentpipe_tcp::Outbox,
    bin: Nanos,
    /// Payload that hosts were given, by the start of its bin, until the bin is asked for.
    bins: VecDeque<(Time, u64)>,
}

/// Both gateways, that at near first, with a session between them.
pub(crate) fn pair(
    config: &GatewayConfig,
    [mtu, ip_bytes]: [u32; 2],
    bin: Nanos,
    seed: u64,
    now: Time,
    beside: &Rc<RefCell<Beside>>,
) -> Result<[GatewayEnd; 2], ConfigError> {
    let header_bytes = ip_bytes + UDP_BYTES;
    let end = |role: Role| {
        let (seats, rate, host) = match role {
            Role::Near => ([Seat::Near, Seat::Far], config.up_rate, &config.near),
            Role::Far => ([Seat::Far, Seat::Near], config.down_rate, &config.far),
        };
        let mut settings = Config::with_rate(rate, header_bytes + null::OVERHEAD_BYTES as u32);
        settings.takes_udp = true;
        if let Some(policy) = config.redundancy.policy() {
            settings.redundancy = policy;
        }
        let number = seed ^ (role as u64) << 63;
        let carrier = match role {
            Role::Near => null::Carrier::near(number),
            Role::Far => null::Carrier::far(number),
        };
        Ok(GatewayEnd {
            seat: seats[0],
            peer: seats[1],
            session: Session::new(settings, role, number, number)?,
            carrier,
            settings: Arc::new(host.tcp.clone()),
            host_mtu: mtu,
            header_bytes: header_bytes as u16,
            max_datagram: (mtu - header_bytes) as usize - null::OVERHEAD_BYTES,
            hosts: OrderedMap::new(),
            associations: Associations::default(),
            beside: Rc::clone(beside),
            by_flow: OrderedMap::new(),
            first_generation: OrderedMap::new(),
            timers: EventQueue::default(),
            tcp: bentpipe_tcp::Outbox::default(),
            bin,
            bins: VecDeque::new(),
        })
    };
    let mut ends = [end(Role::Near)?, end(Role::Far)?];
    ends[0].carrier.connect();
    let mut packet = Vec::new();
    while !ends.iter().all(|end| end.session.is_up()) {
        for place in 0..2 {
            ends[place].settle_carrier(now);
            while ends[place].carrier.poll_transmit(now, &mut packet) {
                ends[1 - place].carrier.handle(&packet);
                packet.clear();
            }
        }
    }
    Ok(ends)
}

impl GatewayEnd {
    /// Whether the path lies between this gateway and a seat.
    fn is_across(&self, to: Seat) -> bool {
        lies_across(self.seat, self.peer, to)
    }

    /// The workload is done with a connection.
    pub fn release(&mut self, id: ConnectionId) {
        self.first_generation.insert(id.index, id.generation + 1);
        if let Some(host) = self.hosts.remove(id)
            && let Some(flow) = host.flow
        {
            self.by_flow.remove(flow);
            if !host.is_over() && self.session.has_flow(flow) {
                self.session.reset(flow, bentpipe_gateway::ResetCode::Host);
            }
        }
    }

    pub fn figures(&self) -> GatewayFigures {
        self.session.figures().into()
    }

    /// The payload that hosts were given in the bins up to the one that begins then.
    pub fn take_goodput(&mut self, start: Time) -> u64 {
        let mut bytes = 0;
        while let Some(bin) = self.bins.pop_front_if(|bin| bin.0 <= start) {
            bytes += bin.1;
        }
        bytes
    }

    fn count(&mut self, now: Time, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let start = Time(now.0.div_euclid(self.bin.0) * self.bin.0);
        match self.bins.back_mut().filter(|bin| bin.0 == start) {
            Some(bin) => bin.1 += bytes,
            None => self.bins.push_back((start, bytes)),
        }
    }

    /// Acts on a host's connection, and sees that its next timer is among the timers.
    fn at(
        &mut self,
        id: ConnectionId,
        now: Time,
        out: &mut Outbox,
        act: impl FnOnce(&mut HostSide, &mut Call<'_>),
    ) {
        let Some(host) = self.hosts.get_mut(id) else {
            return;
        };
        let mut call = Call {
            now,
            out,
            tcp: &mut self.tcp,
            session: &mut self.session,
            delivered: 0,
        };
        act(host, &mut call);
        host.carry_on(&mut call);
        let delivered = call.delivered;
        if let Some(at) = host.socket.next_timer()
            && at < host.scheduled
        {
            host.scheduled = at;
            self.timers.push(at, id);
        }
        self.count(now, delivered);
    }

    fn on_segment(&mut self, now: Time, packet: &Packet, segment: &Segment, out: &mut Outbox) {
        let id = packet.connection;
        let first = self.first_generation.get(id.index).copied();
        let opens = segment.has(flag::SYN)
            && !segment.has(flag::ACK)
            && id.generation >= first.unwrap_or(0);
        if opens && !self.hosts.contains_key(id) {
            let random = out.random();
            let socket = Socket::accept(
                segment,
                &self.settings,
                self.host_mtu,
                random,
                now,
                &mut self.tcp,
            );
            if let Some(socket) = socket {
                let host = HostSide::new(id, packet.address.back(), socket);
                self.hosts.insert(id, host);
                self.at(id, now, out, HostSide::send);
            }
            return;
        }
        self.at(id, now, out, |host, call| {
            host.act(call, |socket, now, tcp| {
                socket.on_segment(now, segment, tcp);
            });
        });
        self.open_flow(id, now, out);
    }

    /// A host's connection that is complete goes on across the path.
    fn open_flow(&mut self, id: ConnectionId, now: Time, out: &mut Outbox) {
        let Some(host) = self.hosts.get_mut(id) else {
            return;
        };
        if !host.connected || host.flow.is_some() || host.failed || host.socket.is_closed() {
            return;
        }
        // Without a session, and where there are too many flows, it waits for the host's next segment.
        let opened = self.session.open(0, &target(id, host.address.back()));
        if let Ok(flow) = opened {
            host.flow = Some(flow);
            self.by_flow.insert(flow, id);
            self.at(id, now, out, |_, _| {});
        }
    }

    fn settle_carrier(&mut self, now: Time) {
        while let Some(event) = self.carrier.poll_event() {
            match event {
                null::Event::Connected => {
                    self.session.on_carrier_connected(now, self.max_datagram);
                }
                null::Event::Lost => self.session.on_carrier_lost(now),
                null::Event::Control(message) => self.session.handle_control(now, &message),
            }
        }
        while let Some(message) = self.session.poll_control() {
            self.carrier.send_control(message);
        }
    }

    fn settle_events(&mut self, now: Time, out: &mut Outbox) {
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Opened { flow, target } => self.connect(now, flow, &target, out),
                Event::Readable(flow) | Event::Writable(flow) => {
                    if let Some(&id) = self.by_flow.get(flow) {
                        self.at(id, now, out, |_, _| {});
                    }
                }
                Event::Returned { flow, .. } | Event::Reset { flow, .. } => {
                    self.associations.forget(flow);
                    if let Some(id) = self.by_flow.remove(flow) {
                        self.at(id, now, out, HostSide::on_reset);
                    }
                }
                Event::OpenedChannel { flow, channel } => {
                    self.session.set_user(flow, 0);
                    if !self.associations.opened(flow, channel) {
                        let code = bentpipe_gateway::ResetCode::Target;
                        self.session.reset(flow, code);
                    }
                }
                // No names are taken here.
                Event::OpenedNamed { .. } | Event::Established { .. } | Event::Lost(_) => {}
            }
        }
        while let Some(received) = self.session.poll_received() {
            let header_bytes = self.header_bytes.into();
            if let Some(packet) = self.associations.received(&received, header_bytes) {
                out.send(now, packet);
            }
        }
    }

    /// The other gateway has opened a flow: the connection goes on to its host.
    fn connect(
        &mut self,
        now: Time,
        flow: FlowId,
        of: &bentpipe_gateway::Target,
        out: &mut Outbox,
    ) {
        let Some((id, address)) = connection(of) else {
            let code = bentpipe_gateway::ResetCode::Target;
            self.session.reset(flow, code);
            return;
        };
        self.session.set_user(flow, 0);
        let random = out.random();
        let socket = Socket::connect(&self.settings, self.host_mtu, random, now, &mut self.tcp);
        let Some(socket) = socket else {
            let code = bentpipe_gateway::ResetCode::Overloaded;
            self.session.reset(flow, code);
            return;
        };
        let mut host = HostSide::new(id, address, socket);
        host.flow = Some(flow);
        self.hosts.insert(id, host);
        self.by_flow.insert(flow, id);
        self.at(id, now, out, HostSide::send);
    }

    fn send(&self, now: Time, payload: &[u8], repair: bool, out: &mut Outbox) {
        let body = Body::Bytes(Bytes {
            payload: payload.into(),
            header_bytes: self.header_bytes,
            ecn: Ecn::NotEct,
            repair,
        });
        let address = Address {
            from: self.seat,
            to: self.peer,
            server: None,
        };
        out.send(now, Packet::new(FRAMES, address, body));
    }

    /// Does whatever can be done now.
    fn drive(&mut self, now: Time, out: &mut Outbox) {
        self.session.handle_timeout(now);
        self.settle_carrier(now);
        self.settle_events(now, out);
        self.settle_carrier(now);
        let mut packet = Vec::new();
        while self.carrier.poll_transmit(now, &mut packet) {
            self.send(now, &packet, false, out);
            packet.clear();
        }
        let mut datagram = Vec::new();
        while let Some(sent) = self.session.poll_datagram(now, &mut datagram) {
            self.carrier.wrap(&datagram, &mut packet);
            self.send(now, &packet, sent.kind == FrameKind::Repair, out);
            packet.clear();
            datagram.clear();
            // Room that there is now may be what a host waits for.
            self.settle_events(now, out);
        }
    }
}

impl Node for GatewayEnd {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        match &packet.body {
            Body::Bytes(frame) if packet.address.to == self.seat => {
                if !packet.corrupted
                    && let Some(datagram) = self.carrier.handle(&frame.payload)
                {
                    self.session.handle_datagram(now, datagram);
                }
            }
            Body::Tcp(segment)
                if self.is_across(packet.address.to) && !self.beside.borrow().has(&packet) =>
            {
                if !packet.corrupted {
                    self.on_segment(now, &packet, segment, out);
                }
            }
            Body::Datagram(_)
                if self.is_across(packet.address.to) && !self.beside.borrow().has(&packet) =>
            {
                let header_bytes = self.header_bytes.into();
                let (session, packet) = (&mut self.session, packet);
                let taken =
                    packet.corrupted || self.associations.send(now, session, &packet, header_bytes);
                if !taken {
                    out.send(now, packet);
                }
            }
            _ => out.send(now, packet),
        }
        self.drive(now, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        let times = [
            self.session.poll_timeout(),
            self.carrier.poll_timeout(),
            self.timers.next_time(),
        ];
        times.into_iter().flatten().min()
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        if self.timers.next_time().is_some_and(|at| at <= now)
            && let Some((at, id)) = self.timers.pop()
        {
            self.at(id, now, out, |host, call| {
                if host.scheduled > at {
                    return;
                }
                host.scheduled = Time::NEVER;
                if host.socket.next_timer().is_some_and(|at| at <= now) {
                    host.act(call, Socket::on_timer);
                }
            });
        }
        self.drive(now, out);
    }
}

/// A gateway that sits in the network, and that the world asks for its figures.
#[derive(Clone, Debug)]
pub(crate) struct SharedEnd(pub Rc<RefCell<GatewayEnd>>);

impl Node for SharedEnd {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        self.0.borrow_mut().handle(now, packet, out);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.0.borrow().poll_timeout()
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        self.0.borrow_mut().on_timeout(now, out);
    }
}
