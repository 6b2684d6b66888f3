//! One direction of a link: a pipe, a line with a delay per server, or nothing.

use super::lines::ServerLines;
use crate::packet::Packet;
use bentpipe_base::time::Time;
use bentpipe_path::Pipe;

#[derive(Debug)]
pub(crate) enum Carrier {
    Pipe(Box<Pipe<Packet>>),
    /// Without servers: nothing, what enters leaves at once.
    ServerLines(ServerLines),
}

impl Carrier {
    #[inline]
    pub fn push(&mut self, now: Time, packet: Packet) {
        match self {
            Self::Pipe(pipe) => pipe.push(now, packet),
            Self::ServerLines(lines) => lines.push(now, packet),
        }
    }

    #[inline]
    pub fn next_time(&self) -> Time {
        let next = match self {
            Self::Pipe(pipe) => pipe.next_time(),
            Self::ServerLines(lines) => lines.next_time(),
        };
        next.unwrap_or(Time::NEVER)
    }

    #[inline]
    pub fn pop(&mut self, now: Time) -> Option<Packet> {
        match self {
            Self::Pipe(pipe) => pipe.pop(now).map(|(_, packet)| packet),
            Self::ServerLines(lines) => lines.pop(now),
        }
    }
}
