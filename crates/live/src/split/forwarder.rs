//! One end of a split: accepts the TCP connections that pass by it, and opens each again on its other side.
//!
//! One thread and edge-triggered epoll(7). A connection is accepted at once; what its opener sends until the onward one is open
//! waits in the socket. If the onward connection cannot be opened, the accepted one ends with a RST.

use super::relay::{ACCEPTED, ONWARD, Progress, READ_BYTES, Relay};
use super::sockets::{self, Accepted};
use crate::channels::tcp;
use crate::datapath::priority::{self, Urgency};
use crate::family::Family;
use crate::namespaces::NetNamespace;
use crate::per_host::HostId;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use serde::Serialize;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// The sides of an end.
const HOSTS: usize = 0;
const EVENTS: usize = 256;
const BELL: u64 = u64::MAX;
/// The numbers of listeners come before those of legs.
const MOST_LISTENERS: u64 = 4;

/// What an end of a split did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SplitEndReport {
    /// Connections that were accepted.
    pub connections: u64,
    /// Of these, those that failed before they were open on the other side.
    pub connect_failures: u64,
    /// Of these, those of which one leg failed later: by a RST, or a timeout.
    pub resets: u64,
    /// Payload passed on, to the client and to the servers.
    pub down_bytes: u64,
    pub up_bytes: u64,
    /// Segments that it sent across the path again.
    pub retransmits: u64,
    pub open_at_once_max: u64,
    /// So many may be open at once; further ones wait to be accepted.
    pub open_at_once_limit: u64,
}

/// One of an end's two sides: first that of the hosts, then that of the long leg.
#[derive(Debug)]
pub(super) struct Side {
    pub net: NetNamespace,
    pub listeners: Vec<OwnedFd>,
}

impl Side {
    /// Listens in the calling thread's network namespace, which is this one. Tells the ports.
    pub fn listen(
        net: NetNamespace,
        families: &[Family],
    ) -> rustix::io::Result<(Self, Vec<(Family, u16)>)> {
        let (mut listeners, mut ports) = (Vec::new(), Vec::new());
        for &family in families {
            let (listener, port) = sockets::listener(family)?;
            listeners.push(listener);
            ports.push((family, port));
        }
        Ok((Self { net, listeners }, ports))
    }
}

/// An end at work.
#[derive(Debug)]
pub(super) struct Running {
    bell: Arc<OwnedFd>,
    thread: JoinHandle<io::Result<SplitEndReport>>,
}

impl Running {
    /// Begins at near or far. The thread is given that name.
    pub fn start((name, seat): (&str, HostId), sides: [Side; 2], limit: u64) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let bell = Arc::new(bell);
        let forwarder = Forwarder::new(seat, sides, limit, &bell)?;
        let thread = Builder::new().name(name.into()).spawn(move || {
            priority::raise(Urgency::Channels);
            forwarder.run()
        })?;
        Ok(Self { bell, thread })
    }

    /// It ended before it was told to.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends it, and closes what is open.
    pub fn stop(self) -> io::Result<SplitEndReport> {
        rustix::io::write(&*self.bell, &1_u64.to_ne_bytes())?;
        let ended = self.thread.join();
        ended.map_err(|_| io::Error::other("it ended in a panic"))?
    }
}

struct Forwarder {
    seat: HostId,
    sides: [Side; 2],
    /// The side in whose namespace the thread is.
    joined: Option<usize>,
    epoll: OwnedFd,
    relays: Vec<Option<Open>>,
    unused: Vec<usize>,
    /// Closed since the last wait: an event that is already here may still name them.
    closed: Vec<usize>,
    /// Relays that gave others a turn.
    more_to_do: VecDeque<usize>,
    open: u64,
    /// Some were left to wait.
    is_full: bool,
    report: SplitEndReport,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct Open {
    relay: Relay,
    /// The side that it came from.
    accepted_at: usize,
    /// It waits in `more_to_do`.
    queued: bool,
}

impl Forwarder {
    fn new(seat: HostId, sides: [Side; 2], limit: u64, bell: &OwnedFd) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, bell, EventData::new_u64(BELL), EventFlags::IN)?;
        let listeners = sides.iter().flat_map(|side| &side.listeners);
        for (number, listener) in (0..MOST_LISTENERS).zip(listeners) {
            let edges = EventFlags::IN | EventFlags::ET;
            epoll::add(&epoll, listener, EventData::new_u64(number), edges)?;
        }
        Ok(Self {
            seat,
            sides,
            joined: None,
            epoll,
            relays: Vec::new(),
            unused: Vec::new(),
            closed: Vec::new(),
            more_to_do: VecDeque::new(),
            open: 0,
            is_full: false,
            report: SplitEndReport {
                open_at_once_limit: limit,
                ..SplitEndReport::default()
            },
            buffer: vec![0; READ_BYTES],
        })
    }

    fn run(mut self) -> io::Result<SplitEndReport> {
        let mut events = Vec::with_capacity(EVENTS);
        let at_once = rustix::event::Timespec::default();
        loop {
            let patience = (!self.more_to_do.is_empty()).then_some(&at_once);
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, buffer, patience) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for Event { data, flags } in events.drain(..) {
                match data.u64() {
                    BELL => return Ok(self.finish()),
                    listener if listener < MOST_LISTENERS => self.accept_at(listener as usize)?,
                    leg => {
                        let leg = (leg - MOST_LISTENERS) as usize;
                        self.happened(leg / 2, leg % 2, flags);
                    }
                }
            }
            for _ in 0..self.more_to_do.len() {
                self.take_turn();
            }
            self.make_room()?;
        }
    }

    /// Accepts what waits at the listener of this number, as far as there is room.
    fn accept_at(&mut self, number: usize) -> io::Result<()> {
        let of_first = self.sides[0].listeners.len();
        let (side, at) = if number < of_first {
            (0, number)
        } else {
            (1, number - of_first)
        };
        loop {
            if self.open >= self.report.open_at_once_limit {
                self.is_full = true;
                return Ok(());
            }
            match sockets::accept(&self.sides[side].listeners[at]) {
                Ok(accepted) => self.relay(side, accepted)?,
                Err(Errno::AGAIN) => return Ok(()),
                // It was over before it was accepted.
                Err(Errno::INTR | Errno::CONNABORTED | Errno::NOTCONN | Errno::INVAL) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Opens an accepted connection again on the other side.
    fn relay(&mut self, side: usize, accepted: Accepted) -> io::Result<()> {
        self.report.connections += 1;
        // A socket belongs to the network namespace of the thread that makes it.
        if self.joined != Some(1 - side) {
            self.sides[1 - side].net.join()?;
            self.joined = Some(1 - side);
        }
        let Ok(onward) = sockets::connect_as(accepted.from, accepted.to) else {
            self.report.connect_failures += 1;
            sockets::reset(accepted.socket);
            return Ok(());
        };
        let relay = Relay::new(accepted.socket, onward);
        let at = self.unused.pop().unwrap_or_else(|| {
            self.relays.push(None);
            self.relays.len() - 1
        });
        let wanted = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        for leg in [ACCEPTED, ONWARD] {
            let number = MOST_LISTENERS + (2 * at + leg) as u64;
            let data = EventData::new_u64(number);
            epoll::add(&self.epoll, &relay.legs()[leg], data, wanted)?;
        }
        self.relays[at] = Some(Open {
            relay,
            accepted_at: side,
            queued: false,
        });
        self.open += 1;
        self.report.open_at_once_max = self.report.open_at_once_max.max(self.open);
        Ok(())
    }

    fn happened(&mut self, at: usize, leg: usize, flags: EventFlags) {
        if let Some(Some(open)) = self.relays.get_mut(at) {
            let progress = open.relay.happened(leg, flags, &mut self.buffer);
            self.came_to(at, progress);
        }
    }

    fn take_turn(&mut self) {
        let Some(at) = self.more_to_do.pop_front() else {
            return;
        };
        if let Some(open) = &mut self.relays[at] {
            open.queued = false;
            let progress = open.relay.go_on(&mut self.buffer);
            self.came_to(at, progress);
        }
    }

    fn came_to(&mut self, at: usize, progress: Progress) {
        match progress {
            Progress::Waiting => {}
            Progress::MoreToDo => {
                if let Some(open) = &mut self.relays[at]
                    && !open.queued
                {
                    open.queued = true;
                    self.more_to_do.push_back(at);
                }
            }
            Progress::Over => self.close(at, Relay::close),
            Progress::Refused => {
                self.report.connect_failures += 1;
                self.close(at, Relay::reset);
            }
            Progress::Broken => {
                self.report.resets += 1;
                self.close(at, Relay::reset);
            }
        }
    }

    fn close(&mut self, at: usize, how: fn(Relay)) {
        if let Some(open) = self.relays[at].take() {
            self.count(&open);
            how(open.relay);
            self.open -= 1;
            self.closed.push(at);
        }
    }

    /// Adds what a relay has carried.
    fn count(&mut self, open: &Open) {
        let [accepted, onward] = open.relay.bytes();
        let (of_hosts, of_long_leg) = match open.accepted_at {
            HOSTS => (accepted, onward),
            _ => (onward, accepted),
        };
        let (down, up) = match self.seat {
            HostId::Near => (of_long_leg, of_hosts),
            _ => (of_hosts, of_long_leg),
        };
        self.report.down_bytes += down;
        self.report.up_bytes += up;
        let long_leg = match open.accepted_at {
            HOSTS => ONWARD,
            _ => ACCEPTED,
        };
        let retransmits = tcp::retransmits(&open.relay.legs()[long_leg]);
        self.report.retransmits += u64::from(retransmits.unwrap_or(0));
    }

    /// The run has ended: counts the relays that are still open too.
    fn finish(mut self) -> SplitEndReport {
        for open in std::mem::take(&mut self.relays).iter().flatten() {
            self.count(open);
        }
        self.report
    }

    /// Gives the numbers of closed relays to others, and accepts who waited for room.
    fn make_room(&mut self) -> io::Result<()> {
        let wanted = self.is_full && !self.closed.is_empty();
        self.unused.append(&mut self.closed);
        if wanted {
            self.is_full = false;
            let listeners = self.sides.iter().map(|side| side.listeners.len()).sum();
            for number in 0..listeners {
                self.accept_at(number)?;
            }
        }
        Ok(())
    }
}
