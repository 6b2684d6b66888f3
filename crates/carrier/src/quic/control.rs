//! The control stream of one connection: the one bidirectional stream, which the near end opens.

use super::Config;
use super::datagrams::EVENT_BYTES;
use crate::event::{Event, SendError};
use crate::framing::{
    self, Frame, FramingError, HEADER_BYTES, Kind, MAX_BODY_BYTES, Reader, Stream,
};
use bytes::{Buf, Bytes, BytesMut};
use noq_proto::{Connection, Dir, ReadError, StreamId, WriteError};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Between two writes into the stream. noq-proto ends a connection when a stream's receiver holds more than 1024 separate pieces
/// (`connection/assembler.rs`), so the number of packets with control messages is bounded: with `CONTROL_WINDOW` of 512 KiB, at most
/// about 600 + 440 are under way at 600 ms, and nearly all would have to be lost in turns.
const WRITE_EVERY: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Control {
    stream: Option<StreamId>,
    /// The bound of what waits to be sent, and of what waits for the session.
    most: usize,
    /// Frames that are not yet in noq-proto's stream.
    waiting: BytesMut,
    next_write: Option<Instant>,
    /// The other end's window is full.
    stalled: bool,
    reader: Reader,
    received_bytes: usize,
    /// There may be more to read.
    unread: bool,
}

/// The stream cannot go on: it ended, or what came is not frames.
#[derive(Clone, Copy)]
pub(super) struct Broken(pub Option<FramingError>);

impl Control {
    pub fn new(config: &Config) -> Self {
        Self {
            stream: None,
            most: config.control_bytes,
            waiting: BytesMut::new(),
            next_write: None,
            stalled: false,
            reader: Reader::new(Stream::QuicControl),
            received_bytes: 0,
            unread: false,
        }
    }

    /// The near end opens the stream. Without a first frame the far end would not know of it.
    pub fn open(&mut self, conn: &mut Connection, now: Instant) {
        self.stream = conn.streams().open(Dir::Bi);
        framing::write(Kind::Open, &[], &mut self.waiting);
        self.write(conn, now);
        // The first message need not wait for that.
        self.next_write = None;
    }

    /// The near end has opened it. It may open one, so there is no second.
    pub fn accept(&mut self, conn: &mut Connection) {
        self.stream = conn.streams().accept(Dir::Bi).or(self.stream);
        self.unread = true;
    }

    pub fn readable(&mut self) {
        self.unread = true;
    }

    pub fn writable(&mut self) {
        self.stalled = false;
    }

    pub fn send(&mut self, body: &[u8]) -> Result<(), SendError> {
        if body.is_empty() || body.len() > MAX_BODY_BYTES {
            return Err(SendError::Length {
                most: MAX_BODY_BYTES,
            });
        }
        if !self.has_room(body.len()) {
            return Err(SendError::Full);
        }
        framing::write(Kind::Control, body, &mut self.waiting);
        Ok(())
    }

    pub fn has_room(&self, bytes: usize) -> bool {
        self.waiting.len() + HEADER_BYTES + bytes <= self.most
    }

    /// When `write` would do something that it does not do yet.
    pub fn timeout(&self) -> Option<Instant> {
        let may_write = self.stream.is_some() && !self.waiting.is_empty() && !self.stalled;
        self.next_write.filter(|_| may_write)
    }

    /// Writes what waits into the stream, if it is time. Returns whether it wrote.
    pub fn write(&mut self, conn: &mut Connection, now: Instant) -> bool {
        let Some(stream) = self.stream else {
            return false;
        };
        if self.waiting.is_empty() || self.next_write.is_some_and(|at| at > now) {
            return false;
        }
        match conn.send_stream(stream).write(&self.waiting) {
            Ok(bytes) => {
                self.waiting.advance(bytes);
                self.next_write = Some(now + WRITE_EVERY);
                true
            }
            Err(WriteError::Blocked) => {
                self.stalled = true;
                false
            }
            // `Stopped` comes as an event.
            Err(_) => false,
        }
    }

    /// Whether messages were left in the stream for want of room, and there is room now.
    pub fn can_read(&self) -> bool {
        self.unread && self.received_bytes < self.most
    }

    /// Reads as far as there is room. What is left in the stream holds back the other end, by QUIC's flow control.
    pub fn read(
        &mut self,
        conn: &mut Connection,
        events: &mut VecDeque<Event>,
    ) -> Result<(), Broken> {
        let Some(stream) = self.stream.filter(|_| self.can_read()) else {
            return Ok(());
        };
        self.unread = false;
        let mut receive = conn.recv_stream(stream);
        let mut chunks = receive.read(true).map_err(|_| Broken(None))?;
        let result = loop {
            if self.received_bytes >= self.most {
                self.unread = true;
                break Ok(());
            }
            match chunks.next(MAX_BODY_BYTES) {
                Ok(Some(chunk)) => {
                    if let Err(error) = self.take_frames(chunk.bytes, events) {
                        break Err(Broken(Some(error)));
                    }
                }
                Err(ReadError::Blocked) => break Ok(()),
                Ok(None) | Err(ReadError::Reset(_)) => break Err(Broken(None)),
            }
        };
        // It may grant the other end more window; `poll_transmit` follows.
        let _ = chunks.finalize();
        result
    }

    fn take_frames(
        &mut self,
        mut bytes: Bytes,
        events: &mut VecDeque<Event>,
    ) -> Result<(), FramingError> {
        while !bytes.is_empty() {
            let taken = self.reader.push(&bytes);
            bytes.advance(taken);
            while let Some(frame) = self.reader.next_frame()? {
                if let Frame::Control(body) = frame {
                    self.received_bytes += body.len() + EVENT_BYTES;
                    events.push_back(Event::Control(body));
                }
            }
        }
        Ok(())
    }

    /// The session has taken a message of this many bytes.
    pub fn taken(&mut self, bytes: usize) {
        self.received_bytes -= bytes + EVENT_BYTES;
    }

    /// The connection has ended.
    pub fn clear(&mut self) {
        self.waiting = BytesMut::new();
    }
}
