//! What hosts send in datagrams, by whichever way it comes in.

use crate::associations::Associations;
use crate::clock::Now;
use crate::flows::FlowReport;
use crate::onward::Onward;
use crate::report::{AssociationsReport, PacketsReport};
use crate::transparent_udp::TransparentUdp;
use crate::tun::Tun;
use crate::users::Users;
use bentpipe_gateway::{Channel, FlowId, ResetCode, Session};
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Datagrams {
    pub associations: Associations,
    pub transparent: TransparentUdp,
    pub tun: Option<Tun>,
}

impl Datagrams {
    pub fn report(&self) -> AssociationsReport {
        AssociationsReport {
            overflow: self.transparent.overflow(),
            ..self.associations.report
        }
    }

    pub fn packets_report(&self) -> PacketsReport {
        self.tun.as_ref().map(Tun::report).unwrap_or_default()
    }

    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowReport> {
        let associations = self.associations.flows(now);
        associations.chain(self.transparent.flows(now))
    }

    pub fn has_turns(&self) -> bool {
        let tun = self.tun.as_ref().is_some_and(Tun::has_turn);
        tun || self.associations.has_turns() || self.transparent.has_turns()
    }

    pub fn tun_happened(&mut self) {
        if let Some(tun) = &mut self.tun {
            tun.happened();
        }
    }

    /// The other gateway has opened a channel.
    pub fn opened(
        &mut self,
        flow: FlowId,
        channel: Channel,
        onward: &mut dyn Onward,
        session: &mut Session,
    ) {
        match (channel, &mut self.tun) {
            (Channel::Udp(target), _) => {
                self.associations.opened(flow, target, onward, session);
            }
            (Channel::Ip, Some(tun)) => tun.opened(flow, session),
            (Channel::Ip, None) => session.reset(flow, ResetCode::NotAllowed),
        }
    }

    /// A flow is over. The place of a connection that has to end with it, as [`Associations::flow_reset`] says.
    pub fn flow_reset(&mut self, flow: FlowId, code: ResetCode) -> Option<usize> {
        let associations = &mut self.associations;
        let tun = self.tun.as_mut();
        if tun.is_some_and(|tun| tun.flow_reset(flow, code))
            || self.transparent.flow_reset(flow, associations)
        {
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
            let (tun, transparent) = (self.tun.as_mut(), &mut self.transparent);
            let report = &mut associations.report;
            if !tun.is_some_and(|tun| tun.give(&received, onward, users, session, report))
                && !transparent.give(now, &received, associations, users)
            {
                associations.give(now, &received, onward, users);
            }
        }
        associations.take_turns(now, onward, users, session);
        self.transparent
            .take_turns(now, associations, users, session);
        if let Some(tun) = &mut self.tun {
            tun.take_turn(now, onward, users, session, &mut associations.report);
        }
    }
}
