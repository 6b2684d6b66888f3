//! What holds of a connection between any two calls (in Linux `tcp_verify_left_out` and the warnings of `tcp_clean_rtx_queue`).
//! Checked after every segment, timer and call of the application wherever debug assertions are on: in tests and in
//! fuzzing. A broken one stops the test at the first wrong step.
//!
//! The counters are compared with each other at every call. Comparing them with the scoreboard costs as much as the flight is
//! long, so it is done once in as many calls as an eighth of the flight has segments: the cost of a call does not grow.

use super::Socket;
use super::State;
use crate::scoreboard::{LOST, RETRANS, SACKED};

/// Segments recounted per call, on average.
const RECOUNTED: u32 = 8;

impl Socket {
    #[inline]
    pub(super) fn check_invariants(&mut self) {
        if cfg!(debug_assertions) {
            self.check();
        }
    }

    fn check(&mut self) {
        if matches!(
            self.state,
            State::SynSent | State::SynReceived | State::Closed
        ) {
            return;
        }
        self.check_counters();
        self.calls_since_recount += 1;
        if self.calls_since_recount * RECOUNTED >= self.window.packets_out {
            self.calls_since_recount = 0;
            self.check_scoreboard();
        }
    }

    fn check_counters(&self) {
        let w = &self.window;
        assert!(
            w.sacked_out + w.lost_out <= w.packets_out,
            "more left the path than is out: {w:?}"
        );
        assert!(
            w.retrans_out <= w.packets_out,
            "more retransmitted than out: {w:?}"
        );
        assert!(
            self.send.rest <= self.send.offered,
            "the rest of a block is not offered: {:?}",
            self.send
        );
        assert!(w.cwnd >= 1 && w.ssthresh >= 1, "no window: {w:?}");
        assert!(w.snd_una <= w.snd_nxt, "acknowledged before sent: {w:?}");
        assert_eq!(
            self.board.is_empty(),
            w.packets_out == 0,
            "the flight is not what is counted: {w:?}"
        );
        assert_eq!(
            w.snd_una == w.snd_nxt,
            w.packets_out == 0,
            "bytes in flight without segments, or segments without bytes: {w:?}"
        );
        assert!(
            w.packets_out == 0 || self.timers.pending().is_some(),
            "nothing would repair the flight: {w:?}"
        );
    }

    fn check_scoreboard(&self) {
        let w = &self.window;
        let [mut packets, mut sacked, mut lost, mut retrans] = [0; 4];
        let mut unrepaired = 0;
        let mut next = w.snd_una;
        for segment in self.board.segments() {
            assert_eq!(segment.seq, next, "a gap in the flight: {w:?}");
            next = segment.end();
            packets += 1;
            sacked += u32::from(segment.is(SACKED));
            lost += u32::from(segment.is(LOST));
            retrans += u32::from(segment.is(RETRANS));
            unrepaired += usize::from(segment.is(LOST) && !segment.is(RETRANS));
            assert!(
                !(segment.is(SACKED) && segment.is(LOST)),
                "both delivered and lost: {segment:?}"
            );
        }
        assert_eq!(next, w.snd_nxt, "the flight ends before snd_nxt: {w:?}");
        assert_eq!(
            (packets, lost, retrans),
            (w.packets_out, w.lost_out, w.retrans_out),
            "packets, lost and retransmitted, counted and kept: {w:?}"
        );
        // Without SACK the counter stands for duplicate ACKs.
        assert!(
            !self.agreed.sack || sacked == w.sacked_out,
            "{sacked} segments are SACKed: {w:?}"
        );
        assert!(
            unrepaired <= self.board.waiting(),
            "{unrepaired} lost segments, and not all wait for retransmission"
        );
        self.board.check_ranges(w.snd_una, w.snd_nxt);
    }
}
