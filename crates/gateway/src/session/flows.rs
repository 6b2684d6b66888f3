//! The flows of a session: their bytes, their credit, and what goes into the next packet.

use super::datagrams::{Datagrams, PieceError};
use super::{Event, OpenError, ResetCode, Role};
use crate::config::Config;
use crate::flow::{Flow, FlowId, ReceiveError, ReceiveHalf, SendHalf};
use crate::frame::Frame;
use crate::hello::Hello;
use crate::scheduler::Scheduler;
use crate::target::{Channel, Purpose, Target};
use bentpipe_base::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The longest frame that is no DATA: a type and two numbers.
const CONTROL_FRAME_BYTES: usize = 17;
/// A DATA frame with fewer bytes than these does not fill a packet's end.
const LEAST_DATA: usize = 32;
/// Session credit is renewed when this share of what it could be is used up.
const CREDIT_SHARE: u64 = 8;
/// Less is not worth a frame.
const LEAST_CREDIT: u64 = 1024;
/// A flow that may send less than so much of what it has waits for more credit.
const LEAST_SHARE: u64 = 64;
/// Of the bytes that wait to be sent, each flow may have a quarter of what the others leave, and never less than this.
const SEND_SHARE: u64 = 4;

/// What a host may take of a flow without the other gateway hearing of it, where there is so much room for all flows. The other gateway knows
/// of less room than there is: by what it has not been told yet. It is half of what it knows of at least.
fn share_of(room: u64) -> u64 {
    (room - (room / CREDIT_SHARE).max(LEAST_CREDIT).min(room)) / 2
}

/// The other gateway does not keep to the protocol: the session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    Receive(FlowId, ReceiveError),
    SessionCredit,
    FlowsCredit(FlowId),
    /// It speaks of a flow that was never opened from here.
    NeverOpened(FlowId),
    /// The flow takes no datagrams, or none with an address.
    NoDatagrams(FlowId),
    Piece(PieceError),
    /// What pieces give is no datagram.
    Whole,
}

#[derive(Debug)]
pub(crate) struct Flows {
    role: Role,
    by_id: BTreeMap<FlowId, Flow>,
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
    credits: BTreeSet<FlowId>,
    /// What hosts have taken of flows since the other gateway was told their limits.
    unrenewed: BTreeSet<(u64, FlowId)>,
    /// Flows that have used up their shares of the session's credit, and what they sent since their limits were raised.
    held: BTreeSet<(u64, FlowId)>,
    pub resets_seen: u64,
}

impl Flows {
    pub fn new(config: &Config, role: Role, peer: &Hello) -> Self {
        Self {
            role,
            by_id: BTreeMap::new(),
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
            credits: BTreeSet::new(),
            unrenewed: BTreeSet::new(),
            held: BTreeSet::new(),
            resets_seen: 0,
        }
    }

    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn has(&self, id: FlowId) -> bool {
        self.by_id.contains_key(&id)
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
        self.by_id.keys().copied()
    }

    fn is_own(&self, id: FlowId) -> bool {
        id.0.is_multiple_of(2) == (self.role == Role::Near)
    }

    fn new_flow(&self, user: u64, expects_target: bool) -> Flow {
        Flow {
            user,
            send: SendHalf::new(self.peer_flow_credit),
            receive: ReceiveHalf::new(self.flow_start_window),
            expects_target,
            told_readable: false,
            wants_room: false,
            has_work: false,
            is_held: false,
        }
    }

    // --- from the hosts ---

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

    /// So many bytes of one flow may wait to be sent.
    fn send_limit(&self) -> u64 {
        let free = self.session_window.saturating_sub(self.waiting_to_send);
        let least = Config::LEAST_SEND_BUFFER.min(self.send_buffer);
        (free / SEND_SHARE).clamp(least, self.send_buffer)
    }

    /// Takes as many bytes as there is room for. When there is room again, an event says so.
    pub fn write(&mut self, id: FlowId, bytes: &[u8]) -> usize {
        let limit = self.send_limit();
        let Some(flow) = self.by_id.get_mut(&id) else {
            return 0;
        };
        if flow.send.is_finished() || self.datagrams.has(id) {
            return 0;
        }
        let room = limit.saturating_sub(flow.send.buffered()) as usize;
        let taken = bytes.len().min(room);
        flow.send.write(&bytes[..taken]);
        self.waiting_to_send += taken as u64;
        flow.wants_room = taken < bytes.len();
        self.look_for_work(id);
        taken
    }

    /// How many bytes a driver is to write at once: none until a quarter of the buffer is free, so that it does not read from its host
    /// in small pieces. Asked for when there are none, an event says when there are.
    pub fn room(&mut self, id: FlowId) -> usize {
        let limit = self.send_limit();
        let Some(flow) = self.by_id.get_mut(&id) else {
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
        if let Some(flow) = self.by_id.get_mut(&id).filter(|_| !self.datagrams.has(id)) {
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
        if let Some(flow) = self.by_id.get_mut(&id) {
            self.scheduler.forget(flow.user, id.0);
            flow.user = user;
            self.streams_with_work -= usize::from(core::mem::take(&mut flow.has_work));
            self.look_for_work(id);
        }
    }

    pub fn readable(&mut self, id: FlowId) -> &[u8] {
        let Some(flow) = self.by_id.get_mut(&id) else {
            return &[];
        };
        if flow.expects_target {
            return &[];
        }
        flow.told_readable = false;
        flow.receive.readable()
    }

    pub fn has_ended(&self, id: FlowId) -> bool {
        let flow = self.by_id.get(&id);
        flow.is_some_and(|flow| flow.receive.has_ended() && flow.receive.ready() == 0)
    }

    pub fn consume(&mut self, id: FlowId, bytes: usize) {
        let Some(flow) = self.by_id.get_mut(&id) else {
            return;
        };
        let before = flow.receive.since_limit();
        flow.receive.consume(bytes);
        self.taken += bytes as u64;
        self.unrenewed.remove(&(before, id));
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
        while let Some(&(taken, id)) = self.unrenewed.last().filter(|it| it.0 >= share.max(1)) {
            self.unrenewed.remove(&(taken, id));
            self.credits.insert(id);
        }
    }

    /// A flow of which nothing is left on either side is forgotten.
    fn settle(&mut self, id: FlowId) {
        if self.by_id.get(&id).is_some_and(Flow::is_over) && self.forget(id) {
            self.count_as_over(id);
        }
    }

    /// Whether there was such a flow.
    fn forget(&mut self, id: FlowId) -> bool {
        let Some(flow) = self.by_id.remove(&id) else {
            return false;
        };
        self.scheduler.forget(flow.user, id.0);
        self.streams_with_work -= usize::from(flow.has_work);
        self.datagrams.forget(id);
        self.credits.remove(&id);
        self.unrenewed.remove(&(flow.receive.since_limit(), id));
        self.held.remove(&(flow.send.since_limit(), id));
        self.taken += flow.receive.buffered();
        self.waiting_to_send -= flow.send.buffered();
        self.early_pieces -= flow.receive.early_pieces();
        true
    }

    pub(super) fn look_for_work(&mut self, id: FlowId) {
        if let Some(flow) = self.by_id.get_mut(&id) {
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
        self.by_id.get(&id).is_some_and(|flow| flow.has_work)
    }

    pub(super) fn charge(&mut self, id: FlowId, bytes: usize) {
        if let Some(flow) = self.by_id.get(&id) {
            self.scheduler.charge(flow.user, id.0, bytes);
        }
    }

    // --- from the other gateway ---

    pub fn handle(
        &mut self,
        now: Time,
        frame: Frame<'_>,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Violation> {
        match frame {
            Frame::Data {
                flow,
                offset,
                bytes,
                end,
            } => self.on_data(now, flow, offset, bytes, end, events),
            Frame::Reset { flow, code } => {
                self.find(flow)?;
                if self.forget(flow) {
                    self.count_as_over(flow);
                    self.resets_seen += 1;
                    events.push_back(Event::Reset {
                        flow,
                        code: ResetCode::from_number(code),
                    });
                }
                Ok(())
            }
            Frame::FlowCredit { flow, limit } => {
                self.find(flow)?;
                if let Some(it) = self.by_id.get_mut(&flow) {
                    self.held.remove(&(it.send.since_limit(), flow));
                    it.is_held = false;
                    it.send.on_credit(limit);
                    self.look_for_work(flow);
                }
                Ok(())
            }
            Frame::SessionCredit { limit } => {
                self.may_send = self.may_send.max(limit);
                self.release_held();
                Ok(())
            }
            Frame::FlowsCredit { limit } => {
                self.may_open = self.may_open.max(limit);
                Ok(())
            }
        }
    }

    /// Packets overtake each other: one of a flow may come before the one that opens it, or before those of older flows.
    fn find(&mut self, id: FlowId) -> Result<(), Violation> {
        let place = id.0 / 2;
        if self.is_own(id) {
            let was_opened = place < self.opened;
            return was_opened.then_some(()).ok_or(Violation::NeverOpened(id));
        }
        if place >= self.may_accept {
            return Err(Violation::FlowsCredit(id));
        }
        while self.accepted <= place {
            let new = FlowId(2 * self.accepted + id.0 % 2);
            self.accepted += 1;
            // Until its target has come, it is nobody's.
            let flow = self.new_flow(u64::MAX, true);
            self.by_id.insert(new, flow);
        }
        Ok(())
    }

    /// Whether it is known what a flow is for. `false`: the frame that opens it is still under way.
    pub(super) fn is_known(&self, id: FlowId) -> Result<bool, Violation> {
        let place = id.0 / 2;
        if self.is_own(id) {
            let was_opened = place < self.opened;
            return was_opened.then_some(true).ok_or(Violation::NeverOpened(id));
        }
        if place >= self.may_accept {
            return Err(Violation::FlowsCredit(id));
        }
        let waits = self.by_id.get(&id).is_some_and(|it| it.expects_target);
        Ok(place < self.accepted && !waits)
    }

    fn on_data(
        &mut self,
        now: Time,
        id: FlowId,
        offset: u64,
        bytes: &[u8],
        end: bool,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Violation> {
        self.find(id)?;
        self.came += bytes.len() as u64;
        if self.came > self.may_come {
            return Err(Violation::SessionCredit);
        }
        self.look_for_credits();
        let Some(flow) = self.by_id.get_mut(&id) else {
            // It was reset from here, and the other gateway has not heard of it.
            self.taken += bytes.len() as u64;
            return Ok(());
        };
        let early = flow.receive.early_pieces();
        let received = flow.receive.on_data(offset, bytes, end);
        received.map_err(|error| Violation::Receive(id, error))?;
        self.early_pieces += flow.receive.early_pieces();
        self.early_pieces -= early;
        if self.early_pieces as u64 > Config::early_pieces(self.session_window) {
            let code = ResetCode::Overloaded;
            self.reset(id, code);
            events.push_back(Event::Reset { flow: id, code });
            return Ok(());
        }
        if flow.expects_target && !self.read_target(now, id, events) {
            return Ok(());
        }
        let Some(flow) = self.by_id.get_mut(&id) else {
            return Ok(());
        };
        let is_news = flow.receive.ready() > 0 || flow.receive.has_ended();
        if is_news && self.datagrams.has(id) {
            // An association has no bytes behind its target, and no end but a reset.
            let code = ResetCode::Target;
            self.reset(id, code);
            events.push_back(Event::Reset { flow: id, code });
            return Ok(());
        }
        if is_news && !flow.told_readable {
            flow.told_readable = true;
            events.push_back(Event::Readable(id));
        }
        // An end without bytes may be all that was missing.
        self.settle(id);
        Ok(())
    }

    /// Whether the target is known now.
    fn read_target(&mut self, now: Time, id: FlowId, events: &mut VecDeque<Event>) -> bool {
        let Some(flow) = self.by_id.get_mut(&id) else {
            return false;
        };
        let ready = flow.receive.readable();
        let has_ended = flow.receive.has_ended();
        if ready.is_empty() && !has_ended {
            return false;
        }
        let target = match Target::length(ready.first().copied().unwrap_or(0)) {
            Ok(length) if ready.len() < length && !has_ended => return false,
            Ok(length) => Purpose::from_bytes(&ready[..length.min(ready.len())])
                .map(|purpose| (purpose, length)),
            Err(error) => Err(error),
        };
        let code = match target {
            Ok((Purpose::Datagrams(Channel::Udp(_)), _)) if !self.takes_udp => {
                Some(ResetCode::NotAllowed)
            }
            Ok((Purpose::Datagrams(Channel::Ip), _)) if !self.takes_ip => {
                Some(ResetCode::NotAllowed)
            }
            Ok((Purpose::Named(_), _)) if !self.takes_names => Some(ResetCode::NotAllowed),
            Ok(_) => None,
            Err(_) => Some(ResetCode::Target),
        };
        let (Ok((purpose, length)), None) = (target, code) else {
            self.reset(id, code.unwrap_or(ResetCode::Target));
            return false;
        };
        flow.receive.consume(length);
        flow.expects_target = false;
        self.taken += length as u64;
        match purpose {
            Purpose::Tcp(target) => events.push_back(Event::Opened { flow: id, target }),
            Purpose::Named(target) => {
                events.push_back(Event::OpenedNamed { flow: id, target });
            }
            Purpose::Datagrams(channel) => {
                self.datagrams.open(now, id, channel);
                events.push_back(Event::OpenedChannel { flow: id, channel });
            }
        }
        let takes = self.datagrams.has(id);
        self.datagrams.arriving.settle_early(id, takes);
        true
    }

    // --- to the other gateway ---

    fn session_credit(&self) -> u64 {
        self.may_send - self.sent
    }

    /// Whether a packet would have something in it.
    pub fn has_work(&self) -> bool {
        self.has_control() || self.has_data()
    }

    /// Frames without a flow's bytes.
    pub(super) fn has_control(&self) -> bool {
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
        if let Some(flow) = self.by_id.get_mut(&id) {
            flow.is_held = true;
            self.held.insert((flow.send.since_limit(), id));
            self.look_for_work(id);
        }
    }

    fn release_held(&mut self) {
        let enough = self.session_credit().saturating_sub(2 * LEAST_SHARE);
        while let Some(&(sent, id)) = self.held.first().filter(|it| it.0 < enough) {
            self.held.remove(&(sent, id));
            if let Some(flow) = self.by_id.get_mut(&id) {
                flow.is_held = false;
            }
            self.look_for_work(id);
        }
    }

    /// Bytes that may come before hosts take more.
    fn room_for_all(&self) -> u64 {
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
    /// which was idle.
    pub fn fill(
        &mut self,
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
                .get(&id)
                .map_or(0, |it| it.send.share(self.session_credit()));
            let limit = self.send_limit();
            let Some(flow) = self.by_id.get_mut(&id) else {
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
            flow.send.take(bytes, out);
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
            let Some(it) = self.by_id.get_mut(&flow) else {
                continue;
            };
            let before = it.receive.since_limit();
            if let Some(limit) = it.receive.new_limit(largest, share) {
                Frame::FlowCredit { flow, limit }.write(out);
                self.unrenewed.remove(&(before, flow));
            } else {
                self.unrenewed.insert((before, flow));
            }
        }
    }
}
