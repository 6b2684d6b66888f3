//! The thread of a gateway: it waits for sockets and timers with epoll(7), and does whatever can be done.

mod answers;

use crate::associations::is_association;
use crate::carrier::Carrier;
use crate::clock::{Clock, Now, until};
use crate::connections::{Connections, RESERVED};
use crate::report::Report;
use crate::setup::{Listener, Setup, Tcp};
use crate::transparent_udp::TransparentUdp;
use crate::tun::Tun;
use crate::udp::Udp;
use crate::users::Users;
use crate::watch::{Watch, Watched};
use crate::{Peer, tcp};
use bentpipe_base::{Nanos, Time};
use bentpipe_carrier::tls::FarEnd;
use bentpipe_gateway::{Event, Session, Why};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::getsockname;
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

const STOP: u64 = 0;
const TIMER: u64 = 1;
const UDP: u64 = 2;
const TCP: u64 = 15;
const FIRST_LISTENER: u64 = 3;
const MOST_LISTENERS: usize = 8;
const NAMES: u64 = FIRST_LISTENER + MOST_LISTENERS as u64;
const WATCH: u64 = NAMES + 1;
const FIRST_TRANSPARENT: u64 = 16;
const TUN: u64 = FIRST_TRANSPARENT + MOST_LISTENERS as u64;
/// What follows are connections' and associations'.
const _: () = assert!(TUN < RESERVED as u64);
const EVENTS: usize = 256;
/// The pacer makes up for a wake-up that is late by less.
const CATCH_UP: Nanos = Nanos::from_millis(2);
/// A sleep is at least so long: a gateway that sends thousands of packets in a millisecond need not wake up for each.
const LEAST_SLEEP: Duration = Duration::from_micros(50);
const NOTHING: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Ends a gateway, from any thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<OwnedFd>);

impl Stop {
    pub fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(bell)))
    }

    pub fn raise(&self) -> io::Result<()> {
        rustix::io::write(&*self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }
}

/// A gateway that is ready to run.
#[derive(Debug)]
pub struct Gateway {
    epoll: Arc<OwnedFd>,
    timer: OwnedFd,
    /// It is watched as long as it is open.
    _stop: Stop,
    clock: Clock,
    session: Session,
    carrier: Carrier,
    listeners: Vec<Listener>,
    /// Somebody may wait at a listener.
    somebody_waits: bool,
    connections: Connections,
    on_delivered: Delivered,
    /// When the session is to be asked again.
    due: Option<Time>,
    /// When the timer wakes the thread.
    armed: Option<Instant>,
    /// The UDP socket is watched for room.
    watches_room: bool,
    held_up: Nanos,
    start: Instant,
    watched: Watched,
    established: Option<Instant>,
}

/// Who is told what hosts were given.
struct Delivered(Option<Box<dyn FnMut(Instant, u64) + Send>>);

impl fmt::Debug for Delivered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Delivered")
    }
}

impl Gateway {
    /// The sockets belong to the gateway from now on.
    pub fn new(setup: Setup, stop: Stop) -> io::Result<Self> {
        let invalid = |error: String| io::Error::new(io::ErrorKind::InvalidInput, error);
        if setup.listeners.len().max(setup.transparent_udp.len()) > MOST_LISTENERS {
            return Err(invalid(format!("more than {MOST_LISTENERS} listeners")));
        }
        let clock = Clock::new();
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        let role = setup.peer.own_role();
        let outer_bytes = setup.session.outer_bytes;
        let measured_rate = setup.session.rate.known_bit_s();
        let mut random = [0; 16];
        getrandom(&mut random, GetRandomFlags::empty())?;
        let [epoch, seed] = [0, 8].map(|at| {
            let eight = random[at..at + 8].try_into().unwrap_or_default();
            u64::from_ne_bytes(eight)
        });
        let mut session = Session::new(setup.session, role, epoch, seed)
            .map_err(|error| invalid(error.to_string()))?;
        let now = clock.now();
        let machine = clock_gettime(ClockId::Boottime);
        let machine_us = machine.tv_sec * 1_000_000 + machine.tv_nsec / 1000;
        session.set_began(now.time, machine_us.unsigned_abs());
        session.give_back_flows();
        let udp_port = port(&setup.udp)?;
        let mut carrier = Carrier::new(
            setup.carrier,
            setup.choice,
            &setup.identity,
            &setup.peer,
            Udp::new(setup.udp, setup.loses)?,
            outer_bytes,
            now.instant,
        )?;
        carrier.set_measured_rate(measured_rate);
        let ends = match (setup.tcp, setup.peer) {
            (None, _) => None,
            (Some(Tcp::Connect), Peer::Far { address, key }) => Some(tcp::Ends::Near {
                far: address,
                key,
                own: setup.identity,
            }),
            (Some(Tcp::Listen(listener)), Peer::Near { key }) => {
                let tcp_port = port(&listener)?;
                if tcp_port != udp_port {
                    let error = format!(
                        "far listens on port {tcp_port} of TCP, expected {udp_port}, its port of UDP"
                    );
                    return Err(invalid(error));
                }
                let end = FarEnd::new(&setup.identity, BTreeSet::from([key]));
                Some(tcp::Ends::Far { listener, end })
            }
            (Some(_), _) => return Err(invalid("near connects, and far listens".to_owned())),
        };
        if let Some(ends) = ends {
            carrier.add_tcp(Arc::clone(&epoll), TCP, ends)?;
            session.tell_unheard();
        }
        let data = EventData::new_u64;
        epoll::add(&*epoll, &*stop.0, data(STOP), EventFlags::IN)?;
        epoll::add(&*epoll, &timer, data(TIMER), EventFlags::IN)?;
        epoll::add(&*epoll, &carrier, data(UDP), EventFlags::IN)?;
        for (number, listener) in (FIRST_LISTENER..).zip(&setup.listeners) {
            let edges = EventFlags::IN | EventFlags::ET;
            epoll::add(&*epoll, &listener.socket, data(number), edges)?;
        }
        for (number, socket) in (FIRST_TRANSPARENT..).zip(&setup.transparent_udp) {
            let edges = EventFlags::IN | EventFlags::ET;
            epoll::add(&*epoll, socket, data(number), edges)?;
        }
        if let Some(device) = &setup.tun {
            epoll::add(&*epoll, device, data(TUN), EventFlags::IN | EventFlags::ET)?;
        }
        let connections = Connections::new(
            Arc::clone(&epoll),
            setup.onward,
            [setup.most_connections, setup.most_user_associations],
            TransparentUdp::new(setup.transparent_udp),
            setup.tun.map(|device| Tun::new(device, role)),
        )?;
        epoll::add(&*epoll, connections.resolver(), data(NAMES), EventFlags::IN)?;
        let watched = Watched::new()?;
        epoll::add(&*epoll, &watched, data(WATCH), EventFlags::IN)?;
        Ok(Self {
            epoll,
            timer,
            _stop: stop,
            clock,
            session,
            carrier,
            listeners: setup.listeners,
            somebody_waits: true,
            connections,
            on_delivered: Delivered(setup.on_delivered),
            due: None,
            armed: None,
            watches_room: false,
            held_up: Nanos::ZERO,
            start: now.instant,
            watched,
            established: None,
        })
    }

    /// Goes on with the figures of users from before.
    pub fn remember(&mut self, users: Users) {
        self.connections.users = users;
    }

    /// Asks this gateway while it runs.
    pub fn watch(&self) -> Watch {
        self.watched.watch()
    }

    /// Runs until it is stopped, then closes what is open.
    pub fn run(mut self) -> io::Result<Report> {
        self.start = Instant::now();
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            let more = self.drive()?;
            let timeout = if more {
                Some(&NOTHING)
            } else {
                self.set_timer()?;
                None
            };
            let buffer = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&*self.epoll, buffer, timeout) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for epoll::Event { data, flags } in events.drain(..) {
                match data.u64() {
                    STOP => return Ok(self.finish()),
                    TIMER => {
                        self.armed = None;
                        let mut expirations = [0; 8];
                        // It may have been set again since.
                        let _ = rustix::io::read(&self.timer, &mut expirations);
                    }
                    // What has come is read by `drive`.
                    UDP => {}
                    TCP => self.carrier.tcp_happened(),
                    number if number < FIRST_LISTENER + MOST_LISTENERS as u64 => {
                        self.somebody_waits = true;
                    }
                    WATCH => self.answer(),
                    NAMES => self.connections.resolved(&mut self.session),
                    number if is_association(number) => {
                        self.connections.datagrams.associations.happened(number);
                    }
                    TUN => self.connections.datagrams.tun_happened(),
                    number if number < RESERVED.into() => {
                        let place = (number - FIRST_TRANSPARENT) as usize;
                        self.connections.datagrams.transparent.happened(place);
                    }
                    number => self.connections.happened(number, flags),
                }
            }
        }
    }

    /// Does what can be done now. Whether there is more to do at once.
    fn drive(&mut self) -> io::Result<bool> {
        let now = self.clock.now();
        if let Some(due) = self.due.take() {
            let late = now.time - due;
            self.held_up = self.held_up + (late - CATCH_UP).max(Nanos::ZERO);
        }
        let more_packets = self.carrier.receive(now);
        self.carrier.handle_timeout(now);
        self.session.handle_timeout(now.time);
        let before = self.connections.delivered;
        loop {
            self.carrier.settle(now, &mut self.session);
            self.settle_session(now);
            self.accept()?;
            self.connections.take_turns(now.instant, &mut self.session);
            self.connections.exchange_datagrams(now, &mut self.session);
            let sent = self.carrier.send(now, &mut self.session);
            if !sent {
                break;
            }
        }
        let delivered = self.connections.delivered - before;
        if delivered > 0
            && let Some(tell) = &mut self.on_delivered.0
        {
            tell(now.instant, delivered);
        }
        Ok(more_packets || self.connections.has_turns())
    }

    /// Acts on all that the session says, so that no connection goes on with a flow that was reset.
    fn settle_session(&mut self, now: Now) {
        while let Some(event) = self.session.poll_event() {
            match event {
                Event::Established { .. } => {
                    self.established.get_or_insert(now.instant);
                    self.carrier.on_established();
                }
                Event::Lost(Why::PeerBeganAnew | Why::TimedOut) => {}
                Event::Lost(why) => {
                    self.carrier.settle(now, &mut self.session);
                    self.carrier.end(now, &why.to_string());
                }
                Event::Opened { flow, target } => {
                    self.connections.opened(flow, &target, &mut self.session);
                }
                Event::OpenedNamed { flow, target } => {
                    self.connections
                        .opened_named(flow, target, &mut self.session);
                }
                Event::OpenedChannel { flow, channel } => {
                    self.connections
                        .opened_channel(flow, channel, &mut self.session);
                }
                Event::Readable(flow) | Event::Writable(flow) => {
                    self.connections.flow_happened(flow);
                }
                Event::Returned { flow, bytes } => self.connections.flow_returned(flow, bytes),
                Event::Reset { flow, code } => self.connections.flow_reset(flow, code),
            }
        }
    }

    /// Accepts who waits, if there is a session and room. Others wait in the kernel.
    fn accept(&mut self) -> io::Result<()> {
        self.connections.open_flows(&mut self.session);
        self.somebody_waits |= self.connections.take_freed();
        while self.somebody_waits && self.session.has_session() && self.connections.has_room() {
            let mut accepted = false;
            for listener in &self.listeners {
                accepted |= self.connections.accept(listener, &mut self.session)?;
            }
            self.somebody_waits = accepted;
        }
        Ok(())
    }

    /// Sets the timer for what is to be done next.
    fn set_timer(&mut self) -> io::Result<()> {
        let full = self.carrier.is_udp_full();
        if full != self.watches_room {
            self.watches_room = full;
            let room = if full {
                EventFlags::IN | EventFlags::OUT
            } else {
                EventFlags::IN
            };
            epoll::modify(&*self.epoll, &self.carrier, EventData::new_u64(UDP), room)?;
        }
        let now = self.clock.now();
        self.due = self.session.poll_timeout().map(|at| at.max(now.time));
        // Where the socket takes nothing, its room wakes the thread.
        let blocked = self.carrier.is_blocked();
        let of_session = self.due.filter(|_| !blocked).map(|at| until(now, at));
        let of_carrier = self.carrier.timeout();
        let of_carrier = of_carrier.map(|at| at.saturating_duration_since(now.instant));
        let sleep = of_session.into_iter().chain(of_carrier).min();
        let Some(sleep) = sleep.map(|sleep| sleep.max(LEAST_SLEEP)) else {
            return Ok(());
        };
        let wake = now.instant + sleep;
        // One that comes too early costs less than to set it anew each time.
        if self.armed.is_some_and(|armed| armed <= wake) {
            return Ok(());
        }
        self.armed = Some(wake);
        let value = Itimerspec {
            it_interval: NOTHING,
            it_value: Timespec {
                tv_sec: sleep.as_secs() as _,
                tv_nsec: sleep.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &value)?;
        Ok(())
    }

    fn finish(mut self) -> Report {
        let now = self.clock.now();
        self.carrier.close(now);
        let mut report = self.report();
        report.users = std::mem::take(&mut self.connections.users);
        report
    }
}

fn port(socket: &OwnedFd) -> io::Result<u16> {
    Ok(SocketAddr::try_from(getsockname(socket)?)?.port())
}
