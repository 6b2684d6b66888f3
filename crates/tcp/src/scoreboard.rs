//! What is in flight: a ring of segments in sequence order, with a list through it in order of (re)transmission
//! (RFC 8985, section 6.1; Linux's `tsorted_sent_queue`), the `SACKed` ranges, and a heap of what waits for
//! retransmission.
//!
//! An ACK costs by what it says anew, and by the logarithm of the flight; crates/sim/tests/cost.rs counts that. A retransmission
//! timeout walks over the whole flight, to mark it lost (socket/recovery.rs), and so does an undo that takes losses back
//! (socket/undoing.rs).

use crate::congestion::LostSegment;
use bentpipe_base::sorting::sort_by;
use bentpipe_base::time::Time;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

pub const SACKED: u16 = 1;
/// A retransmission is thought to be in flight.
pub const RETRANS: u16 = 2;
pub const LOST: u16 = 4;
pub const EVER_RETRANS: u16 = 8;
pub const APP_LIMITED: u16 = 16;
/// First of its burst: carries the overhead of one socket buffer.
pub const BURST_HEAD: u16 = 32;
/// Its delivery has been counted in a rate sample.
pub const RATED: u16 = 64;
const LISTED: u16 = 128;
/// Lost and waiting for retransmission, and out of the transmission order until that or an undo.
const PASSED_OVER: u16 = 256;

const NONE: u32 = u32::MAX;

/// One segment sent and not yet cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_field_names,
    reason = "`sent_at` is what the field is called"
)]
pub struct Sent {
    pub seq: u64,
    pub length: u32,
    pub flags: u16,
    /// Only for the SYN and FIN, which take sequence space without payload.
    pub header_flags: u8,
    earlier: u32,
    later: u32,
    pub sent_at: Time,
    /// Send time of the segment most recently delivered when this one was sent.
    pub first_sent_at: Time,
    pub delivered_at: Time,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub prior_lost: u64,
    pub in_flight: u32,
}

impl Sent {
    pub fn new(seq: u64, length: u32, header_flags: u8) -> Self {
        Self {
            seq,
            length,
            flags: 0,
            header_flags,
            earlier: NONE,
            later: NONE,
            sent_at: Time::ZERO,
            first_sent_at: Time::ZERO,
            delivered_at: Time::ZERO,
            delivered: 0,
            delivered_ce: 0,
            prior_lost: 0,
            in_flight: 0,
        }
    }

    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.length)
    }

    pub fn is(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}

/// A segment that has just been marked lost. `again`: its retransmission was.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    pub again: bool,
    pub segment: LostSegment,
}

#[derive(Debug, Default)]
pub struct Scoreboard {
    ring: VecDeque<Sent>,
    first: u64,
    earliest: Option<u64>,
    latest: Option<u64>,
    sacked: VecDeque<(u64, u64)>,
    waiting: BinaryHeap<Reverse<u64>>,
    /// Segments and ranges touched; see [`Scoreboard::operations`].
    operations: Cell<u64>,
}

impl Scoreboard {
    /// How many segments and ranges have been looked at, moved or compared so far: the work done, for tests of what an ACK
    /// costs. Counted only where debug assertions are on; else 0.
    pub fn operations(&self) -> u64 {
        self.operations.get()
    }

    #[inline]
    fn count(&self, operations: usize) {
        if cfg!(debug_assertions) {
            let so_far = self.operations.get();
            self.operations.set(so_far + operations as u64);
        }
    }

    /// As many as a binary search of so many compares.
    #[inline]
    fn count_search(&self, among: usize) {
        self.count(among.checked_ilog2().unwrap_or(0) as usize + 1);
    }

    /// The flight in sequence order, for checks; not counted among the operations.
    pub fn segments(&self) -> impl Iterator<Item = &Sent> {
        self.ring.iter()
    }

    /// Entries that wait for retransmission; some may have been settled meanwhile.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The `SACKed` ranges are in order, apart, and within the flight, and cover what is marked.
    pub fn check_ranges(&self, snd_una: u64, snd_nxt: u64) {
        let mut past = 0;
        for &(start, end) in &self.sacked {
            assert!(past < start && start < end, "{:?}", self.sacked);
            past = end;
        }
        assert!(
            past <= snd_nxt,
            "SACKed beyond {snd_nxt}: {:?}",
            self.sacked
        );
        let marked: u64 = self
            .ring
            .iter()
            .filter(|sent| sent.is(SACKED))
            .map(|sent| u64::from(sent.length))
            .sum();
        let covered: u64 = self
            .sacked
            .iter()
            .map(|&(start, end)| end - start.max(snd_una).min(end))
            .sum();
        assert_eq!(
            marked, covered,
            "bytes marked and covered: {:?}",
            self.sacked
        );
    }

    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Identities of the segments held, oldest sequence first.
    pub fn ids(&self) -> core::ops::Range<u64> {
        self.first..self.first + self.ring.len() as u64
    }

    pub fn get(&self, id: u64) -> &Sent {
        self.count(1);
        &self.ring[(id - self.first) as usize]
    }

    pub fn get_mut(&mut self, id: u64) -> &mut Sent {
        self.count(1);
        &mut self.ring[(id - self.first) as usize]
    }

    pub fn head(&self) -> Option<&Sent> {
        self.ring.front()
    }

    pub fn last_id(&self) -> Option<u64> {
        self.ring
            .len()
            .checked_sub(1)
            .map(|last| self.first + last as u64)
    }

    pub fn push(&mut self, segment: Sent) -> u64 {
        self.count(1);
        self.ring.push_back(segment);
        let id = self.first + self.ring.len() as u64 - 1;
        self.stamp(id, segment.sent_at);
        id
    }

    /// Takes the head if the cumulative acknowledgement covers it; trims it if only part is covered.
    pub fn pop_acked(&mut self, ack: u64) -> Option<Sent> {
        self.count(1);
        let head = *self.ring.front()?;
        if head.end() > ack {
            if head.seq < ack {
                let trimmed = &mut self.ring[0];
                trimmed.length -= (ack - head.seq) as u32;
                trimmed.seq = ack;
            }
            return None;
        }
        self.unlist(self.first);
        self.ring.pop_front();
        self.first += 1;
        while self.sacked.front().is_some_and(|range| range.1 <= ack) {
            self.count(1);
            self.sacked.pop_front();
        }
        Some(head)
    }

    /// Identity of the segment that holds `seq`, or the first above it. Full segments are found at once.
    pub fn find(&self, seq: u64) -> u64 {
        self.count(1);
        let Some(head) = self.ring.front() else {
            return self.first;
        };
        if seq <= head.seq {
            return self.first;
        }
        let guess = ((seq - head.seq) / u64::from(head.length.max(1))) as usize;
        if let Some(found) = self.ring.get(guess)
            && found.seq <= seq
            && seq < found.end()
        {
            return self.first + guess as u64;
        }
        self.count_search(self.ring.len());
        self.first + self.ring.partition_point(|segment| segment.end() <= seq) as u64
    }

    // --- SACKed ranges ---

    /// The first part of `from..to` that no SACK has covered yet.
    pub fn first_gap(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.count_search(self.sacked.len());
        let next = self.sacked.partition_point(|range| range.1 <= from);
        let mut from = from;
        let mut index = next;
        if let Some(&(start, end)) = self.sacked.get(index)
            && start <= from
        {
            from = end;
            index += 1;
        }
        if from >= to {
            return None;
        }
        let end = self.sacked.get(index).map_or(to, |range| range.0.min(to));
        (from < end).then_some((from, end))
    }

    /// Notes that whole segments of `start..end` are `SACKed`, joining neighbours.
    pub fn cover(&mut self, start: u64, end: u64) {
        self.count_search(self.sacked.len());
        let from = self.sacked.partition_point(|range| range.1 < start);
        // What an insertion or a removal moves.
        let moved = from.min(self.sacked.len() - from);
        let mut joined = (start, end);
        while let Some(&range) = self.sacked.get(from) {
            self.count(1);
            if range.0 > joined.1 {
                break;
            }
            joined = (joined.0.min(range.0), joined.1.max(range.1));
            if self
                .sacked
                .get(from + 1)
                .is_some_and(|next| next.0 <= joined.1)
            {
                self.count(moved);
                self.sacked.remove(from);
            } else {
                self.sacked[from] = joined;
                return;
            }
        }
        self.count(moved);
        self.sacked.insert(from, joined);
    }

    /// End of the highest `SACKed` range.
    pub fn highest_sacked(&self) -> Option<u64> {
        self.sacked.back().map(|range| range.1)
    }

    /// The receiver has taken its SACKs back.
    pub fn forget_sacks(&mut self) {
        self.sacked.clear();
    }

    // --- in order of transmission ---

    fn resolve(&self, link: u32) -> Option<u64> {
        (link != NONE).then(|| self.first + u64::from(link.wrapping_sub(self.first as u32)))
    }

    fn link(id: u64) -> u32 {
        // NONE is skipped by never being a live identity's low word for long: ids start at 0 and a collision
        // would need 2^32 - 1 segments of one connection.
        id as u32
    }

    /// Puts a segment at the end of the transmission order with this send time.
    pub fn stamp(&mut self, id: u64, at: Time) {
        self.unlist(id);
        let latest = self.latest;
        let segment = self.get_mut(id);
        segment.sent_at = at;
        segment.flags = segment.flags & !PASSED_OVER | LISTED;
        segment.earlier = latest.map_or(NONE, Self::link);
        segment.later = NONE;
        match latest {
            Some(before) => self.get_mut(before).later = Self::link(id),
            None => self.earliest = Some(id),
        }
        self.latest = Some(id);
    }

    /// Takes a segment out of the transmission order: it is (s)acked or known lost.
    pub fn unlist(&mut self, id: u64) {
        let segment = *self.get(id);
        if !segment.is(LISTED) {
            return;
        }
        let (earlier, later) = (self.resolve(segment.earlier), self.resolve(segment.later));
        match earlier {
            Some(before) => self.get_mut(before).later = segment.later,
            None => self.earliest = later,
        }
        match later {
            Some(after) => self.get_mut(after).earlier = segment.earlier,
            None => self.latest = earlier,
        }
        self.get_mut(id).flags &= !LISTED;
    }

    /// Takes a segment that waits for its retransmission out of the transmission order, so that no later walk along it passes
    /// over it again. [`restore_order`](Self::restore_order) puts it back.
    pub fn pass_over(&mut self, id: u64) {
        self.unlist(id);
        self.get_mut(id).flags |= PASSED_OVER;
    }

    /// What was passed over may be found lost again: an undo has taken its loss back.
    pub fn restore_order(&mut self) {
        let returns = |sent: &Sent| sent.is(PASSED_OVER) && !sent.is(SACKED);
        self.count(self.ring.len());
        if !self.ring.iter().any(returns) {
            return;
        }
        let mut order = Vec::new();
        let mut next = self.earliest;
        while let Some(id) = next {
            order.push(id);
            next = self.sent_after(id);
        }
        order.extend(self.ids().filter(|&id| returns(self.get(id))));
        sort_by(&mut order, |&a, &b| {
            self.get(a).sent_at < self.get(b).sent_at
        });
        for id in order {
            let sent_at = self.get(id).sent_at;
            self.stamp(id, sent_at);
        }
    }

    pub fn earliest_sent(&self) -> Option<u64> {
        self.earliest
    }

    pub fn sent_after(&self, id: u64) -> Option<u64> {
        self.resolve(self.get(id).later)
    }

    // --- lost, and waiting for retransmission ---

    /// Marks a segment as lost, or its retransmission, and lets it wait for the next. `None`: it was known, or is `SACKed`.
    pub fn mark_lost(&mut self, id: u64) -> Option<Loss> {
        let segment = self.get_mut(id);
        if segment.is(SACKED) || (segment.is(LOST) && !segment.is(RETRANS)) {
            return None;
        }
        let again = segment.is(LOST);
        segment.flags = segment.flags & !(if again { RETRANS } else { 0 }) | LOST;
        let loss = Loss {
            again,
            segment: LostSegment {
                sent_in_flight: segment.in_flight,
                prior_lost: segment.prior_lost,
                prior_delivered: segment.delivered,
                app_limited: segment.is(APP_LIMITED),
            },
        };
        self.await_retransmission(id);
        Some(loss)
    }

    /// A duplicate answers a segment's retransmission: it is no longer out. Returns whether it was. A segment that is still lost, as
    /// only a peer that forgot its SACK can have it, waits for the next.
    pub fn was_needless(&mut self, id: u64) -> bool {
        let segment = self.get_mut(id);
        if !segment.is(RETRANS) {
            return false;
        }
        segment.flags &= !RETRANS;
        if segment.is(LOST) {
            self.await_retransmission(id);
        }
        true
    }

    fn await_retransmission(&mut self, id: u64) {
        self.count_search(self.waiting.len());
        self.waiting.push(Reverse(id));
    }

    /// The lowest segment that is lost and has no retransmission in flight.
    pub fn next_to_retransmit(&mut self) -> Option<u64> {
        while let Some(&Reverse(id)) = self.waiting.peek() {
            if id >= self.first {
                let segment = self.get(id);
                if segment.is(LOST) && !segment.is(SACKED | RETRANS) {
                    return Some(id);
                }
            }
            self.count_search(self.waiting.len());
            self.waiting.pop();
        }
        None
    }

    /// The losses are taken back: nothing waits.
    pub fn forget_waiting(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests;
