//! A segment with payload or FIN arrives (`tcp_data_queue`), and the application reads.
//!
//! 1. Out-of-order data that no longer fits the buffer is dropped on arrival; Linux first squeezes buffers together.

use super::Socket;
use crate::outbox::{Notice, Outbox};
use crate::segment::{Segment, flag};
use bentpipe_base::Ecn;
use bentpipe_base::time::{Nanos, Time};

/// A slow reader takes this much at a time.
const READ_CHUNK: u64 = 16_384;

/// Blocks that a sender is taken to have seen; beyond them compressed ACKs wait no longer (`TCP_SACK_BLOCKS_EXPECTED`).
const SACKS_EXPECTED: usize = 2;

/// What makes the application read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reader {
    /// That something has come.
    #[default]
    Arrival,
    /// A request of its own.
    OnRequest,
}

impl Socket {
    /// A segment with payload or FIN.
    pub(super) fn on_data(&mut self, packet: &Segment, out: &mut Outbox) {
        if packet.has(flag::CWR) {
            self.receiver.echo_ce = false;
        }
        self.measure_receiver_rtt(packet);
        let end = packet.end_seq();
        if end <= self.receiver.rcv_nxt {
            // A duplicate: the sender should know at once.
            self.note_duplicate(packet.seq, end);
            self.acknowledge_quickly(16);
            self.delayed.now = true;
            return;
        }
        if packet.seq >= self.receiver.rcv_nxt + self.receive_window().max(1) {
            self.acknowledge_quickly(16);
            self.delayed.now = true;
            return;
        }
        if self.receiver.fin_reached {
            // Beyond the peer's own FIN.
            return;
        }
        let memory = u64::from(self.config.memory.received(packet.wire_bytes));
        if !self.buffer.make_room(&self.receiver, memory) {
            self.receiver.dropped += 1;
            self.delayed.now = true;
            return;
        }
        if packet.has(flag::FIN) {
            // The first counts.
            self.receiver.fin_seq.get_or_insert(end - 1);
        }
        self.note_ce(packet);
        if packet.seq <= self.receiver.rcv_nxt {
            if packet.seq < self.receiver.rcv_nxt {
                self.note_duplicate(packet.seq, self.receiver.rcv_nxt);
                self.acknowledge_quickly(16);
            }
            self.delayed.now |= self.receiver.take_in_order(end, memory);
            self.owe_ack_in_order(packet);
            if packet.payload >= 128 {
                self.grow_window(packet);
            }
        } else {
            self.queue_out_of_order(packet, end, memory, out);
        }
    }

    fn queue_out_of_order(&mut self, packet: &Segment, end: u64, memory: u64, out: &mut Outbox) {
        self.owe_ack(packet);
        let seq = packet.seq;
        let is_new = self.receiver.insert(seq, end, memory);
        if !is_new {
            self.note_duplicate(seq, end);
        }
        if !self.agreed.sack {
            return;
        }
        let place = self.receiver.adjoining_sack(seq, end);
        if place >= SACKS_EXPECTED && self.delayed.compressed > 0 {
            // The sender may not have seen the blocks that this one pushes back.
            self.send_ack(out);
        }
        self.receiver.note_sack(seq, end);
        if is_new {
            self.grow_window(packet);
            self.buffer.grow_for_holes(&self.receiver);
        }
    }

    pub(super) fn note_duplicate(&mut self, start: u64, end: u64) {
        if self.agreed.sack && self.config.dsack {
            self.receiver.duplicate = Some((start, end));
        }
    }

    fn note_ce(&mut self, packet: &Segment) {
        if self.agreed.ecn && packet.ecn == Ecn::Ce {
            if !self.receiver.echo_ce {
                self.acknowledge_quickly(2);
                self.delayed.now = true;
            }
            self.receiver.echo_ce = true;
        }
    }

    // --- the reading application ---

    /// From now on nothing is read but what [`read`](Self::read) asks for.
    pub fn read_on_request(&mut self) {
        self.reader = Reader::OnRequest;
    }

    /// The application reads at most so many bytes; returns how many it got.
    pub fn read(&mut self, now: Time, most: u64, out: &mut Outbox) -> u64 {
        self.window.view.now = now;
        let bytes = self.take(most, out);
        self.check_invariants();
        bytes
    }

    /// A reader that keeps up takes everything as it comes.
    pub(super) fn read_at_once(&mut self, out: &mut Outbox) {
        if self.reader == Reader::OnRequest {
            return;
        }
        match self.config.read_rate_bit_s {
            None => {
                self.take(u64::MAX, out);
            }
            Some(_) if self.timers.read.is_none() => self.schedule_read(out),
            Some(_) => {}
        }
    }

    fn schedule_read(&mut self, out: &mut Outbox) {
        let bytes = self.receiver.unread().min(READ_CHUNK);
        if let Some(rate) = self.config.read_rate_bit_s.filter(|_| bytes > 0) {
            let after = i128::from(bytes) * 8_000_000_000 / i128::from(rate.max(1));
            self.timers.read = Some(self.window.now + Nanos(after as i64));
        } else if self.receiver.fin_reached {
            self.take(0, out);
        }
    }

    pub(super) fn read_slowly(&mut self, out: &mut Outbox) {
        self.take(READ_CHUNK, out);
        self.schedule_read(out);
    }

    fn take(&mut self, most: u64, out: &mut Outbox) -> u64 {
        let bytes = self.receiver.read(most);
        if bytes > 0 {
            out.notices.push(Notice::Read(bytes));
            self.buffer.was_read(self.window.now, &self.receiver);
            self.acknowledge_after_read(out);
        }
        if self.receiver.read_end() {
            out.notices.push(Notice::PeerClosed);
        }
        bytes
    }
}
