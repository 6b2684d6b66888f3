//! The datagrams of one connection, on their way to noq-proto's queue and from it.
//!
//! noq-proto writes datagrams before streams, so a queue that is filled up after every packet would keep control messages waiting for
//! ever. No more are accepted than the queue holds until all that waits, control too, was sent.

use super::Config;
use crate::event::{Event, SendError};
use bytes::Bytes;
use noq_proto::{Connection, SendDatagramError};
use std::collections::VecDeque;

/// What an event costs beyond its bytes, for the bounds of the receive queues.
pub(super) const EVENT_BYTES: usize = size_of::<Event>();
/// What noq-proto counts for a datagram beyond its payload.
const ENTRY_BYTES: usize = size_of::<noq_proto::Datagram>();

/// What became of datagrams that were written to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub taken: usize,
    /// They were empty or too long.
    pub refused: usize,
}

/// The memory of datagrams that are sent together. It is used again when the last of them is gone, so it stays in the processor's cache.
#[derive(Debug, Default)]
struct Batch {
    /// A part of the last one.
    last: Option<Bytes>,
    lengths: Vec<usize>,
}

impl Batch {
    fn memory(&mut self, bytes: usize) -> Vec<u8> {
        let free = self.last.take().filter(Bytes::is_unique);
        let mut memory = free.map_or_else(|| Vec::with_capacity(bytes), Vec::from);
        memory.clear();
        memory
    }
}

#[derive(Debug)]
pub(super) struct Datagrams {
    /// The bounds: bytes that wait to be sent, in noq-proto's queue, and for the session.
    most_waiting: usize,
    most_handed_over: usize,
    most_received: usize,
    /// The longest that can be sent now.
    pub longest: usize,
    waiting: VecDeque<Bytes>,
    batch: Batch,
    waiting_bytes: usize,
    /// Bytes accepted since everything was sent.
    accepted_bytes: usize,
    /// Payload in noq-proto's queue.
    handed_over_bytes: usize,
    received_bytes: usize,
    pub dropped_too_long_bytes: u64,
    pub dropped_unread: u64,
}

impl Datagrams {
    pub fn new(config: &Config) -> Self {
        Self {
            most_waiting: config.waiting_bytes(),
            most_handed_over: config.handed_over_bytes(),
            most_received: config.datagram_receive_bytes,
            longest: 0,
            waiting: VecDeque::new(),
            batch: Batch::default(),
            waiting_bytes: 0,
            accepted_bytes: 0,
            handed_over_bytes: 0,
            received_bytes: 0,
            dropped_too_long_bytes: 0,
            dropped_unread: 0,
        }
    }

    pub fn send(&mut self, body: &[u8]) -> Result<(), SendError> {
        if !self.is_sendable(body.len()) {
            return Err(SendError::Length { most: self.longest });
        }
        if !self.has_room(body.len()) {
            return Err(SendError::Full);
        }
        self.add(Bytes::copy_from_slice(body));
        Ok(())
    }

    /// Lets `write` append datagrams, one each time, until it says that there is none or a long one would have no room.
    pub fn send_many(&mut self, mut write: impl FnMut(&mut Vec<u8>) -> bool) -> Written {
        let mut memory = self.batch.memory(self.most_waiting);
        let mut lengths = std::mem::take(&mut self.batch.lengths);
        while self.has_room(memory.len() + self.longest) {
            let before = memory.len();
            if !write(&mut memory) {
                break;
            }
            lengths.push(memory.len() - before);
        }
        let mut all = Bytes::from(memory);
        self.batch.last = (!all.is_empty()).then(|| all.slice(..1));
        let mut written = Written::default();
        for length in lengths.drain(..) {
            let body = all.split_to(length);
            if self.is_sendable(length) {
                self.add(body);
                written.taken += 1;
            } else {
                written.refused += 1;
            }
        }
        self.batch.lengths = lengths;
        written
    }

    fn is_sendable(&self, bytes: usize) -> bool {
        (1..=self.longest).contains(&bytes)
    }

    fn add(&mut self, body: Bytes) {
        self.waiting_bytes += body.len();
        self.accepted_bytes += body.len();
        self.waiting.push_back(body);
    }

    pub fn has_room(&self, bytes: usize) -> bool {
        self.waiting_bytes.max(self.accepted_bytes) + bytes <= self.most_waiting
    }

    /// Moves what fits into noq-proto's queue. Returns whether anything was moved.
    pub fn hand_over(&mut self, conn: &mut Connection) -> bool {
        let mut moved = false;
        while let Some(body) = self.waiting.pop_front() {
            let bytes = body.len();
            match conn.datagrams().send(body, false) {
                Ok(()) => moved = true,
                Err(SendDatagramError::Blocked(body)) => {
                    self.waiting.push_front(body);
                    break;
                }
                // Too long, although it was checked: the MTU has just shrunk.
                Err(_) => self.dropped_too_long_bytes += bytes as u64,
            }
            self.waiting_bytes -= bytes;
        }
        moved
    }

    /// noq-proto was asked for packets, and `nothing_left` says that it had none.
    pub fn transmitted(&mut self, conn: &mut Connection, nothing_left: bool) {
        self.handed_over_bytes = self.in_queue(conn);
        if nothing_left {
            self.accepted_bytes = self.waiting_bytes;
        }
    }

    /// Takes what arrived out of noq-proto's queue, as far as there is room for it.
    pub fn receive(&mut self, conn: &mut Connection, events: &mut VecDeque<Event>) {
        while let Some(body) = conn.datagrams().recv() {
            // Empty ones come from the other end's `purge`.
            if body.is_empty() {
                continue;
            }
            if self.received_bytes + body.len() + EVENT_BYTES > self.most_received {
                self.dropped_unread += 1;
                continue;
            }
            self.received_bytes += body.len() + EVENT_BYTES;
            events.push_back(Event::Datagram(body));
        }
    }

    /// The session has taken one of this many bytes.
    pub fn taken(&mut self, bytes: usize) {
        self.received_bytes -= bytes + EVENT_BYTES;
    }

    /// Looks whether the longest datagram has changed, and returns it if so.
    pub fn new_longest(&mut self, conn: &mut Connection) -> Option<usize> {
        // noq-proto drops by itself when it finds that long packets no longer arrive.
        self.count_dropped(conn);
        let longest = conn.datagrams().max_size().unwrap_or(0);
        if longest == self.longest {
            return None;
        }
        if longest < self.longest {
            self.purge(conn, longest);
        }
        self.longest = longest;
        Some(longest)
    }

    /// The path takes only shorter packets than before. Longer datagrams that wait can never leave, and one at the head of noq-proto's
    /// queue would hold back all others. They are dropped and counted.
    fn purge(&mut self, conn: &mut Connection, longest: usize) {
        let before = self.waiting_bytes;
        self.waiting.retain(|body| body.len() <= longest);
        self.waiting_bytes = self.waiting.iter().map(Bytes::len).sum();
        self.dropped_too_long_bytes += (before - self.waiting_bytes) as u64;
        if self.handed_over_bytes > 0 {
            // noq-proto's queue cannot be looked into. Empty datagrams push the others out; the other end ignores them.
            for _ in 0..=self.most_handed_over / ENTRY_BYTES {
                let _ = conn.datagrams().send(Bytes::new(), true);
            }
            self.count_dropped(conn);
        }
    }

    /// Counts what left noq-proto's queue otherwise than in a packet.
    fn count_dropped(&mut self, conn: &mut Connection) {
        let left = self.in_queue(conn);
        self.dropped_too_long_bytes += self.handed_over_bytes.saturating_sub(left) as u64;
        self.handed_over_bytes = left;
    }

    /// Payload in noq-proto's queue. Its `send_buffer_space` takes off one entry.
    fn in_queue(&self, conn: &mut Connection) -> usize {
        let free = conn.datagrams().send_buffer_space() + ENTRY_BYTES;
        self.most_handed_over.saturating_sub(free)
    }

    /// The connection has ended.
    pub fn clear(&mut self) {
        self.waiting = VecDeque::new();
    }
}
