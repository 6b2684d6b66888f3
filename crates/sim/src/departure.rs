//! A packet leaves a host: over the path, or what lies before it.

use crate::network::{Host, Network, Side};
use crate::packet::{Body, Packet};
use crate::sink::Captured;

impl Network {
    /// From an end of its connection.
    pub(crate) fn send(&mut self, from: Side, packet: Packet) {
        let host = packet.leg.host(from);
        if from == Side::Client || matches!(packet.body, Body::Echo(_)) {
            self.transmit(host, from.other(), packet);
        } else if let Some(packet) = self.enter_line(Side::Client, packet) {
            self.transmit(host, Side::Client, packet);
        }
    }

    /// Puts a packet on the next stretch of its way.
    pub(crate) fn transmit(&mut self, host: Host, to: Side, packet: Packet) {
        let now = self.present(host);
        let by_lan = match host {
            Host::Client => self.near.is_some(),
            Host::Near => to == Side::Client,
            Host::Server => false,
        };
        if self.capture[host as usize] && !(host == Host::Near && by_lan) {
            self.note_packet(host, to, true, &packet);
        }
        if by_lan {
            self.enter_lan(now, to, packet);
        } else {
            self.pipes[to as usize].push(now, packet);
        }
    }

    /// Near, which has two ends, is watched at the path's.
    pub(crate) fn note_packet(&mut self, at: Host, to: Side, outgoing: bool, packet: &Packet) {
        let sender = to.other();
        let known = self.connections.get(packet.connection.index as usize);
        let (client_port, server_port, initial) = match known {
            Some(connection) if matches!(packet.body, Body::Tcp(_)) => (
                connection.client_port,
                connection.server_port,
                connection.initial_seq,
            ),
            _ => (0, 0, [0, 0]),
        };
        self.captured.push(Captured {
            time: self.present(at),
            at,
            sender,
            outgoing,
            client_port,
            server_port,
            initial_seq: initial[sender as usize],
            initial_ack: initial[sender.other() as usize],
            ip: self.hosts[at as usize].tcp.ip,
            packet: *packet,
        });
    }
}
