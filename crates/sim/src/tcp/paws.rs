//! Old segments (RFC 7323, section 5: PAWS; `tcp_validate_incoming` and `tcp_disordered_ack_check`,
//! `net/ipv4/tcp_input.c`). It is meant for sequence numbers that wrapped, but on a path that reorders it meets new
//! segments too: one that was sent before the segment that last moved the left edge of the window and that comes more
//! than a millisecond of its timestamps too late is discarded, data and acknowledgement.
//!
//! 1. Timestamps that are 24 days old count as old; Linux forgets the recent one by then.

use super::Socket;
use super::socket::Outbox;
use crate::packet::{Packet, flag};
use bentpipe_path::time::Nanos;

/// A timestamp may be this much older than the most recent one (`TCP_PAWS_WINDOW`).
const WINDOW_MS: i32 = 1;
/// Between two answers to refused ACKs (`tcp_invalid_ratelimit`).
const ANSWER_INTERVAL: Nanos = Nanos::from_millis(500);

impl Socket {
    /// Whether a segment may be processed. One that may not is answered by an ACK, with DSACK where it is a duplicate.
    pub(super) fn is_in_time(&mut self, packet: &Packet, out: &mut Outbox) -> bool {
        let Some((value, echo)) = packet.timestamps.filter(|_| self.timestamps_ok) else {
            return true;
        };
        self.recovery.echoed = echo;
        let age = self.ts_recent.wrapping_sub(value) as i32;
        if age <= WINDOW_MS || packet.has(flag::RST) {
            return true;
        }
        let rcv_nxt = self.receiver.rcv_nxt;
        if packet.end_seq() > packet.seq {
            if packet.seq < rcv_nxt {
                self.note_duplicate(packet.seq, packet.end_seq().min(rcv_nxt));
                self.delayed.enter_quick(16, self.receiver_quick());
            }
        } else {
            if packet.seq < rcv_nxt {
                return false;
            }
            if packet.seq == rcv_nxt && self.repeats_last_ack(packet, age) {
                return true;
            }
            let now = self.window.now;
            if self
                .receiver
                .refused_at
                .is_some_and(|at| now - at < ANSWER_INTERVAL)
            {
                return false;
            }
            self.receiver.refused_at = Some(now);
        }
        self.send_ack(out);
        false
    }

    /// A duplicate ACK within the replay window (`tcp_tsval_replay`): its SACK blocks are news, however it was delayed.
    fn repeats_last_ack(&self, packet: &Packet, age: i32) -> bool {
        packet.ack == self.window.snd_una
            && !self.may_update_window(packet)
            && i64::from(age) <= self.backed_off_rto().0 / 1_000_000 * 12 / 10
    }
}
