//! Keystrokes: the client writes a small message now and then over one connection, and the server answers each with as many
//! bytes, as a shell over ssh does. Its measure is the time from the write of a message to the last byte of its answer.
//!
//! 1. The client connects at the workload's start and writes the first message when it is connected.
//! 2. Both ends set `TCP_NODELAY`, as OpenSSH does for a terminal.
//! 3. Messages do not wait for answers: the next one is written when its time has come.
//! 4. The server answers a message when it has read all of it.
//! 5. A message that was written within `left_out_ns` before the run's end and has no answer then is left out: its answer
//!    may have been on the way.

use super::Workload;
use crate::packet::ConnectionId;
use crate::rows::{FailureRow, PingRow};
use crate::seat::Side;
use crate::spec_error::SpecError;
use crate::world::World;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::{Notice, Socket};
use bentpipe_workloads::{Gaps, MessageTimes};
use serde::Serialize;

const PORT: u16 = 22;

/// Keystrokes in plain numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InteractiveSpec {
    /// Of the workload: its gaps are drawn under it.
    pub name: String,
    pub start_ns: Time,
    /// Of messages. With neither this nor a time they go on to the run's end.
    pub count: Option<u64>,
    /// Since the first message: none is written then or later.
    pub time_ns: Option<Nanos>,
    /// Mean time between two messages.
    pub interval_ns: Nanos,
    pub gaps: Gaps,
    /// Of a message, and of its answer.
    pub size_bytes: u64,
    pub left_out_ns: Nanos,
}

bentpipe_reading::read_struct!(InteractiveSpec {
    name,
    start_ns,
    count,
    time_ns,
    interval_ns,
    gaps,
    size_bytes,
    left_out_ns,
});

#[derive(Debug)]
pub struct Interactive {
    place: usize,
    spec: InteractiveSpec,
    times: MessageTimes,
    connection: Option<ConnectionId>,
    /// When the first message was written.
    first: Time,
    /// When the next one is to be written, from then; `None`: all are.
    next: Option<Nanos>,
    /// When each message was written.
    written: Vec<Time>,
    /// Bytes that the server has read, and that the client has.
    asked: u64,
    answered: u64,
    failed: bool,
}

impl Interactive {
    pub fn new(world: &World, place: usize, spec: &InteractiveSpec) -> Result<Self, SpecError> {
        let wrong = |what: &str| Err(SpecError::Workload(format!("{}.{what}", spec.name)));
        if spec.size_bytes == 0 {
            return wrong("size_bytes: expected at least one byte");
        }
        if spec.interval_ns <= Nanos::ZERO {
            return wrong("interval_ns: expected a time above zero");
        }
        let times = MessageTimes::new(world.seed, &spec.name, spec.interval_ns, spec.gaps);
        let mut interactive = Self {
            place,
            spec: spec.clone(),
            times,
            connection: None,
            first: Time::ZERO,
            next: None,
            written: Vec::new(),
            asked: 0,
            answered: 0,
            failed: false,
        };
        interactive.plan_next();
        Ok(interactive)
    }

    fn plan_next(&mut self) {
        let written = self.written.len() as u64;
        let is_over = |at: &Nanos| self.spec.time_ns.is_some_and(|time| *at >= time);
        self.next = self.times.next().filter(|at| !is_over(at));
        if self.spec.count.is_some_and(|most| written >= most) {
            self.next = None;
        }
    }

    fn messages(&self, bytes: u64) -> u64 {
        bytes / self.spec.size_bytes
    }

    /// Writes the messages whose time has come, and asks to be called for the next one.
    fn write(&mut self, world: &mut World) {
        let Some(id) = self.connection else { return };
        while let Some(after) = self.next {
            let at = self.first + after;
            if at > world.now() {
                world.call_at(at, self.place, 0);
                return;
            }
            self.written.push(world.now());
            world.write(id, Side::Client, self.spec.size_bytes);
            self.plan_next();
        }
    }

    fn on_answer(&mut self, world: &mut World, bytes: u64) {
        let before = self.messages(self.answered);
        self.answered += bytes;
        for message in before..self.messages(self.answered) {
            let time = self.written[message as usize];
            world.pings.push(PingRow {
                time,
                workload: self.place,
                sequence: message as u32,
                rtt: Some(world.now() - time),
            });
        }
        if let (true, Some(id)) = (self.is_done(), self.connection) {
            world.close(id, Side::Client);
        }
    }
}

impl Workload for Interactive {
    fn on_start(&mut self, world: &mut World) {
        self.connection = Some(world.connect(self.place, PORT));
    }

    fn on_notice(&mut self, world: &mut World, id: ConnectionId, side: Side, notice: Notice) {
        if self.connection != Some(id) {
            return;
        }
        match (notice, side) {
            (Notice::Connected, _) => {
                world.set_nodelay(id, side);
                if side == Side::Client {
                    self.first = world.now();
                    self.write(world);
                }
            }
            (Notice::Read(bytes), Side::Server) => {
                let before = self.messages(self.asked);
                self.asked += bytes;
                let whole = self.messages(self.asked) - before;
                if whole > 0 {
                    world.write(id, side, whole * self.spec.size_bytes);
                }
            }
            (Notice::Read(bytes), Side::Client) => self.on_answer(world, bytes),
            (Notice::PeerClosed, _) => world.close(id, side),
            (Notice::Closed(true), _) => {
                let other = world.socket(id, side.other());
                if other.is_none_or(Socket::is_closed) {
                    world.release(id);
                }
            }
            (Notice::Closed(false), _) => {
                self.failed = true;
                self.connection = None;
                world.failures.push(FailureRow {
                    workload: self.place,
                    why: "the connection failed",
                });
                world.release(id);
            }
            (Notice::Drained, _) => {}
        }
    }

    fn on_timer(&mut self, world: &mut World, _token: u64) {
        self.write(world);
    }

    fn on_end(&mut self, world: &mut World) {
        let end = world.now();
        let answered = self.messages(self.answered) as usize;
        for (message, &time) in self.written.iter().enumerate().skip(answered) {
            if self.failed || time + self.spec.left_out_ns <= end {
                world.pings.push(PingRow {
                    time,
                    workload: self.place,
                    sequence: message as u32,
                    rtt: None,
                });
            }
        }
    }

    fn is_done(&self) -> bool {
        let all = self.messages(self.answered) == self.written.len() as u64;
        self.failed || self.next.is_none() && all
    }
}
