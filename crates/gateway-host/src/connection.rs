//! A TCP connection of a host, which ends at this gateway, and the flow that goes on from there.

use bentpipe_gateway::{FlowId, ResetCode, Session, Target};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, socket_error};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Read by one call.
pub(crate) const READ_BYTES: usize = 1 << 16;
/// Bytes in a row for one host, before the others have their turn.
const BYTES_PER_TURN: usize = 1 << 20;

/// How far a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It waits for its socket or its flow.
    Waiting,
    /// It stopped to give others a turn.
    MoreToDo,
    /// Both directions have ended.
    Over,
    /// The destination could not be reached.
    Refused(ResetCode),
    /// The host's side failed.
    Broken,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Connection {
    pub socket: OwnedFd,
    /// Where it leads, until it has a flow.
    pub target: Option<Target>,
    pub flow: Option<FlowId>,
    pub user: u64,
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
    fn new(socket: OwnedFd, user: u64, connected: bool) -> Self {
        Self {
            socket,
            target: None,
            flow: None,
            user,
            queued: false,
            connected,
            readable: true,
            writable: true,
            failed: false,
            end_sent: false,
            end_given: false,
        }
    }

    /// One that a host has opened.
    pub fn accepted(socket: OwnedFd, target: Target, user: u64) -> Self {
        Self {
            target: Some(target),
            ..Self::new(socket, user, true)
        }
    }

    /// One that goes on for the other gateway.
    pub fn onward(socket: OwnedFd, flow: FlowId, user: u64) -> Self {
        Self {
            flow: Some(flow),
            ..Self::new(socket, user, false)
        }
    }

    pub fn happened(&mut self, flags: EventFlags) {
        self.readable |= flags.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP);
        if flags.contains(EventFlags::OUT) {
            self.writable = true;
            self.connected |= !flags.contains(EventFlags::ERR);
        }
        self.failed |= flags.contains(EventFlags::ERR);
    }

    /// Passes on what can be passed on, both ways. Counts what the host was given.
    pub fn go_on(
        &mut self,
        session: &mut Session,
        buffer: &mut [u8],
        delivered: &mut u64,
    ) -> Progress {
        if self.failed
            && let Ok(Err(error)) = socket_error(&self.socket)
        {
            return self.broken(error);
        }
        self.failed = false;
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
        buffer: &mut [u8],
    ) -> rustix::io::Result<bool> {
        let mut passed = 0;
        while self.readable && !self.end_sent {
            if passed >= BYTES_PER_TURN {
                return Ok(true);
            }
            // Where there is none, an event says when there is.
            let room = session.room(flow).min(buffer.len());
            if room == 0 {
                break;
            }
            match recv(&self.socket, &mut buffer[..room], RecvFlags::empty()) {
                Ok((_, 0)) => {
                    self.end_sent = true;
                    session.finish(flow);
                }
                Ok((_, length)) => {
                    let taken = session.write(flow, &buffer[..length]);
                    debug_assert_eq!(taken, length, "there was room");
                    passed += length;
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
