//! The receiving half: what is in order, what is not (a sorted list of ranges, so that a large hole costs no more than a
//! small one), SACK blocks to send (RFC 2018), duplicates to report (RFC 2883), and the application that reads.
//!
//! 1. Out-of-order data that no longer fits the buffer is dropped on arrival; Linux first squeezes buffers together.

use super::Socket;
use super::socket::{Notice, Outbox};
use crate::segment::{SackBlocks, Segment, flag};
use bentpipe_base::Ecn;
use bentpipe_base::time::{Nanos, Time};
use std::collections::VecDeque;

/// A slow reader takes this much at a time.
const READ_CHUNK: u64 = 16_384;

/// Blocks that a sender is taken to have seen; beyond them compressed ACKs wait no longer (`TCP_SACK_BLOCKS_EXPECTED`).
const SACKS_EXPECTED: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    memory: u64,
    packets: u64,
}

#[derive(Debug, Default)]
pub struct Receiver {
    pub rcv_nxt: u64,
    /// `rcv_nxt` when the last ACK was sent.
    pub rcv_wup: u64,
    /// Read by the application up to here.
    pub copied: u64,
    pub advertised_mss: u32,
    out_of_order: VecDeque<Range>,
    /// Memory of what is in order and unread, and of what is out of order.
    pub unread_memory: u64,
    pub out_of_order_memory: u64,
    fin_seq: Option<u64>,
    pub fin_reached: bool,
    pub fin_unacked: bool,
    /// Most recent first.
    sacks: [(u64, u64); 4],
    sack_count: usize,
    duplicate: Option<(u64, u64)>,
    /// A CE mark is echoed until CWR comes (RFC 3168, section 6.1.3).
    pub echo_ce: bool,
    pub bytes_received: u64,
    pub dropped: u64,
    /// When a refused ACK was last answered.
    pub refused_at: Option<Time>,
}

impl Receiver {
    pub fn has_holes(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    pub fn out_of_order_packets(&self) -> u64 {
        self.out_of_order.iter().map(|range| range.packets).sum()
    }

    /// End of the last range out of order.
    pub fn highest(&self) -> u64 {
        self.out_of_order
            .back()
            .map_or(self.rcv_nxt, |range| range.end)
    }

    /// Files a range; `false` if it is wholly there already.
    fn insert(&mut self, start: u64, end: u64, memory: u64) -> bool {
        let queue = &mut self.out_of_order;
        let at = queue.partition_point(|range| range.end < start);
        let mut joined = Range {
            start,
            end,
            memory,
            packets: 1,
        };
        let Some(&first) = queue.get(at) else {
            queue.push_back(joined);
            self.out_of_order_memory += memory;
            return true;
        };
        if first.start <= start && end <= first.end {
            return false;
        }
        self.out_of_order_memory += memory;
        let mut merged = 0;
        while let Some(&range) = queue.get(at + merged) {
            if range.start > joined.end {
                break;
            }
            joined.start = joined.start.min(range.start);
            joined.end = joined.end.max(range.end);
            joined.memory += range.memory;
            joined.packets += range.packets;
            merged += 1;
        }
        if merged == 0 {
            queue.insert(at, joined);
        } else {
            queue[at] = joined;
            for _ in 1..merged {
                queue.remove(at + 1);
            }
        }
        true
    }

    /// The block that a segment adjoins, if one is still listed.
    fn adjoining_sack(&self, start: u64, end: u64) -> Option<usize> {
        self.sacks[..self.sack_count]
            .iter()
            .position(|&(first, past)| start <= past && first <= end)
    }

    /// Puts a segment's block first, joined with those listed that it adjoins; of more than four the oldest is forgotten
    /// (`tcp_sack_new_ofo_skb`).
    fn note_sack(&mut self, start: u64, end: u64) {
        let mut joined = (start, end);
        if let Some(at) = self.adjoining_sack(start, end) {
            let (first, past) = self.sacks[at];
            joined = (first.min(start), past.max(end));
        }
        let mut kept = [joined; 4];
        let mut count = 1;
        for &(first, past) in &self.sacks[..self.sack_count] {
            if first <= joined.1 && joined.0 <= past {
                joined = (first.min(joined.0), past.max(joined.1));
            } else if count < kept.len() {
                kept[count] = (first, past);
                count += 1;
            }
        }
        kept[0] = joined;
        self.sacks = kept;
        self.sack_count = count;
    }

    fn forget_sacks_below(&mut self, seq: u64) {
        let mut count = 0;
        for index in 0..self.sack_count {
            if self.sacks[index].1 > seq {
                self.sacks[count] = self.sacks[index];
                count += 1;
            }
        }
        self.sack_count = count;
    }
}

impl Socket {
    /// SACK blocks for the next packet: a duplicate first, then the most recent ranges; three with timestamps.
    pub(super) fn sack_blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.sack_ok {
            return blocks;
        }
        let most = if self.timestamps_ok { 3 } else { 4 };
        let ack = self.receiver.rcv_nxt;
        if let Some((start, end)) = self.receiver.duplicate.take() {
            blocks.push(ack, start, end);
        }
        for &(start, end) in &self.receiver.sacks[..self.receiver.sack_count] {
            if blocks.len() < most {
                blocks.push(ack, start, end);
            }
        }
        blocks
    }

    /// A segment with payload or FIN.
    pub(super) fn on_data(&mut self, packet: &Segment, out: &mut Outbox) {
        if packet.has(flag::CWR) {
            self.receiver.echo_ce = false;
        }
        self.measure_receiver_rtt(packet);
        let fin = packet.has(flag::FIN);
        let end = packet.end_seq();
        if fin {
            self.receiver.fin_seq = Some(end - 1);
        }
        if end <= self.receiver.rcv_nxt {
            // A duplicate: the sender should know at once.
            self.note_duplicate(packet.seq, end);
            self.delayed.enter_quick(16, self.receiver_quick());
            self.delayed.now = true;
            return;
        }
        if packet.seq >= self.receiver.rcv_nxt + self.receive_window().max(1) {
            self.delayed.enter_quick(16, self.receiver_quick());
            self.delayed.now = true;
            return;
        }
        let memory = u64::from(self.config.memory.received(packet.wire_bytes));
        if !self.make_room(memory) {
            self.receiver.dropped += 1;
            self.delayed.now = true;
            return;
        }
        self.note_ce(packet);
        if packet.seq <= self.receiver.rcv_nxt {
            if packet.seq < self.receiver.rcv_nxt {
                self.note_duplicate(packet.seq, self.receiver.rcv_nxt);
                self.delayed.enter_quick(16, self.receiver_quick());
            }
            self.take_in_order(end, memory);
            self.measure_arrival(packet);
            if packet.payload >= 128 {
                self.grow_window(packet);
            }
        } else {
            self.queue_out_of_order(packet, end, memory, out);
        }
    }

    fn take_in_order(&mut self, end: u64, memory: u64) {
        let receiver = &mut self.receiver;
        let before = receiver.rcv_nxt;
        receiver.rcv_nxt = end;
        receiver.unread_memory += memory;
        let had_holes = receiver.has_holes();
        while let Some(&range) = receiver.out_of_order.front() {
            if range.start > receiver.rcv_nxt {
                break;
            }
            receiver.out_of_order.pop_front();
            receiver.out_of_order_memory -= range.memory;
            if range.end > receiver.rcv_nxt {
                receiver.rcv_nxt = range.end;
                receiver.unread_memory += range.memory;
            }
        }
        if had_holes {
            receiver.forget_sacks_below(receiver.rcv_nxt);
            // RFC 5681, section 4.2: acknowledge at once when a gap is filled.
            if !receiver.has_holes() {
                self.delayed.now = true;
            }
        }
        if self
            .receiver
            .fin_seq
            .is_some_and(|seq| self.receiver.rcv_nxt > seq)
            && !self.receiver.fin_reached
        {
            self.receiver.fin_reached = true;
            self.receiver.fin_unacked = true;
            self.delayed.now = true;
        }
        self.receiver.bytes_received += self.receiver.rcv_nxt - before;
    }

    fn queue_out_of_order(&mut self, packet: &Segment, end: u64, memory: u64, out: &mut Outbox) {
        self.measure_disorder(packet);
        let seq = packet.seq;
        let is_new = self.receiver.insert(seq, end, memory);
        if !is_new {
            self.note_duplicate(seq, end);
        }
        if !self.sack_ok {
            return;
        }
        let listed = self.receiver.sack_count;
        let place = self.receiver.adjoining_sack(seq, end).unwrap_or(listed);
        if place >= SACKS_EXPECTED && self.delayed.compressed > 0 {
            // The sender may not have seen the blocks that this one pushes back.
            self.send_ack(out);
        }
        self.receiver.note_sack(seq, end);
        if is_new {
            self.grow_window(packet);
            self.grow_buffer_for_holes();
        }
    }

    pub(super) fn note_duplicate(&mut self, start: u64, end: u64) {
        if self.sack_ok && self.config.dsack {
            self.receiver.duplicate = Some((start, end));
        }
    }

    fn note_ce(&mut self, packet: &Segment) {
        if self.ecn_ok && packet.ecn == Ecn::Ce {
            if !self.receiver.echo_ce {
                self.delayed.enter_quick(2, self.receiver_quick());
                self.delayed.now = true;
            }
            self.receiver.echo_ce = true;
        }
    }

    // --- the reading application ---

    /// A reader that keeps up takes everything as it comes.
    pub(super) fn read_at_once(&mut self, out: &mut Outbox) {
        match self.config.read_rate_bit_s {
            None => self.read(u64::MAX, out),
            Some(_) if self.timers.read.is_none() => self.schedule_read(out),
            Some(_) => {}
        }
    }

    fn unread(&self) -> u64 {
        let end = self.receiver.rcv_nxt - u64::from(self.receiver.fin_reached);
        end.saturating_sub(self.receiver.copied)
    }

    fn schedule_read(&mut self, out: &mut Outbox) {
        let bytes = self.unread().min(READ_CHUNK);
        if let Some(rate) = self.config.read_rate_bit_s.filter(|_| bytes > 0) {
            let after = i128::from(bytes) * 8_000_000_000 / i128::from(rate.max(1));
            self.timers.read = Some(self.window.now + Nanos(after as i64));
        } else if self.receiver.fin_reached {
            self.read(0, out);
        }
    }

    pub(super) fn read_slowly(&mut self, out: &mut Outbox) {
        self.read(READ_CHUNK, out);
        self.schedule_read(out);
    }

    fn read(&mut self, most: u64, out: &mut Outbox) {
        let unread = self.unread();
        let bytes = unread.min(most);
        if bytes > 0 {
            self.receiver.copied += bytes;
            let memory = self.receiver.unread_memory;
            self.receiver.unread_memory = if bytes == unread {
                0
            } else {
                memory - (u128::from(memory) * u128::from(bytes) / u128::from(unread)) as u64
            };
            out.notices.push(Notice::Read(bytes));
            self.adjust_buffer();
            self.acknowledge_after_read(out);
        }
        if self.receiver.fin_reached
            && self.unread() == 0
            && self.receiver.copied < self.receiver.rcv_nxt
        {
            self.receiver.copied = self.receiver.rcv_nxt;
            out.notices.push(Notice::PeerClosed);
        }
    }
}
