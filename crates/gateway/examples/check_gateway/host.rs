//! The hosts behind a gateway: what they write, and whether what they read is right.

use crate::scenario::{Transfer, Turn};
use bentpipe_base::{Nanos, Time};
use bentpipe_gateway::{FlowId, ResetCode, Role, Session};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Waiting,
    Open,
    /// All was written and read.
    Done,
    /// The host has reset it, or was told that it was.
    Reset,
}

/// One side of a transfer.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Side {
    pub flow: Option<FlowId>,
    pub outcome: Outcome,
    role: Role,
    is_opener: bool,
    to_write: u64,
    to_read: u64,
    waits: bool,
    reset_at: Option<u64>,
    stall: Option<Nanos>,
    stalled_until: Option<Time>,
    written: u64,
    read: u64,
    /// All was written, and all was read.
    finished: bool,
    ended: bool,
    place: usize,
}

/// The byte at an offset of a transfer, from its opener or to it.
fn byte(place: usize, from_opener: bool, offset: u64) -> u8 {
    let mixed = (offset / 7 + 31 * place as u64 + u64::from(from_opener) * 101)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8 ^ offset as u8
}

impl Side {
    pub fn new(place: usize, transfer: &Transfer, role: Role) -> Self {
        let is_opener = transfer.opener == role;
        let [own, other] = if is_opener {
            transfer.bytes
        } else {
            [transfer.bytes[1], transfer.bytes[0]]
        };
        let of = |at: Option<(Role, u64)>| at.filter(|it| it.0 == role).map(|it| it.1);
        Self {
            flow: None,
            outcome: Outcome::Waiting,
            role,
            is_opener,
            to_write: own,
            to_read: other,
            waits: !is_opener && transfer.answer == Turn::AfterTheOther,
            reset_at: of(transfer.reset),
            stall: transfer.stall.filter(|it| it.0 == role).map(|it| it.1),
            stalled_until: None,
            written: 0,
            read: 0,
            finished: false,
            ended: false,
            place,
        }
    }

    pub fn begin(&mut self, flow: FlowId) {
        self.flow = Some(flow);
        self.outcome = Outcome::Open;
    }

    /// The gateway has reset it.
    pub fn on_reset(&mut self, _code: ResetCode) {
        if self.outcome == Outcome::Open {
            self.outcome = Outcome::Reset;
        }
    }

    /// Reads and writes as much as it can. When it wants to be asked again, or what was wrong.
    pub fn act(&mut self, now: Time, session: &mut Session) -> Result<Option<Time>, String> {
        let Some(flow) = self.flow.filter(|_| self.outcome == Outcome::Open) else {
            return Ok(None);
        };
        let wake = self.read(now, flow, session)?;
        if self.outcome != Outcome::Open {
            return Ok(None);
        }
        self.write(flow, session);
        if self.finished && self.ended {
            self.outcome = Outcome::Done;
        }
        Ok(wake)
    }

    fn read(
        &mut self,
        now: Time,
        flow: FlowId,
        session: &mut Session,
    ) -> Result<Option<Time>, String> {
        if self.stalled_until.is_some_and(|until| now < until) {
            return Ok(self.stalled_until);
        }
        loop {
            if self.reset_at.is_some_and(|at| self.read >= at) {
                session.reset(flow, ResetCode::Host);
                self.outcome = Outcome::Reset;
                return Ok(None);
            }
            let ready = session.readable(flow);
            if ready.is_empty() {
                break;
            }
            if let Some(span) = self.stall.take() {
                self.stalled_until = Some(now + span);
                return Ok(self.stalled_until);
            }
            for &found in ready {
                let expected = byte(self.place, !self.is_opener, self.read);
                if found != expected {
                    return Err(format!(
                        "transfer {}: {:?} read {found:#04x} at offset {}, expected {expected:#04x}",
                        self.place, self.role, self.read
                    ));
                }
                self.read += 1;
            }
            if self.read > self.to_read {
                return Err(format!(
                    "transfer {}: {:?} read {} bytes, {} were written",
                    self.place, self.role, self.read, self.to_read
                ));
            }
            let bytes = ready.len();
            session.consume(flow, bytes);
        }
        if !self.ended && session.has_ended(flow)
            || self.read == self.to_read && self.is_gone(session)
        {
            if self.read != self.to_read {
                return Err(format!(
                    "transfer {}: {:?} read the end behind {} bytes, {} were written",
                    self.place, self.role, self.read, self.to_read
                ));
            }
            self.ended = true;
        }
        Ok(None)
    }

    /// The session has forgotten the flow: both directions had ended.
    fn is_gone(&self, session: &Session) -> bool {
        self.flow.is_some_and(|flow| !session.has_flow(flow))
    }

    fn write(&mut self, flow: FlowId, session: &mut Session) {
        if self.waits && !self.ended || self.finished {
            return;
        }
        while self.written < self.to_write {
            let chunk = (self.to_write - self.written).min(5000);
            let range = self.written..self.written + chunk;
            let bytes: Vec<u8> = range
                .map(|at| byte(self.place, self.is_opener, at))
                .collect();
            let taken = session.write(flow, &bytes);
            self.written += taken as u64;
            if (taken as u64) < chunk {
                return;
            }
        }
        session.finish(flow);
        self.finished = true;
    }
}
