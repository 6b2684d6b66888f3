//! Hosts' UDP associations: of programs that ask for one by SOCKS at near, and those that the other gateway opens at far.
//!
//! At near, a flow is opened by a program's first datagram. If it is reset, because it was idle or its session ended, the next one opens
//! another: an association lasts as long as the connection that asked for it.

use crate::association::{Arrival, Association, Side};
use crate::clock::Now;
use crate::flows::FlowReport;
use crate::onward::Onward;
use crate::report::AssociationsReport;
use crate::user::{user_address, user_of};
use crate::user_counts::UserCounts;
use crate::users::Users;
use bentpipe_gateway::{FlowId, Received, ResetCode, Session, Target};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

/// Numbers of events with this bit are associations'.
const NUMBERS: u64 = 1 << 31;
/// Datagrams in a row from one socket, before the others have their turn.
const DATAGRAMS_PER_TURN: usize = 64;
/// The longest datagram has less.
const BUFFER_BYTES: usize = 1 << 16;

/// Whether this is the number of an association's socket.
pub(crate) fn is_association(number: u64) -> bool {
    number & NUMBERS != 0
}

/// A place for an association. Its generation tells it from an earlier one, of which an event may still come.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    association: Option<Association>,
}

pub(crate) struct Associations {
    epoll: Arc<OwnedFd>,
    slots: Vec<Slot>,
    unused: Vec<usize>,
    by_flow: HashMap<FlowId, usize>,
    /// Those that have something to read.
    turns: VecDeque<usize>,
    /// Flows of associations that programs have ended.
    over: Vec<FlowId>,
    pub most: usize,
    pub of_users: UserCounts,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    pub report: AssociationsReport,
}

impl Associations {
    pub fn new(epoll: Arc<OwnedFd>, most: usize, most_of_user: usize) -> Self {
        Self {
            epoll,
            slots: Vec::new(),
            unused: Vec::new(),
            by_flow: HashMap::new(),
            turns: VecDeque::new(),
            over: Vec::new(),
            most,
            of_users: UserCounts::new(most_of_user),
            buffer: vec![0; BUFFER_BYTES],
            scratch: Vec::new(),
            report: AssociationsReport::default(),
        }
    }

    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowReport> {
        let associations = self.slots.iter().filter_map(|it| it.association.as_ref());
        associations.map(move |it| it.report(now))
    }

    pub fn has_turns(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Takes datagrams of the program whose connection has this place and these addresses. Its own place, and where it takes them. None: there is
    /// no room or no socket.
    pub fn begin(
        &mut self,
        connection: usize,
        program: IpAddr,
        accepted_at: SocketAddr,
    ) -> Option<(usize, SocketAddr)> {
        let begun = socket_beside(accepted_at).ok().and_then(|(socket, at)| {
            let association = Association::of_program(socket, program, connection);
            Some((self.add(association)?, at))
        });
        self.report.failed += u64::from(begun.is_none());
        begun
    }

    /// The connection of a program's association has ended.
    pub fn end(&mut self, place: usize) {
        if let Some(flow) = self.remove(place).and_then(|it| it.flow) {
            self.over.push(flow);
        }
    }

    /// The other gateway has opened an association.
    pub fn opened(
        &mut self,
        flow: FlowId,
        target: Target,
        onward: &mut dyn Onward,
        session: &mut Session,
    ) {
        let user = user_of(target.source.ip());
        session.set_user(flow, user);
        let is_full = self.of_users.is_full(user);
        self.report.over_user_limit += u64::from(is_full);
        let added = if is_full || self.report.open >= self.most as u64 {
            Err(ResetCode::Overloaded)
        } else {
            onward.associate(&target).and_then(|socket| {
                let association = Association::onward(socket, flow, target).ok();
                association
                    .and_then(|it| self.add(it))
                    .ok_or(ResetCode::Overloaded)
            })
        };
        match added {
            Ok(place) => {
                self.by_flow.insert(flow, place);
            }
            Err(code) => {
                self.report.failed += 1;
                session.reset(flow, code);
            }
        }
    }

    /// A flow is over. If its association is with it, the place of the connection that asked for it: the program has to hear that the other gateway
    /// takes no UDP.
    pub fn flow_reset(&mut self, flow: FlowId, code: ResetCode) -> Option<usize> {
        let place = self.by_flow.remove(&flow)?;
        let association = self.slots[place].association.as_mut()?;
        association.flow = None;
        match association.side {
            Side::Program { connection, .. } => {
                (code == ResetCode::NotAllowed).then_some(connection)
            }
            Side::Anybody { .. } => {
                self.remove(place);
                None
            }
        }
    }

    fn add(&mut self, association: Association) -> Option<usize> {
        let user = user_of(association.ledger.host.ip());
        if self.report.open >= self.most as u64 {
            return None;
        }
        if self.of_users.is_full(user) {
            self.report.over_user_limit += 1;
            return None;
        }
        let place = self.unused.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[place];
        slot.generation = slot.generation.wrapping_add(1);
        let number = u64::from(slot.generation) << 32 | NUMBERS | place as u64;
        let data = EventData::new_u64(number);
        let wanted = EventFlags::IN | EventFlags::ET;
        if epoll::add(&*self.epoll, &association.socket, data, wanted).is_err() {
            self.unused.push(place);
            return None;
        }
        slot.association = Some(association);
        self.count_one_more(user);
        Some(place)
    }

    pub fn count_one_more(&mut self, user: u64) {
        self.of_users.add(user);
        self.report.open += 1;
        self.report.open_at_once_max = self.report.open_at_once_max.max(self.report.open);
    }

    pub fn count_one_less(&mut self, user: u64) {
        self.of_users.remove(user);
        self.report.open -= 1;
    }

    fn remove(&mut self, place: usize) -> Option<Association> {
        let association = self.slots[place].association.take()?;
        if let Some(flow) = association.flow {
            self.by_flow.remove(&flow);
        }
        self.unused.push(place);
        self.count_one_less(user_of(association.ledger.host.ip()));
        Some(association)
    }

    /// Something came to the socket of this number.
    pub fn happened(&mut self, number: u64) {
        let place = (number & (NUMBERS - 1)) as usize;
        let generation = (number >> 32) as u32;
        if self
            .slots
            .get(place)
            .is_some_and(|it| it.generation == generation)
        {
            self.give_turn(place);
        }
    }

    fn give_turn(&mut self, place: usize) {
        if let Some(association) = &mut self.slots[place].association
            && !association.queued
        {
            association.queued = true;
            self.turns.push_back(place);
        }
    }

    /// Gives a host, or whom a host sends to, a datagram of one of these flows.
    pub fn give(
        &mut self,
        now: Now,
        received: &Received,
        onward: &mut dyn Onward,
        users: &mut Users,
    ) {
        let place = self.by_flow.get(&received.flow);
        let association = place.and_then(|&it| self.slots[it].association.as_mut());
        if let Some(association) = association
            && association.give(received, &mut self.scratch, onward, &mut self.report)
        {
            let bytes = received.bytes.len() as u64;
            association.ledger.delivered_bytes += bytes;
            association.ledger.has_moved(now.instant);
            let user = users.of(user_address(association.ledger.host.ip()));
            user.datagrams_delivered += 1;
            user.datagram_bytes_delivered += bytes;
        }
    }

    /// The flows of associations that programs have ended are over.
    pub fn end_flows(&mut self, session: &mut Session) {
        for flow in self.over.drain(..) {
            session.reset(flow, ResetCode::Closed);
        }
    }

    /// Each that has something to read has a turn.
    pub fn take_turns(
        &mut self,
        now: Now,
        onward: &mut dyn Onward,
        users: &mut Users,
        session: &mut Session,
    ) {
        for _ in 0..self.turns.len() {
            let Some(place) = self.turns.pop_front() else {
                return;
            };
            let association = self.slots[place].association.as_mut();
            if let Some(association) = association.filter(|it| it.queued) {
                association.queued = false;
                if self.take_turn(place, now, onward, users, session) {
                    self.give_turn(place);
                }
            }
        }
    }

    /// Whether there may be more.
    fn take_turn(
        &mut self,
        place: usize,
        now: Now,
        onward: &mut dyn Onward,
        users: &mut Users,
        session: &mut Session,
    ) -> bool {
        let Some(association) = &mut self.slots[place].association else {
            return false;
        };
        for _ in 0..DATAGRAMS_PER_TURN {
            match association.receive(&mut self.buffer, onward, &mut self.report) {
                Arrival::Nothing => return false,
                Arrival::Dropped => {}
                Arrival::Datagram { address, bytes } => {
                    let length = bytes.len() as u64;
                    if association.flow.is_none()
                        && let Some((user, target)) = association.wanted()
                        && let Ok(flow) = session.open_udp(now.time, user, &target)
                    {
                        association.flow = Some(flow);
                        self.by_flow.insert(flow, place);
                    }
                    let taken = association.flow.is_some_and(|flow| {
                        session.send_datagram(now.time, flow, address, &self.buffer[bytes])
                    });
                    if taken {
                        association.ledger.sent_bytes += length;
                        association.ledger.has_moved(now.instant);
                        let user = users.of(user_address(association.ledger.host.ip()));
                        user.datagrams_sent += 1;
                        user.datagram_bytes_sent += length;
                    }
                    self.report.without_flow += u64::from(!taken);
                }
            }
        }
        true
    }
}

/// A UDP socket at the address of a connection, and its port.
fn socket_beside(accepted_at: SocketAddr) -> rustix::io::Result<(OwnedFd, SocketAddr)> {
    let mut at = accepted_at;
    // A listener of IPv6 that takes IPv4, too, writes it as IPv6.
    if let IpAddr::V4(ip) = at.ip().to_canonical() {
        at.set_ip(ip.into());
    }
    at.set_port(0);
    let family = if at.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    bind(&socket, &at)?;
    let at = SocketAddr::try_from(getsockname(&socket)?)?;
    Ok((socket, at))
}

impl fmt::Debug for Associations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Associations")
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}
