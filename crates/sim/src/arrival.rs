//! A packet comes out of a pipe: it is passed on, or echoes are answered and TCP goes to its socket, by itself or joined
//! with its neighbours.
//!
//! 1. Only one flow per host is held for joining at a time; GRO holds several.

use crate::network::{Event, Host, Network, Side};
use crate::packet::{Body, ConnectionId, Echo, Packet};
use bentpipe_tcp::Socket;
use bentpipe_tcp::segment::{Segment, flag};

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
        match packet.body {
            Body::Echo(echo) if echo.reply => {
                self.echoes.push_back((
                    packet.connection.index as usize,
                    packet.connection.generation,
                ));
            }
            Body::Echo(echo) => {
                let body = Body::Echo(Echo {
                    reply: true,
                    ..echo
                });
                self.send(to, Packet { body, ..packet });
            }
            Body::Tcp(segment) => {
                if to == Side::Client || self.enter_line(to, packet).is_some() {
                    self.coalesce(host, packet.connection, to, segment);
                }
            }
        }
    }

    /// A segment has come to a host's end of its connection: it is handed up, by itself or joined with its neighbours.
    pub(crate) fn coalesce(&mut self, host: Host, id: ConnectionId, end: Side, segment: Segment) {
        let span = self.hosts[host as usize].coalesce_ns;
        if span.0 == 0 {
            self.deliver(host, id, end, &segment);
            return;
        }
        let plain = segment.payload > 0 && segment.flags & !(flag::ACK | flag::PSH) == 0;
        let coalescer = &mut self.coalescers[host as usize];
        if let Some((held_id, _, held)) = coalescer.held.as_mut() {
            let joins = plain
                && *held_id == id
                && held.end_seq() == segment.seq
                && held.ecn == segment.ecn
                && self.now <= coalescer.until
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
                    self.flush(host);
                }
                return;
            }
            self.flush(host);
        }
        if plain && !segment.has(flag::PSH) {
            let coalescer = &mut self.coalescers[host as usize];
            coalescer.held = Some((id, end, segment));
            coalescer.until = self.now + span;
            self.events.push(self.now + span, Event::Flush(host));
        } else {
            self.deliver(host, id, end, &segment);
        }
    }

    /// A held arrival's time is over.
    pub(crate) fn flush_due(&mut self, host: Host) {
        if self.coalescers[host as usize].until <= self.now {
            self.flush(host);
        }
    }

    pub(crate) fn flush(&mut self, host: Host) {
        if let Some((id, end, segment)) = self.coalescers[host as usize].held.take() {
            self.deliver(host, id, end, &segment);
        }
    }

    fn deliver(&mut self, host: Host, id: ConnectionId, side: Side, segment: &Segment) {
        let now = self.present(host);
        let Some(connection) = self.connections.get_mut(id.index as usize) else {
            return;
        };
        if connection.generation != id.generation {
            return;
        }
        let place = &mut connection.sockets[side as usize];
        if let Some(socket) = place.as_mut() {
            socket.on_segment(now, segment, &mut self.outbox);
            self.settle(id, side);
        } else if side != connection.opener && segment.has(flag::SYN) && !segment.has(flag::ACK) {
            let workload = connection.workload;
            let settings = self.settings(workload, host);
            let random = self.random();
            let out = &mut self.outbox;
            let socket = Socket::accept(segment, &settings, self.mtu, random, now, out);
            self.connections[id.index as usize].sockets[side as usize] = socket;
            self.settle(id, side);
        }
    }
}
