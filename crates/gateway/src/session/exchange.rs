//! What a session does with datagrams of hosts.

use super::associations::Broken;
use super::lossy::Lossy;
use super::{Established, Event, OpenError, Received, Session, Why};
use crate::flow::FlowId;
use crate::target::{Channel, Target};
use bentpipe_base::Time;
use bentpipe_fec::Sent;
use std::collections::VecDeque;
use std::net::SocketAddr;

impl Established {
    /// Whether repairs of packets with datagrams may leave: a carrier that loses nothing needs none.
    pub(super) fn may_repair_datagrams(&self) -> bool {
        self.may_send_datagrams() && !self.plane.reliable
    }

    /// Whether packets with datagrams may leave.
    pub(super) fn may_send_datagrams(&self) -> bool {
        self.lossy.is_some() && self.plane.law_has_room()
    }
}

impl Session {
    /// Opens an association for UDP of a local user's host. The target's source is the host. Its destination is where datagrams
    /// without an address go, or has the port 0: then each has one. It ends by [`Session::reset`] from either side, or when it is
    /// idle for [`crate::Config::association_idle`].
    pub fn open_udp(&mut self, now: Time, user: u64, target: &Target) -> Result<FlowId, OpenError> {
        self.open_channel(now, user, Channel::Udp(*target))
    }

    /// Opens a channel for whole IP packets.
    pub fn open_ip(&mut self, now: Time, user: u64) -> Result<FlowId, OpenError> {
        self.open_channel(now, user, Channel::Ip)
    }

    fn open_channel(
        &mut self,
        now: Time,
        user: u64,
        channel: Channel,
    ) -> Result<FlowId, OpenError> {
        let it = self.established.as_mut().ok_or(OpenError::NoSession)?;
        if it.lossy.is_none() {
            return Err(OpenError::NoDatagrams);
        }
        it.flows.open_channel(now, user, channel)
    }

    /// Takes a datagram of at most 65,535 bytes, to be sent once. Where too many wait, the oldest is dropped. `address`: where it goes to, or at
    /// far where it came from, if that is not the association's destination. `false`: the flow carries no datagrams, or it is too long.
    pub fn send_datagram(
        &mut self,
        now: Time,
        flow: FlowId,
        address: Option<SocketAddr>,
        bytes: &[u8],
    ) -> bool {
        let flows = self.flows();
        flows.is_some_and(|flows| flows.send_datagram(now, flow, address, bytes))
    }

    /// The next datagram for a host. Events come first: one of them opens its association. What a driver does not take is dropped
    /// when there is no room for it.
    pub fn poll_received(&mut self) -> Option<Received> {
        self.flows()?.datagrams.arriving.take()
    }

    /// Bytes of datagrams that have come and wait for the driver, for other pieces or for their association, each with those of its record:
    /// at most three times [`crate::Config::datagram_buffer`].
    pub fn waiting_datagram_bytes(&self) -> u64 {
        let established = self.established.as_ref();
        established.map_or(0, |it| it.flows.datagrams.arriving.bytes())
    }

    /// A datagram of the second plane came.
    pub(super) fn handle_lossy(&mut self, now: Time, frame: &[u8]) {
        let Some(Established { lossy, flows, .. }) = &mut self.established else {
            return;
        };
        let Some(lossy) = lossy else {
            return;
        };
        if lossy.handle(now, frame).is_err() {
            self.figures.malformed += 1;
        }
        let mut broken: Option<Broken> = None;
        while let Some(released) = lossy.receiver.poll_release(now) {
            broken = broken.or(flows.on_datagrams(now, released.packet).err());
        }
        if let Some(broken) = broken {
            self.end(now, Why::Protocol(broken.to_string()), true);
        }
    }

    /// What the second plane sends, which counts against the rate of both.
    pub(super) fn of_lossy(
        it: &mut Established,
        now: Time,
        out: &mut Vec<u8>,
        poll: impl FnOnce(&mut Lossy, Time, &mut Vec<u8>) -> Option<Sent>,
    ) -> Option<Sent> {
        let before = out.len();
        let sent = poll(it.lossy.as_mut()?, now, out)?;
        it.plane.on_other_sent(now, sent.kind, out.len() - before);
        Some(sent)
    }

    /// A new packet of either plane.
    pub(super) fn push_next(
        it: &mut Established,
        now: Time,
        packet: &mut Vec<u8>,
        events: &mut VecDeque<Event>,
        out: &mut Vec<u8>,
    ) -> Option<Sent> {
        let max = it.plane.packet_max_bytes();
        loop {
            let others_may = it.plane.may_push() && it.flows.has_work();
            let are_datagrams = it.may_send_datagrams() && it.flows.are_datagrams_next(others_may);
            if !are_datagrams && !others_may {
                return None;
            }
            packet.clear();
            if are_datagrams && it.plane.wants_marker(now) {
                return it.plane.push(now, packet, false, out);
            }
            if !are_datagrams {
                let Some(express) =
                    it.flows
                        .fill(now, it.plane.sender.next_number(), max, packet, events)
                else {
                    // No flow had credit. Datagrams need none.
                    if it.flows.has_work() {
                        return None;
                    }
                    continue;
                };
                return it.plane.push(now, packet, express, out);
            }
            if it.flows.fill_datagrams(now, max, others_may, packet) {
                return Self::of_lossy(it, now, out, |lossy, now, out| {
                    lossy.push(now, packet, out)
                });
            }
        }
    }
}
