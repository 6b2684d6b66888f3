//! The flows of a session: their bytes, their credit, and what goes into the next packet.

mod arriving;
mod leaving;

pub(crate) use arriving::Violation;

use super::datagrams::Datagrams;
use super::{OpenError, ResetCode, Role};
use crate::config::Config;
use crate::flow::{Flow, FlowId, Pieces, ReceiveHalf, SendHalf};
use crate::hello::Hello;
use crate::scheduler::Scheduler;
use crate::target::Target;
use bentpipe_base::{OrderedMap, OrderedSet, Time};
use std::collections::VecDeque;

/// Session credit is renewed when this share of what it could be is used up.
const CREDIT_SHARE: u64 = 8;
/// Less is not worth a frame.
const LEAST_CREDIT: u64 = 1024;
/// Of the bytes that wait to be sent, each flow may have a quarter of what the others leave, and never less than this.
const SEND_SHARE: u64 = 4;

/// What a host may take of a flow without the other gateway hearing of it, where there is so much room for all flows. The other gateway knows
/// of less room than there is: by what it has not been told yet. It is half of what it knows of at least.
fn share_of(room: u64) -> u64 {
    (room - (room / CREDIT_SHARE).max(LEAST_CREDIT).min(room)) / 2
}

#[derive(Debug)]
pub(crate) struct Flows {
    role: Role,
    by_id: OrderedMap<FlowId, Flow>,
    /// How many were opened from here, and may be, and of how many nothing is left.
    opened: u64,
    may_open: u64,
    opened_over: u64,
    /// How many the other gateway has opened, may open, and of how many nothing is left.
    accepted: u64,
    may_accept: u64,
    accepted_over: u64,
    keeps_at_most: u64,
    /// Payload of all flows: sent, and how much may be.
    sent: u64,
    may_send: u64,
    /// Payload of all flows: that has come, that hosts took, and how much may come.
    came: u64,
    taken: u64,
    may_come: u64,
    session_window: u64,
    flow_window: u64,
    flow_start_window: u64,
    send_buffer: u64,
    /// Of all flows: bytes that wait to be sent, and pieces that wait for bytes before them.
    waiting_to_send: u64,
    early_pieces: usize,
    peer_flow_credit: u64,
    pub(super) scheduler: Scheduler,
    pub(super) datagrams: Datagrams,
    takes_udp: bool,
    takes_ip: bool,
    takes_names: bool,
    /// Byte streams that have something to send, but for the session's credit.
    streams_with_work: usize,
    resets: VecDeque<(FlowId, u8)>,
    /// Flows whose credit is to be looked at.
    credits: OrderedSet<FlowId>,
    /// What hosts have taken of flows since the other gateway was told their limits.
    unrenewed: OrderedSet<(u64, FlowId)>,
    /// Flows that have used up their shares of the session's credit, and what they sent since their limits were raised.
    held: OrderedSet<(u64, FlowId)>,
    pub resets_seen: u64,
    /// Memory for bytes of flows.
    pieces: Pieces,
    /// Packets, with flows whose bytes are in them and are kept.
    unreported: VecDeque<(u64, FlowId)>,
}

impl Flows {
    pub fn new(config: &Config, role: Role, peer: &Hello) -> Self {
        Self {
            role,
            by_id: OrderedMap::new(),
            opened: 0,
            may_open: peer.flows.into(),
            opened_over: 0,
            accepted: 0,
            may_accept: config.max_flows.into(),
            accepted_over: 0,
            keeps_at_most: config.max_flows.into(),
            sent: 0,
            may_send: peer.session_credit,
            came: 0,
            taken: 0,
            may_come: config.session_window,
            session_window: config.session_window,
            flow_window: config.flow_window,
            flow_start_window: config.flow_start_window,
            send_buffer: config.send_buffer,
            waiting_to_send: 0,
            early_pieces: 0,
            peer_flow_credit: peer.flow_credit,
            scheduler: Scheduler::default(),
            datagrams: Datagrams::new(config),
            // What the other gateway does not offer it cannot have.
            takes_udp: config.takes_udp && peer.datagram_packets > 0,
            takes_ip: config.takes_ip && peer.datagram_packets > 0,
            takes_names: config.takes_names,
            streams_with_work: 0,
            resets: VecDeque::new(),
            credits: OrderedSet::new(),
            unrenewed: OrderedSet::new(),
            held: OrderedSet::new(),
            resets_seen: 0,
            pieces: Pieces::default(),
            unreported: VecDeque::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn has(&self, id: FlowId) -> bool {
        self.by_id.contains_key(id)
    }

    pub fn opened(&self) -> u64 {
        self.opened
    }

    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    pub fn sent_bytes(&self) -> u64 {
        self.sent
    }

    pub fn taken_bytes(&self) -> u64 {
        self.taken
    }

    pub fn waiting_bytes(&self) -> u64 {
        self.came - self.taken
    }

    pub fn waiting_to_send(&self) -> u64 {
        self.waiting_to_send
    }

    pub fn ids(&self) -> impl Iterator<Item = FlowId> {
        self.by_id.keys()
    }

    fn is_own(&self, id: FlowId) -> bool {
        id.0.is_multiple_of(2) == (self.role == Role::Near)
    }

    fn new_flow(&self, user: u64, expects_target: bool) -> Flow {
        let mut send = SendHalf::new(self.peer_flow_credit);
        if expects_target {
            send.keep_nothing();
        }
        Flow {
            user,
            send,
            receive: ReceiveHalf::new(self.flow_start_window),
            expects_target,
            told_readable: false,
            wants_room: false,
            has_work: false,
            is_held: false,
        }
    }

    pub fn open(&mut self, user: u64, target: &Target) -> Result<FlowId, OpenError> {
        self.open_with(user, &target.to_bytes())
    }

    pub(super) fn open_with(&mut self, user: u64, target: &[u8]) -> Result<FlowId, OpenError> {
        if self.opened >= self.may_open.min(self.opened_over + self.keeps_at_most) {
            return Err(OpenError::TooMany);
        }
        let id = FlowId(2 * self.opened + u64::from(self.role == Role::Far));
        self.opened += 1;
        let mut flow = self.new_flow(user, false);
        flow.send.write(target);
        self.waiting_to_send += flow.send.buffered();
        self.by_id.insert(id, flow);
        self.look_for_work(id);
        Ok(id)
    }

    /// All packets before this one have arrived.
    pub fn on_acknowledged(&mut self, packet: u64) {
        while let Some((_, id)) = self.unreported.pop_front_if(|it| it.0 < packet) {
            self.arrived(id);
        }
    }

    /// The other gateway has got something of a flow.
    fn arrived(&mut self, id: FlowId) {
        if let Some(flow) = self.by_id.get_mut(id) {
            flow.send.keep_nothing();
        }
    }

    /// What hosts wrote to flows of which nothing left at `since` or before (`None`: at all), without their targets.
    /// Associations are left out.
    pub fn give_back(&mut self, since: Option<Time>) -> Vec<(FlowId, Vec<u8>)> {
        let ids: Vec<_> = self.ids().filter(|&id| self.is_own(id)).collect();
        let mut given = Vec::new();
        for id in ids {
            if self.datagrams.has(id) {
                continue;
            }
            let flow = self.by_id.get_mut(id);
            if let Some(mut bytes) = flow.and_then(|flow| flow.send.give_back(since)) {
                // Its first byte is the target's length.
                let target = bytes.first().copied().unwrap_or_default();
                bytes.drain(..bytes.len().min(target.into()));
                given.push((id, bytes));
            }
        }
        given
    }

    /// So many bytes of one flow may wait to be sent.
    fn send_limit(&self) -> u64 {
        let free = self.session_window.saturating_sub(self.waiting_to_send);
        let least = Config::LEAST_SEND_BUFFER.min(self.send_buffer);
        (free / SEND_SHARE).clamp(least, self.send_buffer)
    }

    /// Takes as many bytes as there is room for. When there is room again, an event says so.
    pub fn write(&mut self, id: FlowId, bytes: &[u8]) -> usize {
        self.write_with(id, bytes.len(), |send, taken, _| {
            send.write(&bytes[..taken]);
        })
    }

    /// As [`Self::write`], and takes the memory where it is full for the most part.
    pub fn write_piece(&mut self, id: FlowId, piece: &mut Vec<u8>) -> usize {
        self.write_with(id, piece.len(), |send, taken, pieces| {
            piece.truncate(taken);
            send.write_piece(piece, pieces);
        })
    }

    fn write_with(
        &mut self,
        id: FlowId,
        bytes: usize,
        write: impl FnOnce(&mut SendHalf, usize, &mut Pieces),
    ) -> usize {
        let limit = self.send_limit();
        let Some(flow) = self.by_id.get_mut(id) else {
            return 0;
        };
        if flow.send.is_finished() || self.datagrams.has(id) {
            return 0;
        }
        let room = limit.saturating_sub(flow.send.buffered()) as usize;
        let taken = bytes.min(room);
        write(&mut flow.send, taken, &mut self.pieces);
        self.waiting_to_send += taken as u64;
        flow.wants_room = taken < bytes;
        self.look_for_work(id);
        taken
    }

    /// How many bytes a driver is to write at once: none until a quarter of the buffer is free, so that it does not read from its host
    /// in small pieces. Asked for when there are none, an event says when there are.
    pub fn room(&mut self, id: FlowId) -> usize {
        let limit = self.send_limit();
        let Some(flow) = self.by_id.get_mut(id) else {
            return 0;
        };
        let room = limit.saturating_sub(flow.send.buffered());
        if 4 * room < limit {
            flow.wants_room = true;
            return 0;
        }
        room as usize
    }

    pub fn finish(&mut self, id: FlowId) {
        if let Some(flow) = self.by_id.get_mut(id).filter(|_| !self.datagrams.has(id)) {
            flow.send.finish();
            self.look_for_work(id);
        }
    }

    /// Ends both directions; the other gateway is told.
    pub fn reset(&mut self, id: FlowId, code: ResetCode) {
        if self.forget(id) {
            self.resets.push_back((id, code as u8));
        }
    }

    /// A flow is over, and no RESET of it waits: another one may take its place.
    fn count_as_over(&mut self, id: FlowId) {
        if self.is_own(id) {
            self.opened_over += 1;
        } else {
            self.accepted_over += 1;
        }
    }

    /// Where a flow that the other gateway opened belongs from now on.
    pub fn set_user(&mut self, id: FlowId, user: u64) {
        if let Some(flow) = self.by_id.get_mut(id) {
            self.scheduler.forget(flow.user, id.0);
            flow.user = user;
            self.streams_with_work -= usize::from(core::mem::take(&mut flow.has_work));
            self.look_for_work(id);
        }
    }

    pub fn readable(&mut self, id: FlowId) -> &[u8] {
        let Some(flow) = self.by_id.get_mut(id) else {
            return &[];
        };
        if flow.expects_target {
            return &[];
        }
        flow.told_readable = false;
        flow.receive.readable()
    }

    pub fn has_ended(&self, id: FlowId) -> bool {
        let flow = self.by_id.get(id);
        flow.is_some_and(|flow| flow.receive.has_ended() && flow.receive.ready() == 0)
    }

    pub fn consume(&mut self, id: FlowId, bytes: usize) {
        let Some(flow) = self.by_id.get_mut(id) else {
            return;
        };
        let before = flow.receive.since_limit();
        flow.receive.consume(bytes, &mut self.pieces);
        self.taken += bytes as u64;
        self.unrenewed.remove((before, id));
        self.unrenewed.insert((flow.receive.since_limit(), id));
        if flow
            .receive
            .owes_limit(share_of(self.session_window - (self.came - self.taken)))
        {
            self.credits.insert(id);
        }
        self.settle(id);
    }

    /// The less room all flows have, the sooner the other gateway is to hear that a host has taken something.
    fn look_for_credits(&mut self) {
        let share = share_of(self.room_for_all());
        while let Some((taken, id)) = self.unrenewed.last().filter(|it| it.0 >= share.max(1)) {
            self.unrenewed.remove((taken, id));
            self.credits.insert(id);
        }
    }

    /// A flow of which nothing is left on either side is forgotten.
    fn settle(&mut self, id: FlowId) {
        if self.by_id.get(id).is_some_and(Flow::is_over) && self.forget(id) {
            self.count_as_over(id);
        }
    }

    /// Whether there was such a flow.
    fn forget(&mut self, id: FlowId) -> bool {
        let Some(flow) = self.by_id.remove(id) else {
            return false;
        };
        self.scheduler.forget(flow.user, id.0);
        self.streams_with_work -= usize::from(flow.has_work);
        self.datagrams.forget(id);
        self.credits.remove(id);
        self.unrenewed.remove((flow.receive.since_limit(), id));
        self.held.remove((flow.send.since_limit(), id));
        self.taken += flow.receive.buffered();
        self.waiting_to_send -= flow.send.buffered();
        self.early_pieces -= flow.receive.early_pieces();
        true
    }

    pub(super) fn look_for_work(&mut self, id: FlowId) {
        if let Some(flow) = self.by_id.get_mut(id) {
            // The session's credit concerns all: it is looked at when a packet is made.
            let has_work = flow.send.has_work() && !flow.is_held;
            self.streams_with_work += usize::from(has_work);
            self.streams_with_work -= usize::from(flow.has_work);
            flow.has_work = has_work;
            let has_work = has_work || self.datagrams.leaving.has(id);
            self.scheduler.set_work(flow.user, id.0, has_work);
        }
    }

    /// Whether a flow has bytes to send, its target among them.
    pub(super) fn has_bytes(&self, id: FlowId) -> bool {
        self.by_id.get(id).is_some_and(|flow| flow.has_work)
    }

    pub(super) fn charge(&mut self, id: FlowId, bytes: usize) {
        if let Some(flow) = self.by_id.get(id) {
            self.scheduler.charge(flow.user, id.0, bytes);
        }
    }
}
