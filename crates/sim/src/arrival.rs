//! A packet comes out of a pipe: echoes are answered, TCP goes to its socket, by itself or joined with its neighbours.
//!
//! 1. Only one flow per host is held for joining at a time; GRO holds several.

use crate::network::{Event, Network, Side};
use crate::packet::{Kind, Packet, flag};
use crate::tcp::Socket;

impl Network {
    /// A packet leaves a pipe at this host.
    pub(crate) fn arrive(&mut self, side: Side, packet: Packet) {
        self.wakeups[side as usize].arrival(self.now);
        if self.capture[side as usize] {
            self.note_packet(side, false, &packet);
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
                self.send(side, answer);
            }
            Kind::EchoReply => {
                self.echoes.push_back((
                    packet.connection.index as usize,
                    packet.connection.generation,
                ));
            }
            Kind::Tcp if side == Side::Server => {
                if let Some(packet) = self.enter_line(side, packet) {
                    self.coalesce(side, packet);
                }
            }
            Kind::Tcp => self.coalesce(side, packet),
        }
    }

    pub(crate) fn coalesce(&mut self, side: Side, packet: Packet) {
        let span = self.hosts[side as usize].coalesce_ns;
        if span.0 == 0 {
            self.deliver(side, &packet);
            return;
        }
        let plain = packet.payload > 0 && packet.flags & !(flag::ACK | flag::PSH) == 0;
        let coalescer = &mut self.coalescers[side as usize];
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
                    self.flush(side);
                }
                return;
            }
            self.flush(side);
        }
        if plain && !packet.has(flag::PSH) {
            let coalescer = &mut self.coalescers[side as usize];
            coalescer.held = Some(packet);
            coalescer.until = self.now + span;
            self.events.push(self.now + span, Event::Flush(side));
        } else {
            self.deliver(side, &packet);
        }
    }

    /// A held arrival's time is over.
    pub(crate) fn flush_due(&mut self, side: Side) {
        if self.coalescers[side as usize].until <= self.now {
            self.flush(side);
        }
    }

    pub(crate) fn flush(&mut self, side: Side) {
        if let Some(packet) = self.coalescers[side as usize].held.take() {
            self.deliver(side, &packet);
        }
    }

    pub(crate) fn deliver(&mut self, side: Side, packet: &Packet) {
        let id = packet.connection;
        let now = self.present(side);
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
            let random = self.random();
            let host = &self.hosts[side as usize];
            let socket = Socket::accept(packet, host, self.mtu, random, now, &mut self.outbox);
            self.connections[id.index as usize].sockets[side as usize] = socket;
            self.settle(id, side);
        }
    }
}
