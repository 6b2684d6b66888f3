//! What goes into the next packet, and whether there is anything.

use super::{CREDIT_SHARE, Flows, LEAST_CREDIT, share_of};
use crate::flow::FlowId;
use crate::frame::Frame;
use crate::session::Event;
use bentpipe_base::Time;
use std::collections::VecDeque;

/// The longest frame that is no DATA: a type and two numbers.
const CONTROL_FRAME_BYTES: usize = 17;
/// A DATA frame with fewer bytes than these does not fill a packet's end.
const LEAST_DATA: usize = 32;
/// A flow that may send less than so much of what it has waits for more credit.
const LEAST_SHARE: u64 = 64;

impl Flows {
    fn session_credit(&self) -> u64 {
        self.may_send - self.sent
    }

    /// Whether a packet would have something in it.
    pub fn has_work(&self) -> bool {
        self.has_control() || self.has_data()
    }

    /// Frames without a flow's bytes.
    pub(in crate::session) fn has_control(&self) -> bool {
        !self.resets.is_empty()
            || !self.credits.is_empty()
            || self.owes_session_credit()
            || self.owes_flows_credit()
    }

    fn has_data(&self) -> bool {
        self.streams_with_work > 0
    }

    /// There is no credit for this flow until one of the other gateway's limits is raised.
    fn hold(&mut self, id: FlowId) {
        if let Some(flow) = self.by_id.get_mut(id) {
            flow.is_held = true;
            self.held.insert((flow.send.since_limit(), id));
            self.look_for_work(id);
        }
    }

    pub(super) fn release_held(&mut self) {
        let enough = self.session_credit().saturating_sub(2 * LEAST_SHARE);
        while let Some((sent, id)) = self.held.first().filter(|it| it.0 < enough) {
            self.held.remove((sent, id));
            if let Some(flow) = self.by_id.get_mut(id) {
                flow.is_held = false;
            }
            self.look_for_work(id);
        }
    }

    /// Bytes that may come before hosts take more.
    pub(super) fn room_for_all(&self) -> u64 {
        self.session_window - self.waiting_bytes()
    }

    /// Hosts that take nothing must not keep the others' credit: it goes by the room that those leave.
    fn owes_session_credit(&self) -> bool {
        let room = self.room_for_all();
        let gain = self.taken + self.session_window - self.may_come;
        gain >= (room / CREDIT_SHARE).max(LEAST_CREDIT)
    }

    fn owes_flows_credit(&self) -> bool {
        self.may_accept - self.accepted_over <= self.keeps_at_most / 2
    }

    /// Fills a packet with at most `max` bytes. Whether there is anything in it, and whether it has the last bytes that a flow has
    /// which was idle. `packet` is its number.
    pub fn fill(
        &mut self,
        now: Time,
        packet: u64,
        max: usize,
        out: &mut Vec<u8>,
        events: &mut VecDeque<Event>,
    ) -> Option<bool> {
        let start = out.len();
        self.fill_control(start + max, out);
        let mut express = false;
        while out.len() + LEAST_DATA < start + max && self.has_data() {
            let Some((user, id, is_new)) = self.scheduler.next() else {
                break;
            };
            let id = FlowId(id);
            if !self.has_bytes(id) && self.datagrams.leaving.has(id) {
                // The next packet's.
                break;
            }
            let share = self
                .by_id
                .get(id)
                .map_or(0, |it| it.send.share(self.session_credit()));
            let limit = self.send_limit();
            let Some(flow) = self.by_id.get_mut(id) else {
                self.scheduler.set_work(user, id.0, false);
                continue;
            };
            let room = start + max - out.len();
            let header = Frame::data_header_bytes(id, flow.send.offset(), room);
            let most = flow.send.buffered().min(flow.send.credit());
            if share < most.min(LEAST_SHARE) {
                self.hold(id);
                continue;
            }
            let bytes = most.min(share) as usize;
            let bytes = bytes.min(room.saturating_sub(header));
            let end = flow.send.ends_with(bytes);
            if bytes == 0 && !end {
                self.look_for_work(id);
                break;
            }
            self.waiting_to_send -= bytes as u64;
            let before = out.len();
            Frame::write_data_header(id, flow.send.offset(), bytes, end, out);
            flow.send.take(now, bytes, out, &mut self.pieces);
            if flow.send.is_kept() {
                self.unreported.push_back((packet, id));
            }
            self.sent += bytes as u64;
            express |= is_new && flow.send.buffered() == 0;
            let waits = flow.send.buffered();
            if flow.wants_room && 2 * waits <= limit {
                flow.wants_room = false;
                events.push_back(Event::Writable(id));
            }
            self.scheduler.charge(user, id.0, out.len() - before);
            self.look_for_work(id);
            self.settle(id);
        }
        (out.len() > start).then_some(express)
    }

    fn fill_control(&mut self, end: usize, out: &mut Vec<u8>) {
        let has_room = |out: &Vec<u8>| out.len() + CONTROL_FRAME_BYTES <= end;
        if self.owes_session_credit() && has_room(out) {
            self.may_come = self.taken + self.session_window;
            let limit = self.may_come;
            Frame::SessionCredit { limit }.write(out);
        }
        if self.owes_flows_credit() && has_room(out) {
            self.may_accept = self.accepted_over + self.keeps_at_most;
            let limit = self.may_accept;
            Frame::FlowsCredit { limit }.write(out);
        }
        while has_room(out)
            && let Some((flow, code)) = self.resets.pop_front()
        {
            Frame::Reset { flow, code }.write(out);
            self.count_as_over(flow);
        }
        while has_room(out)
            && let Some(flow) = self.credits.pop_first()
        {
            let largest = self.flow_window;
            let share = share_of(self.room_for_all());
            let Some(it) = self.by_id.get_mut(flow) else {
                continue;
            };
            let before = it.receive.since_limit();
            if let Some(limit) = it.receive.new_limit(largest, share) {
                Frame::FlowCredit { flow, limit }.write(out);
                self.unrenewed.remove((before, flow));
            } else {
                self.unrenewed.insert((before, flow));
            }
        }
    }
}
