//! An arriving SACK option (RFC 2018, RFC 2883, RFC 6675's scoreboard; `tcp_sacktag_write_queue`). Only ranges not covered
//! before are walked, so a block over a hundred thousand segments costs no more than its news.

use super::Socket;
use super::ack::AckContext;
use super::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED};
use crate::congestion::CaState;
use crate::packet::Packet;

/// RFC 2883, section 4: the first block lies below the cumulative ACK or inside the second block.
fn is_dsack(packet: &Packet, start: u64, end: u64) -> bool {
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
    /// Marks what the blocks report.
    pub(super) fn on_sack_blocks(&mut self, packet: &Packet, context: &mut AckContext) {
        let ack = packet.ack;
        let prior_una = context.prior_snd_una;
        for (index, (start, end)) in packet.sack.iter(ack).enumerate() {
            if start >= end || end > self.window.snd_nxt {
                continue;
            }
            if index == 0 && is_dsack(packet, start, end) {
                self.on_dsack(start, end, prior_una, context);
                continue;
            }
            if end <= self.window.snd_una {
                continue;
            }
            self.sack_range(start.max(self.window.snd_una), end, context);
        }
        if context.reordered_from < u64::MAX
            && (self.window.state != CaState::Loss || self.recovery.undo_marker.is_some())
        {
            self.check_reordering(context.reordered_from);
        }
    }

    fn on_dsack(&mut self, start: u64, end: u64, prior_una: u64, context: &mut AckContext) {
        let length = end - start;
        if length > self.send.max_window {
            return;
        }
        let duplicates = length.div_ceil(u64::from(self.window.mss)).max(1);
        // More duplicates than retransmissions: the network duplicates.
        if self.counters.dsack_duplicates + duplicates > self.counters.retransmits {
            return;
        }
        if self.tlp.high_seq == Some(end) {
            context.flags.dsack_of_probe = true;
        }
        self.counters.dsack_duplicates += duplicates;
        context.flags.dsack = true;
        if !context.flags.dsack_of_probe {
            self.rack.dsack_seen = true;
        }
        if let Some(marker) = self.recovery.undo_marker
            && end > marker
            && (end <= prior_una
                || self
                    .board
                    .get_if(end)
                    .is_some_and(|sent| sent.is(EVER_RETRANS)))
            && self.recovery.undo_retrans > 0
        {
            self.recovery.undo_retrans = (self.recovery.undo_retrans - duplicates as i64).max(0);
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
            // A lost retransmission would have kept LOST alone; this one is delivered.
            if segment.is(LOST) {
                self.window.lost_out -= 1;
            }
            self.window.retrans_out -= 1;
            segment.flags &= !(LOST | RETRANS);
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
                self.window.lost_out -= 1;
            }
        }
        segment.flags |= SACKED;
        self.rate.delivered(segment, &mut context.sample);
        self.board.unlist(id);
        self.window.sacked_out += 1;
        self.window.delivered += 1;
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
            self.window.reordering = (distance.div_ceil(mss)).min(300) as u32;
        }
        self.recovery.reordering_seen = true;
        self.counters.reordering_events += 1;
    }
}
