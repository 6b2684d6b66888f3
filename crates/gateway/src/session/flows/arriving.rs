//! Frames of the other gateway.

use super::Flows;
use crate::config::Config;
use crate::flow::{FlowId, ReceiveError};
use crate::frame::Frame;
use crate::session::datagrams::PieceError;
use crate::session::{Event, ResetCode};
use crate::target::{Channel, Purpose, Target};
use bentpipe_base::Time;
use std::collections::VecDeque;

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

impl Flows {
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
                if let Some(it) = self.by_id.get_mut(flow) {
                    self.held.remove((it.send.since_limit(), flow));
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
            self.arrived(id);
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
    pub(in crate::session) fn is_known(&self, id: FlowId) -> Result<bool, Violation> {
        let place = id.0 / 2;
        if self.is_own(id) {
            let was_opened = place < self.opened;
            return was_opened.then_some(true).ok_or(Violation::NeverOpened(id));
        }
        if place >= self.may_accept {
            return Err(Violation::FlowsCredit(id));
        }
        let waits = self.by_id.get(id).is_some_and(|it| it.expects_target);
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
        let Some(flow) = self.by_id.get_mut(id) else {
            // It was reset from here, and the other gateway has not heard of it.
            self.taken += bytes.len() as u64;
            return Ok(());
        };
        let early = flow.receive.early_pieces();
        let received = flow.receive.on_data(offset, bytes, end, &mut self.pieces);
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
        let Some(flow) = self.by_id.get_mut(id) else {
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
        let Some(flow) = self.by_id.get_mut(id) else {
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
        flow.receive.consume(length, &mut self.pieces);
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
}
