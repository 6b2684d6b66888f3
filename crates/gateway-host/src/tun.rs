//! Whole IP packets of hosts, by a TUN device: ping, and whatever else is neither TCP nor UDP that another way takes in.
//!
//! Near opens one flow of whole packets (kind 3) as soon as there is a session, and again when it was reset. At far, the newest one holds.

use crate::clock::Now;
use crate::onward::{Onward, PacketWay};
use crate::packet_ends::PacketEnds;
use crate::report::AssociationsReport;
use crate::user::user_address;
use crate::users::Users;
use bentpipe_gateway::{FlowId, Received, ResetCode, Role, Session};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Packets in a row, before others have their turn.
const PACKETS_PER_TURN: usize = 64;
/// The longest packet has less.
const BUFFER_BYTES: usize = 1 << 16;
/// Between two attempts to open a flow.
const OPEN_AGAIN: Duration = Duration::from_secs(1);
/// The same where the other gateway takes no packets.
const ASK_AGAIN: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(crate) struct Tun {
    device: OwnedFd,
    role: Role,
    flow: Option<FlowId>,
    /// Near: when a flow may be opened.
    open_at: Instant,
    readable: bool,
    buffer: Vec<u8>,
    /// A packet was refused before.
    refused: bool,
}

impl Tun {
    /// `device` reads and writes one IP packet at a time, and does not block.
    pub fn new(device: OwnedFd, role: Role) -> Self {
        Self {
            device,
            role,
            flow: None,
            open_at: Instant::now(),
            readable: true,
            buffer: vec![0; BUFFER_BYTES],
            refused: false,
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
        self.refused = false;
        if let Some(old) = self.flow.replace(flow) {
            session.reset(old, ResetCode::Closed);
        }
    }

    /// Whether it was the packets' flow. It is over.
    pub fn flow_reset(&mut self, flow: FlowId, code: ResetCode) -> bool {
        let is_ours = self.flow == Some(flow);
        if is_ours {
            self.flow = None;
            let pause = match code {
                ResetCode::NotAllowed => ASK_AGAIN,
                _ => OPEN_AGAIN,
            };
            self.open_at = Instant::now() + pause;
        }
        is_ours
    }

    /// Gives the kernel a packet. False: the flow is another one.
    pub fn give(
        &mut self,
        received: &Received,
        onward: &mut dyn Onward,
        users: &mut Users,
        report: &mut AssociationsReport,
    ) -> bool {
        if self.flow != Some(received.flow) {
            return false;
        }
        let Some(ends) = PacketEnds::of(&received.bytes) else {
            report.malformed += 1;
            return true;
        };
        if !self.allows(PacketWay::Comes, ends, onward) {
            report.refused += 1;
            return true;
        }
        if rustix::io::write(&self.device, &received.bytes).is_err() {
            report.unsent += 1;
            return true;
        }
        let user = match self.role {
            Role::Near => ends.destination,
            Role::Far => ends.source,
        };
        let user = users.of(user_address(user));
        user.datagrams_delivered += 1;
        user.datagram_bytes_delivered += received.bytes.len() as u64;
        true
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
        if self.role == Role::Near
            && self.flow.is_none()
            && session.has_session()
            && self.open_at <= now.instant
        {
            self.flow = session.open_ip(now.time, 0).ok();
            self.refused = false;
            self.open_at = now.instant + OPEN_AGAIN;
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
            return;
        }
        let packet = &self.buffer[..bytes];
        let sent = self
            .flow
            .is_some_and(|flow| session.send_datagram(now.time, flow, None, packet));
        if !sent {
            report.without_flow += 1;
            return;
        }
        let user = match self.role {
            Role::Near => ends.source,
            Role::Far => ends.destination,
        };
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
