//! What hosts send in datagrams, by whichever way it comes in.

use crate::associations::Associations;
use crate::clock::Now;
use crate::flows::FlowReport;
use crate::onward::Onward;
use crate::report::AssociationsReport;
use crate::transparent_udp::TransparentUdp;
use crate::users::Users;
use bentpipe_gateway::{FlowId, ResetCode, Session};
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Datagrams {
    pub associations: Associations,
    pub transparent: TransparentUdp,
}

impl Datagrams {
    pub fn report(&self) -> AssociationsReport {
        self.associations.report
    }

    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowReport> {
        let associations = self.associations.flows(now);
        associations.chain(self.transparent.flows(now))
    }

    pub fn has_turns(&self) -> bool {
        self.associations.has_turns() || self.transparent.has_turns()
    }

    /// A flow is over. The place of a connection that has to end with it, as [`Associations::flow_reset`] says.
    pub fn flow_reset(&mut self, flow: FlowId, code: ResetCode) -> Option<usize> {
        let associations = &mut self.associations;
        if self.transparent.flow_reset(flow, associations) {
            return None;
        }
        associations.flow_reset(flow, code)
    }

    /// Passes on datagrams, both ways. The session's events have been asked for: one of them opens each association.
    pub fn exchange(
        &mut self,
        now: Now,
        onward: &mut dyn Onward,
        users: &mut Users,
        session: &mut Session,
    ) {
        let associations = &mut self.associations;
        associations.end_flows(session);
        while let Some(received) = session.poll_received() {
            let transparent = &mut self.transparent;
            if !transparent.give(now, &received, associations, users) {
                associations.give(now, &received, onward, users);
            }
        }
        associations.take_turns(now, onward, users, session);
        self.transparent
            .take_turns(now, associations, users, session);
    }
}
