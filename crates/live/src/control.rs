//! The control descriptor: JSON lines in both directions.

use crate::protocol::{Event, Request};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, FdFlags, fcntl_setfd, read, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[derive(Debug)]
pub(crate) struct ControlStream {
    descriptor: OwnedFd,
    lines: LineBuffer,
}

/// What arrived: a request, a line that is not a request and why, or the other side's end.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    Request(Request),
    Malformed(String),
    Closed,
}

impl ControlStream {
    pub(crate) fn new(descriptor: OwnedFd) -> io::Result<Self> {
        fcntl_setfd(&descriptor, FdFlags::CLOEXEC)?;
        let flags = fcntl_getfl(&descriptor)?;
        fcntl_setfl(&descriptor, flags - OFlags::NONBLOCK)?;
        Ok(Self {
            descriptor,
            lines: LineBuffer::default(),
        })
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// What is there already, without waiting.
    pub(crate) fn arrived(&mut self) -> Option<Incoming> {
        self.lines.next().map(|line| parse(&line))
    }

    /// Reads once. The descriptor must be readable, or this waits. False at the other side's end.
    pub(crate) fn fill(&mut self) -> bool {
        let mut block = [0; 16_384];
        loop {
            return match read(&self.descriptor, &mut block) {
                Err(Errno::INTR) => continue,
                Ok(0) | Err(_) => false,
                Ok(length) => {
                    self.lines.pending.extend_from_slice(&block[..length]);
                    true
                }
            };
        }
    }

    /// Waits for the next request.
    pub(crate) fn wait(&mut self) -> Incoming {
        loop {
            if let Some(arrival) = self.arrived() {
                return arrival;
            }
            let mut fds = [PollFd::new(&self.descriptor, PollFlags::IN)];
            match poll(&mut fds, None) {
                Err(Errno::INTR) => {}
                Err(_) => return Incoming::Closed,
                Ok(_) => {
                    if !self.fill() {
                        return Incoming::Closed;
                    }
                }
            }
        }
    }

    /// Says something. An error means that nobody listens any more, which the next read says as well.
    pub(crate) fn say(&self, event: &Event) {
        let mut line = serde_json::to_vec(event).expect("events are plain maps, lists and numbers");
        line.push(b'\n');
        let mut left = line.as_slice();
        while !left.is_empty() {
            match write(&self.descriptor, left) {
                Ok(written) => left = &left[written..],
                Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}

fn parse(line: &[u8]) -> Incoming {
    match serde_json::from_slice(line) {
        Ok(request) => Incoming::Request(request),
        Err(error) => Incoming::Malformed(format!(
            "not a request ({error}): {}",
            String::from_utf8_lossy(&line[..line.len().min(200)])
        )),
    }
}

/// Cuts a stream of bytes into lines.
#[derive(Debug, Default)]
struct LineBuffer {
    pending: Vec<u8>,
    /// How much of `pending` is known to hold no newline.
    searched: usize,
}

impl LineBuffer {
    fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let Some(found) = self.pending[self.searched..]
                .iter()
                .position(|&byte| byte == b'\n')
            else {
                self.searched = self.pending.len();
                return None;
            };
            let rest = self.pending.split_off(self.searched + found + 1);
            let mut line = std::mem::replace(&mut self.pending, rest);
            self.searched = 0;
            line.pop();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Signal, Stop};

    #[test]
    fn a_request_split_over_reads_arrives_once_and_whole() {
        let mut lines = LineBuffer::default();
        lines.pending.extend_from_slice(br#"{"op":"st"#);
        assert_eq!(lines.next(), None);
        lines
            .pending
            .extend_from_slice(b"op\"}\n\n{\"op\":\"signal\",\"id\":\"a\",\"signal\":15}\n{");
        assert_eq!(
            parse(&lines.next().unwrap()),
            Incoming::Request(Request::Stop(Stop {}))
        );
        let signal = Signal {
            id: "a".into(),
            signal: 15,
        };
        assert_eq!(
            parse(&lines.next().unwrap()),
            Incoming::Request(Request::Signal(signal))
        );
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn what_is_no_request_is_said_to_be_none_with_its_text() {
        for line in [
            "nonsense",
            "{}",
            r#"{"op":"dance"}"#,
            r#"{"op":"stop","now":1}"#,
            r#"{"op":"spawn"}"#,
        ] {
            match parse(line.as_bytes()) {
                Incoming::Malformed(message) => assert!(message.ends_with(line), "{message}"),
                other => panic!("{line} became {other:?}"),
            }
        }
    }
}
