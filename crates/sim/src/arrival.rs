//! A packet comes out of a pipe: it is passed on, or echoes are answered and TCP goes to its socket, by itself or joined
//! with its neighbours.
//!
//! 1. Only one flow per host is held for joining at a time; GRO holds several.

use crate::network::{Event, Host, Network, Side};
use crate::packet::{Kind, Packet, flag};
use crate::tcp::Socket;

impl Network {
    /// A packet leaves a pipe at this host, on its way to this side.
    pub(crate) fn arrive(&mut self, host: Host, to: Side, packet: Packet) {
        if !self.goes_beyond(to, &packet) {
            self.wakeups[host as usize].arrival(self.now);
        }
        if self.capture[host as usize] && !(host == Host::Near && to == Side::Server) {
            self.note_packet(host, to, false, &packet);
        }
        if packet.leg.host(to) != host {
            self.transmit(host, to, packet);
            return;
        }
        if packet.corrupted {
            return;
        }
        match packet.kind {
            Kind::EchoRequest => {
                let answer = Packet {
                    kind: Kind::EchoReply,
                    ..packet
                };
                self.send(to, answer);
            }
            Kind::EchoReply => {
                self.echoes.push_back((
                    packet.connection.index as usize,
                    packet.connection.generation,
                ));
            }
            Kind::Tcp if to == Side::Server => {
                if let Some(packet) = self.enter_line(to, packet) {
                    self.coalesce(host, packet);
                }
            }
            Kind::Tcp => self.coalesce(host, packet),
        }
    }

    pub(crate) fn coalesce(&mut self, host: Host, packet: Packet) {
        let span = self.hosts[host as usize].coalesce_ns;
        if span.0 == 0 {
            self.deliver(host, &packet);
            return;
        }
        let plain = packet.payload > 0 && packet.flags & !(flag::ACK | flag::PSH) == 0;
        let coalescer = &mut self.coalescers[host as usize];
        if let Some(held) = coalescer.held.as_mut() {
            let joins = plain
                && held.connection == packet.connection
                && held.end_seq() == packet.seq
                && held.ecn == packet.ecn
                && self.now <= coalescer.until
                && held.wire_bytes + packet.payload <= 65_535;
            if joins {
                held.payload += packet.payload;
                held.wire_bytes += packet.payload;
                held.segments += 1;
                held.flags |= packet.flags;
                held.ack = packet.ack;
                held.window = packet.window;
                held.timestamps = packet.timestamps;
                held.sack = packet.sack;
                if packet.has(flag::PSH) {
                    self.flush(host);
                }
                return;
            }
            self.flush(host);
        }
        if plain && !packet.has(flag::PSH) {
            let coalescer = &mut self.coalescers[host as usize];
            coalescer.held = Some(packet);
            coalescer.until = self.now + span;
            self.events.push(self.now + span, Event::Flush(host));
        } else {
            self.deliver(host, &packet);
        }
    }

    /// A held arrival's time is over.
    pub(crate) fn flush_due(&mut self, host: Host) {
        if self.coalescers[host as usize].until <= self.now {
            self.flush(host);
        }
    }

    pub(crate) fn flush(&mut self, host: Host) {
        if let Some(packet) = self.coalescers[host as usize].held.take() {
            self.deliver(host, &packet);
        }
    }

    pub(crate) fn deliver(&mut self, host: Host, packet: &Packet) {
        let id = packet.connection;
        let side = packet.leg.side(host);
        let now = self.present(host);
        let Some(connection) = self.connections.get_mut(id.index as usize) else {
            return;
        };
        if connection.generation != id.generation {
            return;
        }
        let place = &mut connection.sockets[side as usize];
        if let Some(socket) = place.as_mut() {
            socket.on_segment(now, packet, &mut self.outbox);
            self.settle(id, side);
        } else if side != connection.opener && packet.has(flag::SYN) && !packet.has(flag::ACK) {
            let workload = connection.workload;
            let settings = self.settings(workload, host);
            let random = self.random();
            let socket = Socket::accept(packet, &settings, self.mtu, random, now, &mut self.outbox);
            self.connections[id.index as usize].sockets[side as usize] = socket;
            self.settle(id, side);
        }
    }
}
