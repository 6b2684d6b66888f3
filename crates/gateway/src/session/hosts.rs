//! What a driver does for hosts: it opens flows, writes, reads and ends them.

use super::flows::Flows;
use super::{Event, Link, OpenError, ResetCode, Session};
use crate::flow::FlowId;
use crate::target::{NamedTarget, Target};

impl Session {
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub fn is_up(&self) -> bool {
        self.link == Link::Up
    }

    /// Whether there is a session, with or without a carrier.
    pub fn has_session(&self) -> bool {
        self.established.is_some()
    }

    pub(super) fn flows(&mut self) -> Option<&mut Flows> {
        self.established.as_mut().map(|it| &mut it.flows)
    }

    /// Opens a flow to `target` for a local user. What is written to it leaves with it, in one flight.
    pub fn open(&mut self, user: u64, target: &Target) -> Result<FlowId, OpenError> {
        let flows = self.flows().ok_or(OpenError::NoSession)?;
        flows.open(user, target)
    }

    /// Opens a flow to a name, which the other gateway resolves if it takes names.
    pub fn open_named(&mut self, user: u64, target: &NamedTarget) -> Result<FlowId, OpenError> {
        let flows = self.flows().ok_or(OpenError::NoSession)?;
        flows.open_with(user, &target.to_bytes())
    }

    /// Takes as many of `bytes` as there is room for, and says how many.
    pub fn write(&mut self, flow: FlowId, bytes: &[u8]) -> usize {
        self.flows().map_or(0, |flows| flows.write(flow, bytes))
    }

    /// As [`Self::write`], of a piece of memory that is full for the most part: it is not copied. `piece` is empty afterwards.
    pub fn write_piece(&mut self, flow: FlowId, piece: &mut Vec<u8>) -> usize {
        let taken = self
            .flows()
            .map_or(0, |flows| flows.write_piece(flow, piece));
        piece.clear();
        taken
    }

    /// How many bytes to write at once: none until a quarter of the flow's buffer is free. If there are none, an event says when there
    /// are.
    pub fn room(&mut self, flow: FlowId) -> usize {
        self.flows().map_or(0, |flows| flows.room(flow))
    }

    /// Nothing more will be written. The other direction goes on.
    pub fn finish(&mut self, flow: FlowId) {
        if let Some(flows) = self.flows() {
            flows.finish(flow);
        }
    }

    /// Ends both directions at once.
    pub fn reset(&mut self, flow: FlowId, code: ResetCode) {
        if let Some(flows) = self.flows() {
            flows.reset(flow, code);
        }
    }

    /// Says whose share a flow has that the other gateway opened.
    pub fn set_user(&mut self, flow: FlowId, user: u64) {
        if let Some(flows) = self.flows() {
            flows.set_user(flow, user);
        }
    }

    /// The next bytes of a flow, as far as they are in one piece; [`Self::consume`] takes them.
    pub fn readable(&mut self, flow: FlowId) -> &[u8] {
        self.flows().map_or(&[], |flows| flows.readable(flow))
    }

    /// The host has taken so many of the readable bytes.
    pub fn consume(&mut self, flow: FlowId, bytes: usize) {
        if let Some(flows) = self.flows() {
            flows.consume(flow, bytes);
        }
    }

    /// Bytes that have come and that hosts have not taken: at most [`Config::session_window`].
    pub fn waiting_bytes(&self) -> u64 {
        let established = self.established.as_ref();
        established.map_or(0, |it| it.flows.waiting_bytes())
    }

    /// Whether all bytes were taken and nothing more comes.
    pub fn has_ended(&self, flow: FlowId) -> bool {
        let established = self.established.as_ref();
        established.is_some_and(|it| it.flows.has_ended(flow))
    }

    /// Whether anything is left of a flow.
    pub fn has_flow(&self, flow: FlowId) -> bool {
        let established = self.established.as_ref();
        established.is_some_and(|it| it.flows.has(flow))
    }
}
