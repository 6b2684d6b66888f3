//! The hosts' connections: accepted, opened for the other gateway, and closed.

mod reaching;

use crate::associations::Associations;
use crate::clock::Now;
use crate::connection::{Connection, Destination, Progress, ReadBuffer};
use crate::datagrams::Datagrams;
use crate::entrance::{Greeting, associated};
use crate::flows::FlowReport;
use crate::onward::Onward;
use crate::resolver::Resolver;
use crate::setup::Listener;
use crate::transparent_udp::TransparentUdp;
use crate::tun::Tun;
use crate::user::{user_address, user_of};
use crate::users::Users;
use bentpipe_gateway::{Channel, FlowId, OpenError, ResetCode, Session, Target};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{SendFlags, SocketFlags, acceptfrom_with, getsockname, send};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// A place for a connection. Its generation tells it from an earlier one, of which an event may still come.
#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Connection>,
}

/// Numbers of events below this are not connections'.
pub(crate) const RESERVED: u32 = 32;

pub(crate) struct Connections {
    epoll: Arc<OwnedFd>,
    onward: Box<dyn Onward + Send>,
    resolver: Resolver,
    pub datagrams: Datagrams,
    slots: Vec<Slot>,
    unused: Vec<usize>,
    by_flow: HashMap<FlowId, usize>,
    /// Those that have something to do.
    turns: VecDeque<usize>,
    /// Accepted, while the other gateway takes no more flows.
    without_flow: VecDeque<usize>,
    open: usize,
    most: usize,
    /// A connection was closed since somebody asked.
    freed: bool,
    buffer: ReadBuffer,
    /// Payload that hosts were given.
    pub delivered: u64,
    pub connect_failures: u64,
    /// Destinations that the access list does not allow.
    pub refused: u64,
    /// Flows that were opened again in another session.
    pub returned: u64,
    pub users: Users,
    pub open_at_once_max: usize,
}

impl Connections {
    pub fn new(
        epoll: Arc<OwnedFd>,
        onward: Box<dyn Onward + Send>,
        [most, most_of_user]: [usize; 2],
        transparent: TransparentUdp,
        tun: Option<Tun>,
    ) -> io::Result<Self> {
        let datagrams = Datagrams {
            associations: Associations::new(Arc::clone(&epoll), most, most_of_user),
            transparent,
            tun,
        };
        Ok(Self {
            datagrams,
            epoll,
            onward,
            resolver: Resolver::new()?,
            slots: Vec::new(),
            unused: Vec::new(),
            by_flow: HashMap::new(),
            turns: VecDeque::new(),
            without_flow: VecDeque::new(),
            open: 0,
            most,
            freed: false,
            buffer: ReadBuffer::new(),
            delivered: 0,
            connect_failures: 0,
            refused: 0,
            returned: 0,
            users: Users::default(),
            open_at_once_max: 0,
        })
    }

    /// For what comes from now on.
    pub fn change(&mut self, onward: Option<Box<dyn Onward + Send>>, most: Option<usize>) {
        if let Some(onward) = onward {
            self.onward = onward;
        }
        if let Some(most) = most {
            self.most = most;
            self.datagrams.associations.most = most;
        }
    }

    /// All flows, those of associations with them.
    pub fn flows(&self) -> Vec<FlowReport> {
        let now = Instant::now();
        let connections = self
            .slots
            .iter()
            .filter_map(|slot| slot.connection.as_ref());
        let connections = connections.filter(|it| it.association.is_none());
        let mut flows: Vec<_> = connections.map(|it| it.report(now)).collect();
        flows.extend(self.datagrams.flows(now));
        flows
    }

    /// Readable when names were resolved.
    pub fn resolver(&self) -> impl AsFd {
        self.resolver.as_fd()
    }

    /// Whether a host's further connection may be accepted.
    pub fn has_room(&self) -> bool {
        self.open < self.most && self.without_flow.is_empty()
    }

    /// Whether descriptors became free since the last call.
    pub fn take_freed(&mut self) -> bool {
        std::mem::take(&mut self.freed)
    }

    pub fn open(&self) -> usize {
        self.open
    }

    pub fn has_turns(&self) -> bool {
        !self.turns.is_empty() || self.datagrams.has_turns()
    }

    /// Accepts one connection and opens a flow for it. False: nobody waits at the listener.
    pub fn accept(&mut self, listener: &Listener, session: &mut Session) -> io::Result<bool> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accepted = acceptfrom_with(&listener.socket, flags).and_then(|(socket, from)| {
            let source = SocketAddr::try_from(from.ok_or(Errno::NOTCONN)?)?;
            let destination = SocketAddr::try_from(getsockname(&socket)?)?;
            set_tcp_nodelay(&socket, true)?;
            let target = Target {
                destination,
                source,
            };
            Ok((socket, target))
        });
        let (socket, target) = match accepted {
            Ok(accepted) => accepted,
            // Without descriptors, those who wait are accepted when a connection has closed.
            Err(Errno::AGAIN | Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                return Ok(false);
            }
            // It was over before it was accepted.
            Err(Errno::INTR | Errno::CONNABORTED | Errno::NOTCONN | Errno::INVAL) => {
                return Ok(true);
            }
            Err(error) => return Err(error.into()),
        };
        let user = user_of(target.source.ip());
        let greeting = Greeting::new(listener.entrance);
        let greets = greeting.is_some();
        let at = self.add(Connection::accepted(socket, target, user, greeting))?;
        if greets {
            self.give_turn(at);
        } else {
            self.open_flow(at, session);
        }
        Ok(true)
    }

    fn open_flow(&mut self, at: usize, session: &mut Session) {
        let Some(connection) = &mut self.slots[at].connection else {
            return;
        };
        if connection.flow.is_some() {
            return;
        }
        let opened = match &connection.destination {
            Destination::Address(target) => session.open(connection.user, target),
            Destination::Name(target) => session.open_named(connection.user, target),
            Destination::Unknown | Destination::Reached => return,
        };
        match opened {
            Ok(flow) => {
                connection.flow = Some(flow);
                self.by_flow.insert(flow, at);
                self.give_turn(at);
            }
            Err(OpenError::TooMany | OpenError::NoSession | OpenError::NoDatagrams) => {
                self.without_flow.push_back(at);
            }
        }
    }

    /// Tries again for those without a flow.
    pub fn open_flows(&mut self, session: &mut Session) {
        for _ in 0..self.without_flow.len() {
            if let Some(at) = self.without_flow.pop_front() {
                self.open_flow(at, session);
            }
        }
    }

    /// The other gateway has opened a channel.
    pub fn opened_channel(&mut self, flow: FlowId, channel: Channel, session: &mut Session) {
        let onward = &mut *self.onward;
        self.datagrams.opened(flow, channel, onward, session);
    }

    /// Passes on hosts' datagrams, both ways.
    pub fn exchange_datagrams(&mut self, now: Now, session: &mut Session) {
        let users = &mut self.users;
        self.datagrams
            .exchange(now, &mut *self.onward, users, session);
    }

    /// A program asks for an association, which its connection holds.
    fn associate(&mut self, at: usize, program: SocketAddr) {
        let Some(connection) = &mut self.slots[at].connection else {
            return;
        };
        let accepted_at = getsockname(&connection.socket).and_then(SocketAddr::try_from);
        let associations = &mut self.datagrams.associations;
        let begun = accepted_at
            .ok()
            .and_then(|accepted_at| associations.begin(at, program.ip(), accepted_at));
        connection.association = begun.map(|(place, _)| place);
        let answer = associated(begun.map(|(_, taken_at)| taken_at));
        // A new connection has room for the few bytes of an answer.
        let sent = send(&connection.socket, &answer, SendFlags::NOSIGNAL);
        if begun.is_some() && sent == Ok(answer.len()) {
            self.give_turn(at);
        } else {
            self.remove(at);
        }
    }

    fn add(&mut self, connection: Connection) -> io::Result<usize> {
        let at = self.unused.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let slot = &mut self.slots[at];
        slot.generation = slot.generation.wrapping_add(1);
        let number = u64::from(slot.generation) << 32 | (at as u64 + u64::from(RESERVED));
        let wanted = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        let data = EventData::new_u64(number);
        if let Err(error) = epoll::add(&*self.epoll, &connection.socket, data, wanted) {
            self.unused.push(at);
            return Err(error.into());
        }
        let user = user_address(connection.ledger.host.ip());
        self.users.of(user).connections += 1;
        slot.connection = Some(connection);
        self.open += 1;
        self.open_at_once_max = self.open_at_once_max.max(self.open);
        Ok(at)
    }

    /// Something happened at the socket of this number.
    pub fn happened(&mut self, number: u64, flags: EventFlags) {
        let place = (number as u32).wrapping_sub(RESERVED) as usize;
        let generation = (number >> 32) as u32;
        let slot = self.slots.get_mut(place);
        let slot = slot.filter(|slot| slot.generation == generation);
        if let Some(connection) = slot.and_then(|slot| slot.connection.as_mut()) {
            connection.happened(flags);
            self.give_turn(place);
        }
    }

    /// There are bytes to read in a flow, or there is room.
    pub fn flow_happened(&mut self, flow: FlowId) {
        if let Some(&at) = self.by_flow.get(&flow) {
            self.give_turn(at);
        }
    }

    /// The other gateway has reset a flow, or it went with its session.
    pub fn flow_reset(&mut self, flow: FlowId, code: ResetCode) {
        let of_association = self.datagrams.flow_reset(flow, code);
        if let Some(at) = self.by_flow.get(&flow).copied().or(of_association)
            && let Some(connection) = self.remove(at)
        {
            connection.reset();
        }
    }

    /// A flow's session is over, and the other gateway has got nothing of the flow. It is opened again as soon as there is a session.
    pub fn flow_returned(&mut self, flow: FlowId, bytes: Vec<u8>) {
        let Some(at) = self.by_flow.remove(&flow) else {
            return;
        };
        if let Some(connection) = &mut self.slots[at].connection {
            let user = self.users.of(user_address(connection.ledger.host.ip()));
            user.sent_bytes -= (bytes.len() as u64).min(user.sent_bytes);
            connection.give_back(bytes);
            self.without_flow.push_back(at);
            self.returned += 1;
        }
    }

    fn give_turn(&mut self, at: usize) {
        if let Some(connection) = &mut self.slots[at].connection
            && !connection.queued
        {
            connection.queued = true;
            self.turns.push_back(at);
        }
    }

    /// Each that has something to do has a turn. The session's events have been asked for: none of them says that a flow was reset.
    pub fn take_turns(&mut self, now: Instant, session: &mut Session) {
        for _ in 0..self.turns.len() {
            let Some(at) = self.turns.pop_front() else {
                return;
            };
            let Some(connection) = self.slots[at].connection.as_mut() else {
                continue;
            };
            if !connection.queued {
                continue;
            }
            connection.queued = false;
            let (sent, given) = connection.ledger.bytes();
            let progress = connection.go_on(session, &mut self.buffer, &mut self.delivered);
            let ledger = &mut connection.ledger;
            if ledger.bytes() != (sent, given) {
                ledger.has_moved(now);
                let user = self.users.of(user_address(ledger.host.ip()));
                user.sent_bytes += ledger.sent_bytes - sent;
                user.delivered_bytes += ledger.delivered_bytes - given;
            }
            match progress {
                Progress::Waiting => {}
                Progress::MoreToDo => self.give_turn(at),
                Progress::Over => drop(self.remove(at)),
                Progress::Refused(code) => self.try_another(at, code, session),
                Progress::Greeted => self.open_flow(at, session),
                Progress::Associates(program) => self.associate(at, program),
                Progress::Broken => self.break_off(at, ResetCode::Host, session),
            }
        }
    }

    fn break_off(&mut self, at: usize, code: ResetCode, session: &mut Session) {
        if let Some(connection) = self.remove(at) {
            if let Some(flow) = connection.flow {
                session.reset(flow, code);
            }
            connection.reset();
        }
    }

    fn remove(&mut self, at: usize) -> Option<Connection> {
        let connection = self.slots[at].connection.take()?;
        if let Some(place) = connection.association {
            self.datagrams.associations.end(place);
        }
        if let Some(flow) = connection.flow {
            self.by_flow.remove(&flow);
        } else {
            self.without_flow.retain(|&other| other != at);
        }
        self.unused.push(at);
        self.open -= 1;
        self.freed = true;
        Some(connection)
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections")
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}
