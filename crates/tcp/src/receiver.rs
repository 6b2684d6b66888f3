//! The receiving half: what is in order, what is not (a sorted list of ranges, so that a large hole costs no more than a
//! small one), SACK blocks to send (RFC 2018), duplicates to report (RFC 2883), and what the application has read.

use crate::segment::SackBlocks;
use bentpipe_base::time::Time;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    memory: u64,
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
    /// Segments that came out of order so far, those that were there already too (`rcv_ooopack` in `tcp_data_queue_ofo`).
    pub out_of_order_segments: u64,
    /// Memory of what is in order and unread, and of what is out of order.
    pub unread_memory: u64,
    pub out_of_order_memory: u64,
    pub fin_seq: Option<u64>,
    pub fin_reached: bool,
    pub fin_unacked: bool,
    /// Most recent first.
    sacks: [(u64, u64); 4],
    sack_count: usize,
    /// Received again, to be reported.
    pub duplicate: Option<(u64, u64)>,
    /// A CE mark is echoed until CWR comes (RFC 3168, section 6.1.3).
    pub echo_ce: bool,
    pub bytes_received: u64,
    pub dropped: u64,
    /// When a refused ACK was last answered.
    pub refused_at: Option<Time>,
}

impl Receiver {
    /// The handshake: the peer's SYN has arrived, and its segments may be of this size.
    pub fn begin(&mut self, advertised_mss: u32) {
        self.advertised_mss = advertised_mss;
        self.rcv_nxt = 1;
        self.rcv_wup = 1;
        self.copied = 1;
    }

    pub fn has_holes(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// End of the last range out of order.
    pub fn highest(&self) -> u64 {
        self.out_of_order
            .back()
            .map_or(self.rcv_nxt, |range| range.end)
    }

    /// Bytes in order that no ACK has acknowledged yet.
    pub fn unacked(&self) -> u64 {
        self.rcv_nxt - self.rcv_wup
    }

    /// A packet with ACK left.
    pub fn acknowledged(&mut self) {
        self.rcv_wup = self.rcv_nxt;
        self.fin_unacked = false;
    }

    /// Memory of what is held.
    pub fn used_memory(&self) -> u64 {
        self.unread_memory + self.out_of_order_memory
    }

    /// Takes a segment that begins at or below `rcv_nxt` and ends above it, with what it joins. Returns whether to acknowledge at
    /// once: a gap is filled (RFC 5681, section 4.2), or the FIN reached.
    pub fn take_in_order(&mut self, end: u64, memory: u64) -> bool {
        let before = self.rcv_nxt;
        let mut at_once = false;
        self.rcv_nxt = end;
        self.unread_memory += memory;
        let had_holes = self.has_holes();
        while let Some(&range) = self.out_of_order.front() {
            if range.start > self.rcv_nxt {
                break;
            }
            self.out_of_order.pop_front();
            self.out_of_order_memory -= range.memory;
            if range.end > self.rcv_nxt {
                self.rcv_nxt = range.end;
                self.unread_memory += range.memory;
            }
        }
        if had_holes {
            self.forget_sacks_below(self.rcv_nxt);
            at_once = !self.has_holes();
        }
        if self.fin_seq.is_some_and(|seq| self.rcv_nxt > seq) && !self.fin_reached {
            self.fin_reached = true;
            self.fin_unacked = true;
            at_once = true;
        }
        self.bytes_received += self.rcv_nxt - before;
        at_once
    }

    /// SACK blocks for the next packet, at most so many: a duplicate first, then the most recent ranges.
    pub fn take_sack_blocks(&mut self, most: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let ack = self.rcv_nxt;
        if let Some((start, end)) = self.duplicate.take() {
            blocks.push(ack, start, end);
        }
        for &(start, end) in &self.sacks[..self.sack_count] {
            if blocks.len() < most {
                blocks.push(ack, start, end);
            }
        }
        blocks
    }

    // --- the reading application ---

    /// Bytes in order that the application has not read.
    pub fn unread(&self) -> u64 {
        let end = self.rcv_nxt - u64::from(self.fin_reached);
        end.saturating_sub(self.copied)
    }

    /// Bytes that the application has read. Of the sequence space the SYN is none of them, nor the FIN once its end is read.
    pub fn bytes_read(&self) -> u64 {
        let at_end = self.fin_reached && self.copied == self.rcv_nxt;
        self.copied.saturating_sub(1 + u64::from(at_end))
    }

    /// The application reads at most so many bytes; returns how many it got.
    pub fn read(&mut self, most: u64) -> u64 {
        let unread = self.unread();
        let bytes = unread.min(most);
        if bytes > 0 {
            self.copied += bytes;
            let memory = self.unread_memory;
            self.unread_memory = if bytes == unread {
                0
            } else {
                memory - (u128::from(memory) * u128::from(bytes) / u128::from(unread)) as u64
            };
        }
        bytes
    }

    /// Whether the application now reads that nothing more comes; it does so once.
    pub fn read_end(&mut self) -> bool {
        let ends = self.fin_reached && self.unread() == 0 && self.copied < self.rcv_nxt;
        if ends {
            self.copied = self.rcv_nxt;
        }
        ends
    }

    /// Files a range out of order; `false` if it is wholly there already.
    pub fn insert(&mut self, start: u64, end: u64, memory: u64) -> bool {
        self.out_of_order_segments += 1;
        let queue = &mut self.out_of_order;
        let at = queue.partition_point(|range| range.end < start);
        let mut joined = Range { start, end, memory };
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

    /// Place of the block that a segment adjoins; where none does, the place after the last.
    pub fn adjoining_sack(&self, start: u64, end: u64) -> usize {
        self.sacks[..self.sack_count]
            .iter()
            .position(|&(first, past)| start <= past && first <= end)
            .unwrap_or(self.sack_count)
    }

    /// Puts a segment's block first, joined with those listed that it adjoins; of more than four the oldest is forgotten
    /// (`tcp_sack_new_ofo_skb`).
    pub fn note_sack(&mut self, start: u64, end: u64) {
        let mut joined = (start, end);
        if let Some(&(first, past)) =
            self.sacks[..self.sack_count].get(self.adjoining_sack(start, end))
        {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver() -> Receiver {
        let mut receiver = Receiver::default();
        receiver.begin(1448);
        receiver
    }

    fn blocks(receiver: &mut Receiver, most: usize) -> Vec<(u64, u64)> {
        let ack = receiver.rcv_nxt;
        receiver.take_sack_blocks(most).iter(ack).collect()
    }

    #[test]
    fn a_filled_gap_is_acknowledged_at_once_and_brings_what_lay_behind_it() {
        let mut receiver = receiver();
        assert!(!receiver.take_in_order(1001, 1300));
        assert!(receiver.insert(2001, 3001, 1300) && receiver.insert(4001, 5001, 1300));
        assert!(!receiver.take_in_order(2001, 1300), "another gap is left");
        assert_eq!((receiver.rcv_nxt, receiver.unread_memory), (3001, 3900));
        assert!(receiver.take_in_order(4001, 1300));
        assert_eq!((receiver.rcv_nxt, receiver.bytes_received), (5001, 5000));
        assert_eq!(receiver.used_memory(), 6500);
    }

    #[test]
    fn a_duplicate_is_reported_once_and_before_the_latest_ranges() {
        let mut receiver = receiver();
        for start in [3001, 5001, 7001, 9001, 11_001] {
            assert!(receiver.insert(start, start + 1000, 1300));
            receiver.note_sack(start, start + 1000);
        }
        assert!(!receiver.insert(3001, 3500, 600), "it is there");
        receiver.duplicate = Some((3001, 3500));
        let latest = [(11_001, 12_001), (9001, 10_001), (7001, 8001)];
        assert_eq!(
            blocks(&mut receiver, 3),
            [&[(3001, 3500)], &latest[..2]].concat()
        );
        assert_eq!(blocks(&mut receiver, 3), latest);
        assert_eq!(receiver.out_of_order_segments, 6);
    }

    #[test]
    fn a_range_that_joins_two_others_joins_their_blocks() {
        let mut receiver = receiver();
        for (start, end) in [(2001, 3001), (4001, 5001), (3001, 4001)] {
            receiver.insert(start, end, 1300);
            receiver.note_sack(start, end);
        }
        assert_eq!(blocks(&mut receiver, 4), [(2001, 5001)]);
        assert_eq!(receiver.highest(), 5001);
        assert_eq!(receiver.adjoining_sack(5001, 6001), 0);
        assert_eq!(receiver.adjoining_sack(7001, 8001), 1, "none");
    }

    #[test]
    fn what_is_read_frees_its_share_of_memory_and_the_end_is_read_once() {
        let mut receiver = receiver();
        receiver.fin_seq = Some(1001);
        assert!(receiver.take_in_order(1002, 2000), "the FIN");
        assert_eq!(receiver.read(250), 250);
        assert_eq!((receiver.unread(), receiver.unread_memory), (750, 1500));
        assert_eq!(receiver.bytes_read(), 250, "the FIN is not read yet");
        assert!(!receiver.read_end());
        assert_eq!(receiver.read(u64::MAX), 750);
        assert_eq!(receiver.unread_memory, 0);
        assert!(receiver.read_end() && !receiver.read_end());
        assert_eq!(receiver.bytes_read(), 1000);
    }
}
