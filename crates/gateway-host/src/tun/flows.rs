//! The flows of whole packets: one for each user, so that the session's scheduler gives each its share, and drops what waits of whoever has most.
//!
//! Near opens them: the first one with the session, for users who have none, and another for each user who sends. Far learns whose a flow is from the first
//! packet that comes by it, and sends that user's packets back by it; those of others by the flow that came first.

use crate::clock::Now;
use crate::user::user_of;
use bentpipe_gateway::{FlowId, ResetCode, Role, Session};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Users with a flow of their own. Those beyond share the first one.
const MOST_USERS: usize = 1024;
/// Between two attempts to open a flow.
const OPEN_AGAIN: Duration = Duration::from_secs(1);
/// The same where the other gateway takes no packets.
const ASK_AGAIN: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub(super) struct PacketFlows {
    role: Role,
    /// For users who have no flow of their own.
    first: Option<FlowId>,
    by_user: HashMap<u64, FlowId>,
    /// Whose each is. None: nobody's, or far has not learned it.
    users: HashMap<FlowId, Option<u64>>,
    /// Near: when a flow may be opened.
    open_at: Instant,
}

impl PacketFlows {
    pub fn new(role: Role) -> Self {
        Self {
            role,
            first: None,
            by_user: HashMap::new(),
            users: HashMap::new(),
            open_at: Instant::now(),
        }
    }

    pub fn count(&self) -> usize {
        self.users.len()
    }

    pub fn has(&self, flow: FlowId) -> bool {
        self.users.contains_key(&flow)
    }

    /// Near: opens the first one, if it is time. Whether it did.
    pub fn open_first(&mut self, now: Now, session: &mut Session) -> bool {
        let is_due = self.role == Role::Near
            && self.first.is_none()
            && session.has_session()
            && self.open_at <= now.instant;
        if is_due {
            self.first = session.open_ip(now.time, 0).ok();
            self.users.extend(self.first.map(|flow| (flow, None)));
            self.open_at = now.instant + OPEN_AGAIN;
        }
        is_due
    }

    /// Far: the other gateway has opened one. False: there are too many.
    pub fn opened(&mut self, flow: FlowId) -> bool {
        let has_room = self.users.len() <= MOST_USERS;
        if has_room {
            self.users.insert(flow, None);
            self.first.get_or_insert(flow);
        }
        has_room
    }

    /// Whether it was one of these. It is over.
    pub fn reset(&mut self, flow: FlowId, code: ResetCode) -> bool {
        let Some(user) = self.users.remove(&flow) else {
            return false;
        };
        if let Some(user) = user.filter(|user| self.by_user.get(user) == Some(&flow)) {
            self.by_user.remove(&user);
        }
        if self.first == Some(flow) {
            let another = self.users.keys().next().copied();
            self.first = another.filter(|_| self.role == Role::Far);
            let pause = match code {
                ResetCode::NotAllowed => ASK_AGAIN,
                // It was idle.
                ResetCode::TimedOut => Duration::ZERO,
                _ => OPEN_AGAIN,
            };
            self.open_at = Instant::now() + pause;
        }
        true
    }

    /// Something of this user came by a flow. If it is the first, the flow is the user's at far, too.
    pub fn came(&mut self, flow: FlowId, user: IpAddr, session: &mut Session) {
        let user = user_of(user);
        if self.role == Role::Far
            && let Some(whose @ None) = self.users.get_mut(&flow)
        {
            *whose = Some(user);
            self.by_user.insert(user, flow);
            session.set_user(flow, user);
        }
    }

    /// By which one this user's packets go. Near opens one for a user who has none.
    pub fn of(&mut self, now: Now, user: u64, session: &mut Session) -> Option<FlowId> {
        if let Some(&flow) = self.by_user.get(&user) {
            return Some(flow);
        }
        if self.role == Role::Near && self.first.is_some() && self.users.len() <= MOST_USERS {
            // Where there is no room for another one, the first one serves.
            if let Ok(flow) = session.open_ip(now.time, user) {
                self.users.insert(flow, Some(user));
                self.by_user.insert(user, flow);
                return Some(flow);
            }
        }
        self.first
    }
}
