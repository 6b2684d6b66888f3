//! A TCP connection of a host, which ends at this gateway, and the flow that goes on from there.

use crate::entrance::{Asked, Greeting, LONGEST_GREETING, Step};
use crate::flows::{FlowReport, FlowState, Ledger};
use bentpipe_gateway::{FlowId, NamedTarget, ResetCode, Session, Target};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, socket_error};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Read by one call.
const READ_BYTES: usize = 1 << 16;
/// Bytes in a row for one host, before the others have their turn.
const BYTES_PER_TURN: usize = 1 << 20;

/// Where bytes of hosts are read to.
#[derive(Debug)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    /// Has room for as many. What fills most of it is a flow's without a copy.
    piece: Vec<u8>,
}

impl ReadBuffer {
    pub fn new() -> Self {
        Self {
            bytes: vec![0; READ_BYTES],
            piece: Vec::new(),
        }
    }
}

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It waits for its socket or its flow.
    Waiting,
    /// It has said where it leads.
    Greeted,
    /// The program at this address asks for an association.
    Associates(SocketAddr),
    /// It stopped to give others a turn.
    MoreToDo,
    /// Both directions have ended.
    Over,
    /// The destination could not be reached.
    Refused(ResetCode),
    /// The host's side failed.
    Broken,
}

/// Where a host's connection leads.
#[derive(Debug)]
pub(crate) enum Destination {
    /// It has not said so yet.
    Unknown,
    Address(Target),
    Name(NamedTarget),
    /// It goes on for the other gateway.
    Reached,
}

/// A program that has not said yet where its connection leads.
#[derive(Debug)]
struct Newcomer {
    greeting: Greeting,
    sent: Vec<u8>,
    /// Its address.
    source: SocketAddr,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Connection {
    pub socket: OwnedFd,
    pub destination: Destination,
    newcomer: Option<Box<Newcomer>>,
    /// What a program sent right after its greeting: it goes first.
    early: Vec<u8>,
    /// Further addresses of the destination.
    pub others: VecDeque<Target>,
    pub flow: Option<FlowId>,
    /// The place of the association that lasts as long as this connection.
    pub association: Option<usize>,
    pub user: u64,
    pub ledger: Ledger,
    /// It waits for its turn.
    pub queued: bool,
    connected: bool,
    /// What the socket said last: there may be more to read, and it may take more.
    readable: bool,
    writable: bool,
    failed: bool,
    /// Each direction's end has been passed on.
    end_sent: bool,
    end_given: bool,
}

impl Connection {
    fn new(socket: OwnedFd, user: u64, ledger: Ledger, connected: bool) -> Self {
        Self {
            socket,
            destination: Destination::Reached,
            newcomer: None,
            early: Vec::new(),
            others: VecDeque::new(),
            flow: None,
            association: None,
            user,
            ledger,
            queued: false,
            connected,
            readable: true,
            writable: true,
            failed: false,
            end_sent: false,
            end_given: false,
        }
    }

    /// One that a host has opened. It leads to `target`, or where its greeting says.
    pub fn accepted(
        socket: OwnedFd,
        target: Target,
        user: u64,
        greeting: Option<Greeting>,
    ) -> Self {
        let destination = match greeting {
            None => Destination::Address(target),
            Some(_) => Destination::Unknown,
        };
        let known = greeting
            .is_none()
            .then_some(Asked::Address(target.destination));
        let ledger = Ledger::new(target.source, known);
        let newcomer = greeting.map(|greeting| {
            Box::new(Newcomer {
                greeting,
                sent: Vec::new(),
                source: target.source,
            })
        });
        Self {
            destination,
            newcomer,
            ..Self::new(socket, user, ledger, true)
        }
    }

    /// One that goes on for the other gateway.
    pub fn onward(socket: OwnedFd, flow: FlowId, user: u64, target: &Target) -> Self {
        let ledger = Ledger::new(target.source, Some(Asked::Address(target.destination)));
        Self {
            flow: Some(flow),
            ..Self::new(socket, user, ledger, false)
        }
    }

    /// The other gateway has got nothing of its flow: all that was written to it is to go over another one.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        self.flow = None;
        self.ledger.sent_bytes -= (bytes.len() as u64).min(self.ledger.sent_bytes);
        let later = std::mem::replace(&mut self.early, bytes);
        self.early.extend(later);
        // Its end is read once more.
        self.end_sent = false;
        self.readable = true;
    }

    pub fn happened(&mut self, flags: EventFlags) {
        self.readable |= flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP);
        if flags.contains(EventFlags::OUT) {
            self.writable = true;
            self.connected |= !flags.contains(EventFlags::ERR);
        }
        self.failed |= flags.contains(EventFlags::ERR);
    }

    pub fn report(&self, now: Instant) -> FlowReport {
        let state = if self.flow.is_none() {
            FlowState::Waiting
        } else if !self.connected {
            FlowState::Connecting
        } else if self.end_sent || self.end_given {
            FlowState::HalfClosed
        } else {
            FlowState::Open
        };
        self.ledger.report(state, now)
    }

    /// Passes on what can be passed on, both ways. Counts what the host was given.
    pub fn go_on(
        &mut self,
        session: &mut Session,
        buffer: &mut ReadBuffer,
        delivered: &mut u64,
    ) -> Progress {
        if self.failed
            && let Ok(Err(error)) = socket_error(&self.socket)
        {
            return self.broken(error);
        }
        self.failed = false;
        if self.newcomer.is_some() {
            return self.greet(&mut buffer.bytes);
        }
        if self.association.is_some() {
            return self.wait_for_end(&mut buffer.bytes);
        }
        let Some(flow) = self.flow.filter(|_| self.connected) else {
            return Progress::Waiting;
        };
        let passed = self
            .read_host(session, flow, buffer)
            .and_then(|more| Ok(self.write_host(session, flow, delivered)? || more));
        match passed {
            Err(error) => self.broken(error),
            Ok(_) if self.end_sent && self.end_given => Progress::Over,
            Ok(true) => Progress::MoreToDo,
            Ok(false) => Progress::Waiting,
        }
    }

    /// Reads what a program says about where it wants to go.
    fn greet(&mut self, buffer: &mut [u8]) -> Progress {
        let Some(newcomer) = &mut self.newcomer else {
            return Progress::Waiting;
        };
        while self.readable {
            let room = LONGEST_GREETING.saturating_sub(newcomer.sent.len()).max(1);
            let room = room.min(buffer.len());
            match recv(&self.socket, &mut buffer[..room], RecvFlags::empty()) {
                Ok((_, 0)) => return Progress::Broken,
                Ok((_, length)) => newcomer.sent.extend_from_slice(&buffer[..length]),
                Err(Errno::AGAIN) => {
                    self.readable = false;
                    break;
                }
                Err(Errno::INTR) => continue,
                Err(_) => return Progress::Broken,
            }
            loop {
                let (answer, step) = match newcomer.greeting.read(&newcomer.sent) {
                    Step::More => break,
                    Step::Answer(answer) => (answer, None),
                    Step::Associate => {
                        let program = newcomer.source;
                        self.newcomer = None;
                        return Progress::Associates(program);
                    }
                    Step::Refuse(answer) => (answer, Some(None)),
                    Step::Open {
                        asked,
                        taken,
                        answer,
                    } => (answer, Some(Some((asked, taken)))),
                };
                // A new connection has room for the few bytes of an answer.
                let sent = if answer.is_empty() {
                    Ok(0)
                } else {
                    send(&self.socket, answer, SendFlags::NOSIGNAL)
                };
                if sent != Ok(answer.len()) {
                    return Progress::Broken;
                }
                let Some(end) = step else {
                    continue;
                };
                let destination = end.and_then(|(asked, taken)| {
                    self.early = newcomer.sent.split_off(taken);
                    self.ledger.destination = Some(asked.clone());
                    destination(asked, newcomer.source)
                });
                let Some(destination) = destination else {
                    return Progress::Over;
                };
                self.destination = destination;
                self.newcomer = None;
                return Progress::Greeted;
            }
        }
        Progress::Waiting
    }

    /// Throws away what a program sends beside its association.
    fn wait_for_end(&mut self, buffer: &mut [u8]) -> Progress {
        let mut passed = 0;
        while self.readable {
            if passed >= BYTES_PER_TURN {
                return Progress::MoreToDo;
            }
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, 0)) => return Progress::Over,
                Ok((_, length)) => passed += length,
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(_) => return Progress::Broken,
            }
        }
        Progress::Waiting
    }

    fn broken(&self, error: Errno) -> Progress {
        if self.connected {
            Progress::Broken
        } else {
            Progress::Refused(crate::reset_code(error))
        }
    }

    /// Whether there may be more at once.
    fn read_host(
        &mut self,
        session: &mut Session,
        flow: FlowId,
        buffer: &mut ReadBuffer,
    ) -> rustix::io::Result<bool> {
        let ReadBuffer { bytes, piece } = buffer;
        let mut passed = 0;
        while (self.readable || !self.early.is_empty()) && !self.end_sent {
            if passed >= BYTES_PER_TURN {
                return Ok(true);
            }
            // Where there is none, an event says when there is.
            let room = session.room(flow).min(bytes.len());
            if room == 0 {
                break;
            }
            if !self.early.is_empty() {
                let taken = session.write(flow, &self.early[..room.min(self.early.len())]);
                self.early.drain(..taken);
                self.ledger.sent_bytes += taken as u64;
                continue;
            }
            let is_whole = room == bytes.len();
            let read = if is_whole {
                piece.reserve_exact(room);
                let read = recv(&self.socket, spare_capacity(piece), RecvFlags::empty());
                read.map(|it| it.1)
            } else {
                recv(&self.socket, &mut bytes[..room], RecvFlags::empty()).map(|it| it.1)
            };
            match read {
                Ok(0) => {
                    self.end_sent = true;
                    session.finish(flow);
                }
                Ok(length) => {
                    let taken = if is_whole {
                        session.write_piece(flow, piece)
                    } else {
                        session.write(flow, &bytes[..length])
                    };
                    debug_assert_eq!(taken, length, "there was room");
                    passed += length;
                    self.ledger.sent_bytes += length as u64;
                }
                Err(Errno::AGAIN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Whether there may be more at once.
    fn write_host(
        &mut self,
        session: &mut Session,
        flow: FlowId,
        delivered: &mut u64,
    ) -> rustix::io::Result<bool> {
        let mut passed = 0;
        while self.writable {
            if passed >= BYTES_PER_TURN {
                return Ok(true);
            }
            let ready = session.readable(flow);
            if ready.is_empty() {
                break;
            }
            match send(&self.socket, ready, SendFlags::NOSIGNAL) {
                Ok(length) => {
                    session.consume(flow, length);
                    *delivered += length as u64;
                    self.ledger.delivered_bytes += length as u64;
                    passed += length;
                }
                Err(Errno::AGAIN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        // A flow of which nothing is left has ended on both sides: one that was reset has no connection any more.
        let ended = session.has_ended(flow) || !session.has_flow(flow);
        if ended && !self.end_given {
            self.end_given = true;
            shutdown(&self.socket, Shutdown::Write)?;
        }
        Ok(false)
    }

    /// Closes with a RST.
    pub fn reset(self) {
        // Without it the connection closes in the usual way, which is all that can be done then.
        let _ = set_socket_linger(&self.socket, Some(Duration::ZERO));
    }
}

/// A target has addresses of one family: IPv4 is written as IPv6 (RFC 4291, section 2.5.5.2) where the other one is IPv6.
fn destination(asked: Asked, source: SocketAddr) -> Option<Destination> {
    let mapped = |address: SocketAddr| match address.ip() {
        IpAddr::V4(v4) => SocketAddr::new(v4.to_ipv6_mapped().into(), address.port()),
        IpAddr::V6(_) => address,
    };
    Some(match asked {
        Asked::Address(to) if to.is_ipv4() == source.is_ipv4() => Destination::Address(Target {
            destination: to,
            source,
        }),
        Asked::Address(to) => Destination::Address(Target {
            destination: mapped(to),
            source: mapped(source),
        }),
        Asked::Name { name, port } => Destination::Name(NamedTarget::new(&name, port, source)?),
    })
}
