//! An arriving SACK option (RFC 2018, RFC 2883, RFC 6675's scoreboard; `tcp_sacktag_write_queue`). Only ranges not covered
//! before are walked, so a block over a hundred thousand segments costs no more than its news.

use super::Socket;
use crate::ack_context::AckContext;
use crate::congestion::CaState;
use crate::rack::MAX_REORDERING;
use crate::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED};
use crate::segment::Segment;
use bentpipe_base::sorting::sort_few;

/// RFC 2883, section 4: the first block lies below the cumulative ACK or inside the second block.
fn is_dsack(packet: &Segment, start: u64, end: u64) -> bool {
    if start < packet.ack {
        return true;
    }
    packet
        .sack
        .iter(packet.ack)
        .nth(1)
        .is_some_and(|(outer_start, outer_end)| start >= outer_start && end <= outer_end)
}

impl Socket {
    /// Marks what the blocks report, the lowest first: the RTT that RACK goes by is the last marked segment's.
    pub(super) fn on_sack_blocks(&mut self, packet: &Segment, context: &mut AckContext) {
        let mut blocks = [(0, 0); 4];
        for (place, block) in blocks.iter_mut().zip(packet.sack.iter(packet.ack)) {
            *place = block;
        }
        let mut duplicate = None;
        let (start, end) = blocks[0];
        if start < end && is_dsack(packet, start, end) && self.note_dsack(start, end, context) {
            if end <= context.prior_snd_una {
                self.count_forgotten_duplicates(start, end);
            } else {
                duplicate = Some(self.board.find(start)..self.board.find(end));
                self.note_needless_retransmissions(duplicate.clone(), context);
            }
        }
        let blocks = &mut blocks[..packet.sack.len()];
        sort_few(blocks);
        for &mut (start, end) in blocks {
            if self.window.snd_una < start && start < end && end <= self.window.snd_nxt {
                self.sack_range(start, end, context);
            }
        }
        for id in duplicate.into_iter().flatten() {
            if self.board.was_needless(id) {
                self.window.view.retrans_out -= 1;
            }
        }
        if context.reordered_from < u64::MAX
            && (self.window.state != CaState::Loss || self.undo.is_possible())
        {
            self.check_reordering(context.reordered_from);
        }
    }

    /// Whether a duplicate's block is believed (`tcp_dsack_seen`).
    fn note_dsack(&mut self, start: u64, end: u64, context: &mut AckContext) -> bool {
        let length = end - start;
        if length > self.peer.largest {
            return false;
        }
        if length <= u64::from(self.window.mss) && self.tlp.ends_at(end) {
            context.flags.dsack_of_probe = true;
        }
        self.counters.dsack_duplicates += self.segments_in(start, end);
        // More duplicates than retransmissions: the network duplicates.
        if self.counters.dsack_duplicates > self.counters.retransmits {
            return false;
        }
        context.flags.dsack = true;
        // After a probe it was no fault of RACK's window.
        if !context.flags.dsack_of_probe {
            self.rack.saw_dsack();
        }
        true
    }

    fn segments_in(&self, start: u64, end: u64) -> u64 {
        (end - start).div_ceil(u64::from(self.window.mss)).max(1)
    }

    fn count_forgotten_duplicates(&mut self, start: u64, end: u64) {
        let duplicates = self.segments_in(start, end) as i64;
        self.undo.duplicated(end, duplicates);
    }

    /// Retransmissions of what had arrived; one that was `SACKed` before shows how late its original was.
    fn note_needless_retransmissions(
        &mut self,
        ids: Option<core::ops::Range<u64>>,
        context: &mut AckContext,
    ) {
        for id in ids.into_iter().flatten() {
            let segment = self.board.get(id);
            if !segment.is(RETRANS | EVER_RETRANS) {
                continue;
            }
            self.undo.duplicated(segment.end(), 1);
            if segment.is(SACKED) {
                context.reordered_from = context.reordered_from.min(segment.seq);
            }
        }
    }

    fn sack_range(&mut self, start: u64, end: u64, context: &mut AckContext) {
        let mut at = start;
        while let Some((gap_start, gap_end)) = self.board.first_gap(at, end) {
            at = gap_end;
            let mut id = self.board.find(gap_start);
            let mut covered: Option<(u64, u64)> = None;
            let last = self.board.ids().end;
            while id < last {
                let (seq, segment_end) = {
                    let segment = self.board.get(id);
                    (segment.seq, segment.end())
                };
                if segment_end > gap_end {
                    break;
                }
                if seq >= gap_start {
                    self.sack_segment(id, context);
                    covered = Some((covered.map_or(seq, |(first, _)| first), segment_end));
                }
                id += 1;
            }
            if let Some((first, past)) = covered {
                self.board.cover(first, past);
            }
        }
    }

    /// One segment is `SACKed` for the first time.
    fn sack_segment(&mut self, id: u64, context: &mut AckContext) {
        let highest = self.board.highest_sacked().unwrap_or(self.window.snd_una);
        let high_seq = self.window.high_seq;
        let now = self.window.now;
        let min_rtt = self.window.min_rtt;
        let segment = self.board.get_mut(id);
        let (seq, end) = (segment.seq, segment.end());
        let retransmitted = segment.is(RETRANS | EVER_RETRANS);
        self.rack
            .advance(now, min_rtt, segment.sent_at, end, retransmitted);
        if segment.is(RETRANS) {
            // No longer deemed lost since an undo: the retransmission is believed to be still on its way.
            if segment.is(LOST) {
                self.window.view.lost_out -= 1;
                self.window.view.retrans_out -= 1;
                segment.flags &= !(LOST | RETRANS);
            }
        } else {
            if !retransmitted {
                if seq < highest {
                    context.reordered_from = context.reordered_from.min(seq);
                }
                if end <= high_seq {
                    context.flags.original_acked = true;
                }
                context.first_sacked_at.get_or_insert(segment.sent_at);
                context.last_sacked_at = Some(segment.sent_at);
            }
            if segment.is(LOST) {
                segment.flags &= !LOST;
                self.window.view.lost_out -= 1;
            }
        }
        segment.flags |= SACKED;
        self.rate.delivered(segment, &mut context.sample);
        self.board.unlist(id);
        self.window.view.sacked_out += 1;
        self.window.view.delivered += 1;
        context.flags.data_sacked = true;
    }

    /// A segment was delivered although a later one came first: how far apart they are is the reordering seen.
    pub(super) fn check_reordering(&mut self, low: u64) {
        let highest = self.board.highest_sacked().unwrap_or(self.window.snd_una);
        if low >= highest {
            return;
        }
        let distance = highest - low;
        let mss = u64::from(self.window.mss);
        if distance > u64::from(self.window.reordering) * mss {
            self.window.view.reordering =
                (distance.div_ceil(mss)).min(u64::from(MAX_REORDERING)) as u32;
        }
        self.rack.saw_reordering();
        self.counters.reordering_events += 1;
    }
}
