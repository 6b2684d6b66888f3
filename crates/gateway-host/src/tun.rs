//! Whole IP packets of hosts, by a TUN device: ping, and whatever else is neither TCP nor UDP that another way takes in.
//!
//! Near opens a flow of whole packets (kind 3) as soon as there is a session, and again when it was reset, and one more for each user who sends:
//! so the session shares its rate between them as between users' connections ([`PacketFlows`]).

mod flows;

use crate::clock::Now;
use crate::onward::{Onward, PacketWay};
use crate::packet_ends::PacketEnds;
use crate::report::{AssociationsReport, PacketsReport};
use crate::user::{user_address, user_of};
use crate::users::Users;
use bentpipe_gateway::{FlowId, Received, ResetCode, Role, Session};
use flows::PacketFlows;
use rustix::io::Errno;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// Packets in a row, before others have their turn.
const PACKETS_PER_TURN: usize = 64;
/// The longest packet has less.
const BUFFER_BYTES: usize = 1 << 16;

#[derive(Debug)]
pub(crate) struct Tun {
    device: OwnedFd,
    role: Role,
    flows: PacketFlows,
    readable: bool,
    buffer: Vec<u8>,
    /// A packet was refused before.
    refused: bool,
    report: PacketsReport,
}

impl Tun {
    /// `device` reads and writes one IP packet at a time, and does not block.
    pub fn new(device: OwnedFd, role: Role) -> Self {
        Self {
            device,
            role,
            flows: PacketFlows::new(role),
            readable: true,
            buffer: vec![0; BUFFER_BYTES],
            refused: false,
            report: PacketsReport::default(),
        }
    }

    pub fn report(&self) -> PacketsReport {
        PacketsReport {
            flows: self.flows.count() as u64,
            ..self.report
        }
    }

    pub fn happened(&mut self) {
        self.readable = true;
    }

    pub fn has_turn(&self) -> bool {
        self.readable
    }

    /// Far: the other gateway has opened a flow of packets.
    pub fn opened(&mut self, flow: FlowId, session: &mut Session) {
        if self.flows.count() == 0 {
            self.refused = false;
        }
        if !self.flows.opened(flow) {
            session.reset(flow, ResetCode::Overloaded);
        }
    }

    /// Whether it was one of the packets' flows. It is over.
    pub fn flow_reset(&mut self, flow: FlowId, code: ResetCode) -> bool {
        self.flows.reset(flow, code)
    }

    /// Gives the kernel a packet. False: the flow is another one.
    pub fn give(
        &mut self,
        received: &Received,
        onward: &mut dyn Onward,
        users: &mut Users,
        session: &mut Session,
        report: &mut AssociationsReport,
    ) -> bool {
        if !self.flows.has(received.flow) {
            return false;
        }
        let Some(ends) = PacketEnds::of(&received.bytes) else {
            report.malformed += 1;
            return true;
        };
        if !self.allows(PacketWay::Comes, ends, onward) {
            report.refused += 1;
            self.report.refused += 1;
            return true;
        }
        if rustix::io::write(&self.device, &received.bytes).is_err() {
            report.unsent += 1;
            self.report.dropped += 1;
            return true;
        }
        let bytes = received.bytes.len() as u64;
        let user = self.user(PacketWay::Comes, ends);
        self.flows.came(received.flow, user, session);
        self.report.delivered += 1;
        self.report.delivered_bytes += bytes;
        let user = users.of(user_address(user));
        user.datagrams_delivered += 1;
        user.datagram_bytes_delivered += bytes;
        true
    }

    /// The end of a packet that is near's.
    fn user(&self, way: PacketWay, ends: PacketEnds) -> IpAddr {
        let users_send = match self.role {
            Role::Near => PacketWay::Leaves,
            Role::Far => PacketWay::Comes,
        };
        if way == users_send {
            ends.source
        } else {
            ends.destination
        }
    }

    /// Sends on what the kernel gives.
    pub fn take_turn(
        &mut self,
        now: Now,
        onward: &mut dyn Onward,
        users: &mut Users,
        session: &mut Session,
        report: &mut AssociationsReport,
    ) {
        if self.flows.open_first(now, session) {
            self.refused = false;
        }
        let mut left = if self.readable { PACKETS_PER_TURN } else { 0 };
        while left > 0 {
            left -= 1;
            match rustix::io::read(&self.device, &mut self.buffer) {
                Ok(bytes) => self.send(now, bytes, onward, users, session, report),
                Err(Errno::INTR) => {}
                // There is no more now, or the device is down.
                Err(_) => {
                    self.readable = false;
                    return;
                }
            }
        }
    }

    fn send(
        &mut self,
        now: Now,
        bytes: usize,
        onward: &mut dyn Onward,
        users: &mut Users,
        session: &mut Session,
        report: &mut AssociationsReport,
    ) {
        let Some(ends) = PacketEnds::of(&self.buffer[..bytes]) else {
            report.malformed += 1;
            return;
        };
        // Kernels look for neighbours and groups on every device.
        if ends.destination.is_multicast() {
            return;
        }
        if !self.allows(PacketWay::Leaves, ends, onward) {
            report.refused += 1;
            self.report.refused += 1;
            return;
        }
        let user = self.user(PacketWay::Leaves, ends);
        let flow = self.flows.of(now, user_of(user), session);
        let packet = &self.buffer[..bytes];
        let sent = flow.is_some_and(|flow| session.send_datagram(now.time, flow, None, packet));
        if !sent {
            report.without_flow += 1;
            self.report.dropped += 1;
            return;
        }
        self.report.sent += 1;
        self.report.sent_bytes += bytes as u64;
        let user = users.of(user_address(user));
        user.datagrams_sent += 1;
        user.datagram_bytes_sent += bytes as u64;
    }

    fn allows(&mut self, way: PacketWay, ends: PacketEnds, onward: &mut dyn Onward) -> bool {
        let allowed = onward.allows_packet(way, ends);
        if !allowed && !std::mem::replace(&mut self.refused, true) {
            onward.refused_packet(way, ends);
        }
        allowed
    }
}
