//! Recovery without SACK (RFC 6582): duplicate ACKs stand for what arrived out of order.

use super::Socket;
use crate::congestion::CaState;
use crate::rack::MAX_REORDERING;
use crate::scoreboard::LOST;

impl Socket {
    pub(super) fn add_reno_sacks(&mut self, duplicates: u32) {
        if self.agreed.sack || duplicates == 0 {
            return;
        }
        let before = self.window.sacked_out;
        self.window.view.sacked_out += duplicates;
        self.limit_reno_sacks(0);
        self.window.view.delivered += u64::from(self.window.sacked_out.saturating_sub(before));
    }

    /// No more can have arrived out of order than is out less one (the hole); more duplicates are of reordering, as wide as
    /// the flight (`tcp_check_reno_reordering`).
    fn limit_reno_sacks(&mut self, just_acked: u32) {
        let w = &mut self.window;
        let holes = w.lost_out.max(1).min(w.packets_out);
        if w.sacked_out + holes > w.packets_out {
            w.view.sacked_out = w.packets_out - holes;
            w.view.reordering = (w.packets_out + just_acked).min(MAX_REORDERING);
            self.rack.saw_reordering();
            self.counters.reordering_events += 1;
        }
    }

    /// One of the acknowledged segments was the hole; the rest had been counted as duplicates came.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32) {
        let sacked = self.window.sacked_out;
        self.window.view.delivered += u64::from(acked.saturating_sub(sacked).max(1));
        self.window.view.sacked_out = sacked.saturating_sub(acked - 1);
        self.limit_reno_sacks(acked);
    }

    pub(super) fn newreno_mark_lost(&mut self, advanced: bool) {
        let w = &self.window;
        let begins = w.state < CaState::Recovery && w.sacked_out >= w.reordering;
        if begins || (w.state == CaState::Recovery && advanced) {
            let head = self.board.ids().start;
            if !self.board.get(head).is(LOST) {
                self.mark_lost(head);
            }
        }
    }
}
