//! The clients' side: every channel's connection, by one thread and edge-triggered epoll(7).
//!
//! What comes is discarded in the kernel (`MSG_TRUNC`, tcp(7)), as soon as it comes, so that the window opens as for a
//! program that reads at once.

use super::ledger::{self, FlowOutcome, Ledger, Number, Received};
use super::setup::{ChannelsSetup, Place};
use super::tcp::{self, Alarm, Bell};
use crate::servers;
use bentpipe_workloads::{ChannelPlan, PlannedFlow};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

const EVENTS: usize = 256;
/// Beyond the numbers of the channels.
const BELL: u64 = 1 << 32;
const ALARM: u64 = BELL + 1;
/// Taken from a socket by one call; the pages are never touched.
const DISCARDED_BYTES: usize = 1 << 22;
/// After a connection that could not even be begun, so that a channel does not spin.
const RETRY_NS: i64 = 1_000_000_000;

#[derive(Debug)]
struct Client {
    plan: ChannelPlan,
    open: Option<Open>,
}

/// A connection whose end has not been read yet.
#[derive(Debug)]
struct Open {
    socket: OwnedFd,
    number: Number,
    known: Received,
    /// The server is to be told the port, once the connection is there.
    says_port: bool,
}

#[derive(Debug)]
pub(super) struct Clients {
    setup: ChannelsSetup,
    place: Place,
    ledger: Arc<Mutex<Ledger<BufWriter<File>>>>,
    epoll: OwnedFd,
    alarm: Alarm,
    channels: Vec<Client>,
    /// When a channel opens its next connection.
    thinking: BinaryHeap<Reverse<(i64, u32)>>,
    discarded: Vec<u8>,
}

impl Clients {
    pub fn new(
        setup: &ChannelsSetup,
        place: Place,
        ledger: Arc<Mutex<Ledger<BufWriter<File>>>>,
        bell: &Bell,
    ) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let alarm = Alarm::new()?;
        epoll::add(&epoll, bell, EventData::new_u64(BELL), EventFlags::IN)?;
        let edges = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &alarm, EventData::new_u64(ALARM), edges)?;
        let client = |number| Client {
            plan: ChannelPlan::new(place.seed, &setup.name, number, setup.servers),
            open: None,
        };
        let at_start = |number| Reverse((setup.start_ns, number));
        Ok(Self {
            channels: (0..setup.channels).map(client).collect(),
            thinking: (0..setup.channels).map(at_start).collect(),
            setup: setup.clone(),
            place,
            ledger,
            epoll,
            alarm,
            discarded: vec![0; DISCARDED_BYTES],
        })
    }

    /// Until the run's end, or until the bell rings.
    pub fn run(&mut self) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            let now_ns = self.place.now_ns();
            if self.setup.end_ns.is_some_and(|end| now_ns >= end) {
                return Ok(());
            }
            self.open_what_is_due(now_ns)?;
            let next = self.thinking.peek().map(|Reverse((due, _))| *due);
            let next = next.into_iter().chain(self.setup.end_ns).min();
            self.alarm
                .set(next.map(|at| at + self.place.zero_monotonic_ns))?;
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                None,
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for Event { data, flags } in events.drain(..) {
                match data.u64() {
                    BELL => return Ok(()),
                    ALARM => {}
                    channel => self.happened(channel as u32, flags)?,
                }
            }
        }
    }

    /// The run has ended: says what came of the flows that are still open.
    pub fn leave(&mut self) {
        let mut ledger = ledger::lock(&self.ledger);
        for channel in &mut self.channels {
            if let Some(open) = channel.open.take() {
                let outcome = FlowOutcome::Unfinished;
                let known = Received {
                    outcome,
                    ..open.known
                };
                ledger.received(open.number, known);
            }
        }
    }

    fn open_what_is_due(&mut self, now_ns: i64) -> io::Result<()> {
        while let Some(&Reverse((due, channel))) = self.thinking.peek()
            && due <= now_ns
        {
            self.thinking.pop();
            self.open(channel)?;
        }
        Ok(())
    }

    fn open(&mut self, channel: u32) -> io::Result<()> {
        let client = &mut self.channels[channel as usize];
        let flow = client.plan.next_flow(&self.setup.size);
        let address = servers::address(self.place.first_server + flow.server, self.setup.ip);
        // Held until the flow is expected: the server may accept before the port is known here.
        let mut ledger = ledger::lock(&self.ledger);
        let start_ns = self.place.now_ns();
        let known = |local_port| Received {
            channel,
            flow,
            local_port,
            start_ns,
            connected_ns: None,
            first_byte_ns: None,
            last_byte_ns: None,
            bytes: 0,
            outcome: FlowOutcome::Finished,
        };
        match tcp::begin(address) {
            Ok((socket, port)) => {
                let number = ledger.expect(flow, port);
                drop(ledger);
                let wanted = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
                let to = EventData::new_u64(u64::from(channel));
                epoll::add(&self.epoll, &socket, to, wanted)?;
                client.open = Some(Open {
                    socket,
                    number,
                    known: known(port),
                    says_port: self.setup.client_says_port,
                });
            }
            Err(error) => {
                let outcome = FlowOutcome::Failed(sentence(error));
                let known = Received {
                    outcome,
                    ..known(0)
                };
                ledger.write(&known, None);
                drop(ledger);
                self.thinking.push(Reverse((start_ns + RETRY_NS, channel)));
            }
        }
        Ok(())
    }

    fn happened(&mut self, channel: u32, flags: EventFlags) -> io::Result<()> {
        let now_ns = self.place.now_ns();
        let Some(open) = &mut self.channels[channel as usize].open else {
            return Ok(());
        };
        let ended = open.happened(now_ns, flags, &mut self.discarded);
        match ended {
            Some(outcome) => self.close(channel, now_ns, outcome),
            None => Ok(()),
        }
    }

    /// The channel is done with its connection, and goes on.
    fn close(&mut self, channel: u32, now_ns: i64, outcome: FlowOutcome) -> io::Result<()> {
        if let Some(Open {
            socket,
            number,
            known,
            ..
        }) = self.channels[channel as usize].open.take()
        {
            drop(socket);
            ledger::lock(&self.ledger).received(number, Received { outcome, ..known });
        }
        if self.setup.think_ns.0 > 0 {
            let due = now_ns + self.setup.think_ns.0;
            self.thinking.push(Reverse((due, channel)));
            Ok(())
        } else {
            self.open(channel)
        }
    }
}

impl Open {
    /// Takes what has come; how the flow ended, if it has.
    fn happened(
        &mut self,
        now_ns: i64,
        flags: EventFlags,
        discarded: &mut [u8],
    ) -> Option<FlowOutcome> {
        let known = &mut self.known;
        if flags.contains(EventFlags::ERR)
            && let Ok(Err(error)) = socket_error(&self.socket)
        {
            return Some(FlowOutcome::Failed(sentence(error)));
        }
        if flags.contains(EventFlags::OUT) {
            known.connected_ns.get_or_insert(now_ns);
            if std::mem::take(&mut self.says_port)
                && let Err(error) = say_port(&self.socket, known.local_port)
            {
                return Some(FlowOutcome::Failed(sentence(error)));
            }
        }
        // The end comes with an edge of its own, after which there is no other.
        let to_the_end = flags.intersects(EventFlags::RDHUP | EventFlags::HUP);
        if !to_the_end && !flags.contains(EventFlags::IN) {
            return None;
        }
        loop {
            match recv(&self.socket, &mut discarded[..], RecvFlags::TRUNC) {
                Ok((_, 0)) => return Some(ended(known.flow, known.bytes)),
                Ok((_, taken)) => {
                    known.first_byte_ns.get_or_insert(now_ns);
                    known.bytes += taken as u64;
                    if known.bytes >= known.flow.size_bytes {
                        known.last_byte_ns.get_or_insert(now_ns);
                    }
                    if !to_the_end {
                        return None;
                    }
                }
                Err(Errno::AGAIN) => return None,
                Err(Errno::INTR) => {}
                Err(error) => return Some(FlowOutcome::Failed(sentence(error))),
            }
        }
    }
}

/// A new connection has room for two bytes.
fn say_port(socket: &OwnedFd, port: u16) -> rustix::io::Result<()> {
    send(socket, &port.to_be_bytes(), SendFlags::NOSIGNAL).map(drop)
}

fn ended(flow: PlannedFlow, bytes: u64) -> FlowOutcome {
    if bytes >= flow.size_bytes {
        FlowOutcome::Finished
    } else {
        let size = flow.size_bytes;
        FlowOutcome::Failed(format!("the server closed after {bytes} of {size} bytes"))
    }
}

fn sentence(error: Errno) -> String {
    format!("the connection failed: {}", io::Error::from(error))
}
