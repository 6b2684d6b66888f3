//! Two TCP connections that pass for one: what comes from either goes to the other, data, end and RST alike.

use super::sockets;
use crate::channels::tcp;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::os::fd::OwnedFd;

/// Read by one call.
pub(super) const READ_BYTES: usize = 1 << 16;
/// Calls in a row for one flow, before the others have their turn.
const READS_PER_TURN: usize = 16;

/// The leg that was accepted, and the one that goes on from it.
pub(super) const ACCEPTED: usize = 0;
pub(super) const ONWARD: usize = 1;

#[derive(Debug)]
pub(super) struct Relay {
    legs: [OwnedFd; 2],
    /// The onward leg's handshake is over.
    connected: bool,
    /// By the leg that each comes from.
    flows: [Flow; 2],
}

/// One direction. Nothing is read while something is held.
#[derive(Debug, Default)]
struct Flow {
    /// Read, and not yet taken by the other leg's socket.
    held: Vec<u8>,
    /// So much of `held` was taken.
    taken: usize,
    /// The sender will send no more.
    ended: bool,
    /// The receiver was told so.
    shut: bool,
    bytes: u64,
}

/// How far a relay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It waits for its sockets.
    Waiting,
    /// It stopped to give others a turn.
    MoreToDo,
    /// Both sides have ended, and the last byte has been acknowledged.
    Over,
    /// A leg failed before the onward connection was open.
    Refused,
    /// A leg failed.
    Broken,
}

impl Relay {
    pub fn new(accepted: OwnedFd, onward: OwnedFd) -> Self {
        Self {
            legs: [accepted, onward],
            connected: false,
            flows: Default::default(),
        }
    }

    pub fn legs(&self) -> &[OwnedFd; 2] {
        &self.legs
    }

    /// Payload that has come from each leg.
    pub fn bytes(&self) -> [u64; 2] {
        [self.flows[ACCEPTED].bytes, self.flows[ONWARD].bytes]
    }

    /// Something happened at a leg's socket.
    pub fn happened(&mut self, leg: usize, flags: EventFlags, buffer: &mut [u8]) -> Progress {
        if !self.has_passed_all()
            && flags.contains(EventFlags::ERR)
            && let Ok(Err(_)) = socket_error(&self.legs[leg])
        {
            return if self.connected {
                Progress::Broken
            } else {
                Progress::Refused
            };
        }
        if leg == ONWARD && flags.contains(EventFlags::OUT) {
            self.connected = true;
        }
        self.go_on(buffer)
    }

    /// Moves what can be moved.
    pub fn go_on(&mut self, buffer: &mut [u8]) -> Progress {
        if !self.connected {
            // What comes early waits in the kernel, within the receive buffer.
            return Progress::Waiting;
        }
        let there = self.pump(ACCEPTED, buffer);
        let back = self.pump(ONWARD, buffer);
        if [there, back].contains(&Progress::Broken) {
            Progress::Broken
        } else if self.has_passed_all() {
            // What the kernel still sends is sent again if it is lost, and counted only while the socket is there.
            if self.legs.iter().all(tcp::is_closed) {
                Progress::Over
            } else {
                Progress::Waiting
            }
        } else if [there, back].contains(&Progress::MoreToDo) {
            Progress::MoreToDo
        } else {
            Progress::Waiting
        }
    }

    /// Both directions have ended, and both ends have been passed on. A RST that comes now changes nothing.
    fn has_passed_all(&self) -> bool {
        self.flows.iter().all(|flow| flow.shut)
    }

    pub fn close(self) {
        drop(self.legs);
    }

    /// Ends both connections by RST.
    pub fn reset(self) {
        for leg in self.legs {
            sockets::reset(leg);
        }
    }

    fn pump(&mut self, from: usize, buffer: &mut [u8]) -> Progress {
        let (source, sink) = (&self.legs[from], &self.legs[1 - from]);
        let flow = &mut self.flows[from];
        if flow.shut {
            return Progress::Waiting;
        }
        for _ in 0..READS_PER_TURN {
            match put(sink, &flow.held[flow.taken..]) {
                Ok(taken) => flow.taken += taken,
                Err(_) => return Progress::Broken,
            }
            if flow.taken < flow.held.len() {
                return Progress::Waiting;
            }
            (flow.held, flow.taken) = (Vec::new(), 0);
            if flow.ended {
                flow.shut = true;
                return match shutdown(sink, Shutdown::Write) {
                    Ok(()) => Progress::Waiting,
                    Err(_) => Progress::Broken,
                };
            }
            let received = recv(source, &mut *buffer, RecvFlags::empty());
            flow.bytes += received.map_or(0, |(_, length)| length as u64);
            match received {
                Ok((_, 0)) => flow.ended = true,
                Ok((_, length)) => match put(sink, &buffer[..length]) {
                    Ok(taken) => flow.held.extend_from_slice(&buffer[taken..length]),
                    Err(_) => return Progress::Broken,
                },
                Err(Errno::AGAIN) => return Progress::Waiting,
                Err(Errno::INTR) => {}
                Err(_) => return Progress::Broken,
            }
        }
        Progress::MoreToDo
    }
}

/// Writes as much as the socket takes.
fn put(socket: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match send(socket, &bytes[taken..], SendFlags::NOSIGNAL) {
            Ok(length) => taken += length,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}
