//! Which segments are taken at all: by their timestamps (RFC 7323, section 5: PAWS) and by their place (RFC 9293,
//! section 3.10.7.4); `tcp_validate_incoming`, `tcp_disordered_ack_check` and `tcp_sequence` of `net/ipv4/tcp_input.c`.
//!
//! PAWS is meant for sequence numbers that wrapped, but on a path that reorders it meets new segments too: one that was
//! sent before the segment that last moved the left edge of the window, and that comes more than a millisecond of its
//! timestamps too late, is discarded, data and acknowledgement.
//!
//! 1. Timestamps that are 24 days old count as old; Linux forgets the recent one by then.
//! 2. What lies beyond the window is turned away where data is queued, after its acknowledgement was read.

use super::Socket;
use crate::outbox::Outbox;
use crate::segment::{Segment, flag};
use bentpipe_base::time::Nanos;

/// A timestamp may be this much older than the most recent one (`TCP_PAWS_WINDOW`).
const WINDOW_MS: i32 = 1;
/// Between two answers to refused ACKs (`tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Nanos = Nanos::from_millis(500);

impl Socket {
    /// Whether a segment may be processed. One that may not is answered by an ACK, with DSACK where it is a duplicate.
    pub(super) fn is_acceptable(&mut self, packet: &Segment, out: &mut Outbox) -> bool {
        let mut age = 0;
        if let Some((value, echo)) = packet.timestamps.filter(|_| self.agreed.timestamps) {
            self.timestamps.echoed = echo;
            age = self.timestamps.age(value);
        }
        let empty = packet.end_seq() == packet.seq;
        if age > WINDOW_MS && !packet.has(flag::RST) && !self.repeats_last_ack(packet, age) {
            if !empty || packet.seq >= self.receiver.rcv_nxt {
                self.answer_refused(packet, out);
            }
            return false;
        }
        if packet.end_seq() < self.receiver.rcv_wup {
            if !packet.has(flag::RST) {
                self.answer_refused(packet, out);
            }
            return false;
        }
        true
    }

    /// A duplicate ACK within the replay window (`tcp_tsval_replay`): its SACK blocks are news, however it was delayed.
    fn repeats_last_ack(&self, packet: &Segment, age: i32) -> bool {
        packet.seq == self.receiver.rcv_nxt
            && packet.end_seq() == packet.seq
            && packet.ack == self.window.snd_una
            && !self.peer.is_news(packet, self.window.snd_una)
            && i64::from(age) <= self.backed_off_rto().0 / 1_000_000 * 12 / 10
    }

    /// `tcp_send_dupack`; ACKs are answered seldom, so that two hosts never answer each other for ever.
    fn answer_refused(&mut self, packet: &Segment, out: &mut Outbox) {
        let rcv_nxt = self.receiver.rcv_nxt;
        if packet.end_seq() == packet.seq {
            let now = self.window.now;
            let answered_at = self.receiver.refused_at;
            if answered_at.is_some_and(|at| now - at < ANSWER_INTERVAL) {
                return;
            }
            self.receiver.refused_at = Some(now);
        } else if packet.seq < rcv_nxt {
            self.note_duplicate(packet.seq, packet.end_seq().min(rcv_nxt));
            self.acknowledge_quickly(16);
        }
        self.send_ack(out);
    }
}
