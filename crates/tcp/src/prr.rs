//! Proportional rate reduction (RFC 6937bis): how cwnd comes down to ssthresh during recovery.

use super::Socket;
use crate::congestion::{CaState, CwndEvent, INFINITE_SSTHRESH};

impl Socket {
    pub(super) fn init_cwnd_reduction(&mut self) {
        self.window.view.high_seq = self.window.snd_nxt;
        self.tlp.high_seq = None;
        self.window.cwnd_count = 0;
        self.window.view.prior_cwnd = self.window.cwnd;
        self.recovery.prr_delivered = 0;
        self.recovery.prr_out = 0;
        self.window.ssthresh = self.control.ssthresh(&mut self.window);
        self.output.announce_cwr = self.ecn_ok;
    }

    pub(super) fn end_cwnd_reduction(&mut self) {
        if self.control.controls_all() {
            return;
        }
        if self.window.ssthresh < INFINITE_SSTHRESH
            && (self.window.state == CaState::Cwr || self.recovery.undo_marker.is_some())
        {
            self.window.cwnd = self.window.ssthresh;
            self.output.cwnd_stamp = self.window.now;
        }
        self.control
            .cwnd_event(&mut self.window, CwndEvent::CompleteCwr);
    }

    /// Proportional rate reduction (RFC 6937bis, section 5).
    pub(super) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u32, advanced: bool) {
        if delivered == 0 || self.window.prior_cwnd == 0 {
            return;
        }
        let w = &mut self.window;
        let r = &mut self.recovery;
        r.prr_delivered += delivered;
        let pipe = i64::from(w.in_flight());
        let room = i64::from(w.ssthresh) - pipe;
        let mut count = if room < 0 {
            let target = (u64::from(w.ssthresh) * u64::from(r.prr_delivered))
                .div_ceil(u64::from(w.prior_cwnd));
            target as i64 - i64::from(r.prr_out)
        } else {
            let mut count =
                (i64::from(r.prr_delivered) - i64::from(r.prr_out)).max(i64::from(delivered));
            if advanced && newly_lost == 0 {
                count += 1;
            }
            count.min(room)
        };
        // The first retransmission of a recovery always leaves.
        count = count.max(i64::from(r.prr_out == 0));
        w.cwnd = (pipe + count).max(1) as u32;
    }
}
