//! The destinations that the other gateway's hosts ask for: one address, or those of a name one after another.

use super::Connections;
use crate::connection::Connection;
use crate::user::user_of;
use bentpipe_gateway::{FlowId, NamedTarget, ResetCode, Session, Target};
use std::collections::VecDeque;

impl Connections {
    /// The other gateway has opened a flow.
    pub fn opened(&mut self, flow: FlowId, target: &Target, session: &mut Session) {
        session.set_user(flow, user_of(target.source.ip()));
        self.go_on_to_one(flow, VecDeque::from([*target]), session);
    }

    /// The other gateway has opened a flow to a name.
    pub fn opened_named(&mut self, flow: FlowId, target: NamedTarget, session: &mut Session) {
        session.set_user(flow, user_of(target.source().ip()));
        if let Err(code) = self.resolver.ask(flow, target) {
            self.connect_failures += 1;
            session.reset(flow, code);
        }
    }

    /// Goes on to the addresses of names.
    pub fn resolved(&mut self, session: &mut Session) {
        let answers: Vec<_> = self.resolver.answers().collect();
        for answer in answers {
            if session.has_flow(answer.flow) {
                let targets = answer.addresses.into_iter().map(|destination| Target {
                    destination,
                    source: answer.target.source(),
                });
                self.go_on_to_one(answer.flow, targets.collect(), session);
            }
        }
    }

    /// Goes on to the first of these that can be reached.
    fn go_on_to_one(&mut self, flow: FlowId, mut targets: VecDeque<Target>, session: &mut Session) {
        // A name without addresses.
        let mut why = ResetCode::Unreachable;
        while let Some(target) = targets.pop_front() {
            let user = user_of(target.source.ip());
            let connected = if self.open < self.most {
                self.onward.connect(&target)
            } else {
                Err(ResetCode::Overloaded)
            };
            let added = connected.and_then(|socket| {
                self.add(Connection::onward(socket, flow, user, &target))
                    .map_err(|_| ResetCode::Overloaded)
            });
            match added {
                Ok(at) => {
                    if let Some(connection) = &mut self.slots[at].connection {
                        connection.others = targets;
                    }
                    self.by_flow.insert(flow, at);
                    return;
                }
                Err(code) => {
                    self.refused += u64::from(code == ResetCode::NotAllowed);
                    why = code;
                }
            }
        }
        self.connect_failures += 1;
        session.reset(flow, why);
    }

    /// A destination could not be reached: its name may have another address.
    pub(super) fn try_another(&mut self, at: usize, code: ResetCode, session: &mut Session) {
        let others = self.slots[at]
            .connection
            .as_mut()
            .map(|connection| std::mem::take(&mut connection.others));
        let others = others.filter(|others| !others.is_empty());
        if let Some(others) = others
            && let Some(flow) = self.remove(at).and_then(|connection| connection.flow)
        {
            self.go_on_to_one(flow, others, session);
        } else {
            self.connect_failures += 1;
            self.break_off(at, code, session);
        }
    }
}
