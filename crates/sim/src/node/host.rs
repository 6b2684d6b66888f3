//! A host: the sockets at its end of the connections, echoes, and packets on their way to another seat, which it sends on as
//! a kernel does: as soon as it has looked, with no queue but the next link's.
//!
//! 1. Only one flow per host is held for joining at a time; GRO holds several.
//! 2. Arrivals that are sent on are never joined.
//! 3. The time to live of what it sends on stays as it was.

use super::config::HostConfig;
use super::{Node, Outbox};
use crate::packet::{Address, Body, ConnectionId, Datagram, Echo, Packet, ServerId};
use crate::seat::{Seat, Side};
use bentpipe_base::EventQueue;
use bentpipe_base::time::Time;
use bentpipe_tcp::segment::{Segment, flag};
use bentpipe_tcp::{Config, Socket};
use std::sync::Arc;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    pub id: ConnectionId,
    pub side: Side,
    pub workload: usize,
    pub to: Seat,
    /// The server beyond the far end that the connection goes to.
    pub server: Option<ServerId>,
    /// What the socket is set to.
    pub settings: Arc<Config>,
    /// A SYN is accepted here.
    pub listens: bool,
}

#[derive(Debug)]
struct Slot {
    end: End,
    socket: Option<Socket>,
    /// The entry among the timers that will look at the socket, if any.
    scheduled: Time,
}

/// An arrival held back to be joined with what follows.
#[derive(Debug, Default)]
struct Coalescer {
    held: Option<(ConnectionId, Segment)>,
    until: Time,
}

#[derive(Debug)]
pub(crate) struct Host {
    seat: Seat,
    config: HostConfig,
    mtu: u32,
    /// By the connection's place in the slab.
    slots: Vec<Option<Slot>>,
    /// A bit for each of them: whether something has happened to it since the last sample.
    touched: Vec<u64>,
    timers: EventQueue<ConnectionId>,
    coalescer: Coalescer,
    tcp: bentpipe_tcp::Outbox,
}

impl Host {
    pub fn new(seat: Seat, config: HostConfig, mtu: u32) -> Self {
        Self {
            seat,
            config,
            mtu,
            slots: Vec::new(),
            touched: Vec::new(),
            timers: EventQueue::default(),
            coalescer: Coalescer::default(),
            tcp: bentpipe_tcp::Outbox::default(),
        }
    }

    pub fn config(&self) -> &HostConfig {
        &self.config
    }

    fn slot(&mut self, id: ConnectionId) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(id.index as usize)?.as_mut()?;
        (slot.end.id == id).then_some(slot)
    }

    pub fn socket(&self, id: ConnectionId) -> Option<&Socket> {
        let slot = self.slots.get(id.index as usize)?.as_ref()?;
        slot.socket.as_ref().filter(|_| slot.end.id == id)
    }

    /// The next sample is to look at this place in the slab.
    #[inline]
    pub fn touch(&mut self, index: u32) {
        if let Some(word) = self.touched.get_mut(index as usize / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// Of 64 places in the slab, those to which something has happened since the last sample.
    pub fn touched(&self, word: usize) -> u64 {
        self.touched.get(word).copied().unwrap_or(0)
    }

    /// A sample is over.
    pub fn forget_touched(&mut self) {
        self.touched.fill(0);
    }

    /// Takes a place at a connection; the socket appears with [`connect`](Self::connect), or when a SYN comes.
    pub fn add(&mut self, end: End) {
        let index = end.id.index as usize;
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
            self.touched.resize(index / 64 + 1, 0);
        }
        self.touch(end.id.index);
        self.slots[index] = Some(Slot {
            end,
            socket: None,
            scheduled: Time::NEVER,
        });
    }

    /// Forgets a connection; packets still under way find nobody.
    pub fn remove(&mut self, id: ConnectionId) {
        if self.slot(id).is_some() {
            self.slots[id.index as usize] = None;
            self.touch(id.index);
        }
    }

    pub fn connect(&mut self, now: Time, id: ConnectionId, out: &mut Outbox) {
        let random = out.random();
        let mtu = self.mtu;
        let mut tcp = core::mem::take(&mut self.tcp);
        if let Some(slot) = self.slot(id) {
            slot.socket = Socket::connect(&slot.end.settings, mtu, random, now, &mut tcp);
        }
        self.tcp = tcp;
        self.settle(now, id, out);
    }

    /// Lets an application act on its socket.
    pub fn act(
        &mut self,
        now: Time,
        id: ConnectionId,
        out: &mut Outbox,
        act: impl FnOnce(&mut Socket, Time, &mut bentpipe_tcp::Outbox),
    ) {
        let Some(Some(slot)) = self.slots.get_mut(id.index as usize) else {
            return;
        };
        if let (true, Some(socket)) = (slot.end.id == id, &mut slot.socket) {
            act(socket, now, &mut self.tcp);
            self.settle(now, id, out);
        }
    }

    /// An echo request of a workload; `payload` as in ping(8)'s -s.
    pub fn ping(&mut self, now: Time, to: Seat, id: ConnectionId, payload: u32, out: &mut Outbox) {
        let echo = Echo {
            wire_bytes: self.config.tcp.ip_header() + 8 + payload,
            payload,
            ..Echo::default()
        };
        let address = Address {
            from: self.seat,
            to,
            server: None,
        };
        out.send(now, Packet::new(id, address, Body::Echo(echo)));
    }

    /// A datagram of a workload; `payload` is all of it behind the UDP header.
    pub fn datagram(
        &mut self,
        now: Time,
        to: Seat,
        id: ConnectionId,
        payload: u32,
        out: &mut Outbox,
    ) {
        let datagram = Datagram {
            wire_bytes: self.config.tcp.ip_header() + 8 + payload,
            ..Datagram::default()
        };
        let address = Address {
            from: self.seat,
            to,
            server: None,
        };
        out.send(now, Packet::new(id, address, Body::Datagram(datagram)));
    }

    /// Passes on what a socket left, and sees that its next timer is among the timers.
    fn settle(&mut self, now: Time, id: ConnectionId, out: &mut Outbox) {
        let Some(Some(slot)) = self.slots.get_mut(id.index as usize) else {
            return;
        };
        let address = Address {
            from: self.seat,
            to: slot.end.to,
            server: slot.end.server,
        };
        let packet = |segment| (now, Packet::new(id, address, Body::Tcp(segment)));
        out.packets.extend(self.tcp.packets.drain(..).map(packet));
        for notice in self.tcp.notices.drain(..) {
            let notice = (slot.end.workload, id, slot.end.side, notice);
            out.notices.push_back(notice);
        }
        if let Some(at) = slot.socket.as_ref().and_then(Socket::next_timer)
            && at < slot.scheduled
        {
            slot.scheduled = at;
            self.timers.push(at, id);
        }
        self.touch(id.index);
    }

    /// A segment is handed up, by itself or joined with its neighbours.
    fn coalesce(&mut self, now: Time, id: ConnectionId, segment: Segment, out: &mut Outbox) {
        let span = self.config.coalesce_ns;
        let plain = segment.payload > 0 && segment.flags & !(flag::ACK | flag::PSH) == 0;
        if let Some((held_id, held)) = self.coalescer.held.as_mut() {
            let joins = plain
                && *held_id == id
                && held.end_seq() == segment.seq
                && held.ecn == segment.ecn
                && now <= self.coalescer.until
                && held.wire_bytes + segment.payload <= 65_535;
            if joins {
                held.payload += segment.payload;
                held.wire_bytes += segment.payload;
                held.segments += 1;
                held.flags |= segment.flags;
                held.ack = segment.ack;
                held.window = segment.window;
                held.timestamps = segment.timestamps;
                held.sack = segment.sack;
                if segment.has(flag::PSH) {
                    self.flush(now, out);
                }
                return;
            }
            self.flush(now, out);
        }
        if plain && !segment.has(flag::PSH) {
            self.coalescer.held = Some((id, segment));
            self.coalescer.until = now + span;
        } else {
            self.deliver(now, id, &segment, out);
        }
    }

    fn flush(&mut self, now: Time, out: &mut Outbox) {
        if let Some((id, segment)) = self.coalescer.held.take() {
            self.deliver(now, id, &segment, out);
        }
    }

    fn deliver(&mut self, now: Time, id: ConnectionId, segment: &Segment, out: &mut Outbox) {
        let Some(Some(slot)) = self.slots.get_mut(id.index as usize) else {
            return;
        };
        if slot.end.id != id {
            return;
        }
        if let Some(socket) = slot.socket.as_mut() {
            socket.on_segment(now, segment, &mut self.tcp);
        } else if slot.end.listens && segment.has(flag::SYN) && !segment.has(flag::ACK) {
            let random = out.random();
            let settings = &slot.end.settings;
            slot.socket = Socket::accept(segment, settings, self.mtu, random, now, &mut self.tcp);
        } else {
            return;
        }
        self.settle(now, id, out);
    }
}

impl Node for Host {
    fn handle(&mut self, now: Time, packet: Packet, out: &mut Outbox) {
        if packet.address.to != self.seat {
            out.send(now, packet);
            return;
        }
        if packet.corrupted {
            return;
        }
        let id = packet.connection;
        match &packet.body {
            Body::Echo(echo) if echo.reply => {
                out.echoes.push_back((id.index as usize, id.generation));
            }
            Body::Echo(echo) => {
                let reply = Echo {
                    reply: true,
                    ..*echo
                };
                let address = packet.address.back();
                out.send(now, Packet::new(id, address, Body::Echo(reply)));
            }
            Body::Datagram(_) => {
                let to = packet.address.sender().other();
                out.datagrams
                    .push_back((id.index as usize, to, id.generation));
            }
            Body::Tcp(segment) if self.config.coalesce_ns.0 == 0 => {
                self.deliver(now, id, segment, out);
            }
            Body::Tcp(segment) => self.coalesce(now, id, *segment, out),
            // A protocol of our own ends at a box, not at a host.
            Body::Bytes(_) => {}
        }
    }

    fn poll_timeout(&self) -> Option<Time> {
        let timer = self.timers.next_time();
        match &self.coalescer.held {
            None => timer,
            Some(_) => Some(timer.map_or(self.coalescer.until, |at| at.min(self.coalescer.until))),
        }
    }

    fn on_timeout(&mut self, now: Time, out: &mut Outbox) {
        let timer = self.timers.next_time().unwrap_or(Time::NEVER);
        if self.coalescer.held.is_some() && self.coalescer.until < timer {
            self.flush(now, out);
            return;
        }
        let Some((at, id)) = self.timers.pop() else {
            return;
        };
        let Some(Some(slot)) = self.slots.get_mut(id.index as usize) else {
            return;
        };
        if slot.end.id != id || slot.scheduled > at {
            return;
        }
        slot.scheduled = Time::NEVER;
        if let Some(socket) = slot.socket.as_mut()
            && socket.next_timer().is_some_and(|at| at <= now)
        {
            socket.on_timer(now, &mut self.tcp);
        }
        self.settle(now, id, out);
    }
}
