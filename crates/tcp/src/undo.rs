//! Taking a reduction back when it proves needless: by timestamps (Eifel, RFC 4015), by DSACK (RFC 3708), by F-RTO
//! (RFC 5682).

use super::Socket;
use super::scoreboard::{EVER_RETRANS, LOST, Sent};
use crate::congestion::CaState;

impl Socket {
    /// The ACK echoes a time before the first retransmission: it answers an original (Eifel).
    pub(super) fn answers_original(&self) -> bool {
        match self.recovery.retrans_stamp {
            Some(stamp) => {
                self.timestamps_ok && (self.recovery.echoed.wrapping_sub(stamp) as i32) < 0
            }
            // Nothing retransmitted yet; or, without SACK, forgotten when high_seq was reached.
            None => self.sack_ok || self.window.snd_una < self.window.high_seq,
        }
    }

    pub(super) fn spuriously_retransmitted(&self, segment: &Sent) -> bool {
        let sent_at = (segment.sent_at.0.div_euclid(1_000_000) as u32).wrapping_add(
            self.timestamp()
                .wrapping_sub(self.window.now.0.div_euclid(1_000_000) as u32),
        );
        segment.is(EVER_RETRANS)
            && self.timestamps_ok
            && (self.recovery.echoed.wrapping_sub(sent_at) as i32) < 0
    }

    pub(super) fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retrans == 0 || self.answers_original())
    }

    pub(super) fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            for id in self.board.ids() {
                self.board.get_mut(id).flags &= !LOST;
            }
            self.window.view.lost_out = 0;
            self.board.forget_waiting();
            self.board.restore_order();
        }
        if self.recovery.prior_ssthresh > 0 {
            self.window.cwnd = self.control.undo_cwnd(&mut self.window);
            if self.recovery.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.recovery.prior_ssthresh;
                self.output.announce_cwr = false;
            }
            self.counters.undone += 1;
        }
        self.output.cwnd_stamp = self.window.now;
        self.recovery.undo_marker = None;
        self.rack.advanced = true;
    }

    /// Without SACK the state is held until something above `high_seq` is acknowledged (RFC 6582, section 4).
    pub(super) fn held_without_sack(&mut self) -> bool {
        let held = !self.sack_ok && self.window.snd_una == self.window.high_seq;
        if held && !self.any_retransmitted() {
            self.recovery.retrans_stamp = None;
        }
        held
    }

    pub(super) fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        } else if self.rack.persist > 0 {
            self.rack.persist -= 1;
        }
        if self.held_without_sack() {
            return true;
        }
        self.set_state(CaState::Open);
        self.recovery.reneged = false;
        false
    }

    pub(super) fn try_undo_dsack(&mut self) -> bool {
        if self.recovery.undo_marker.is_some() && self.recovery.undo_retrans == 0 {
            self.rack.undone_by_dsack();
            self.undo_reduction(false);
            return true;
        }
        false
    }

    pub(super) fn try_undo_loss(&mut self, by_frto: bool) -> bool {
        if !by_frto && !self.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.recovery.retransmits = 0;
        if self.held_without_sack() {
            return true;
        }
        if by_frto || self.sack_ok {
            self.set_state(CaState::Open);
            self.recovery.reneged = false;
        }
        true
    }

    /// A delayed original filled the hole. While retransmissions are out nothing more is marked lost or sent again.
    pub(super) fn try_undo_partial(&mut self, prior_snd_una: u64) -> bool {
        if self.recovery.undo_marker.is_some() && self.answers_original() {
            self.check_reordering(prior_snd_una);
            if self.window.retrans_out > 0 {
                return true;
            }
            if !self.any_retransmitted() {
                self.recovery.retrans_stamp = None;
            }
            self.undo_reduction(true);
            self.keep_open();
        }
        false
    }

    pub(super) fn init_undo(&mut self) {
        self.recovery.undo_marker = Some(self.window.snd_una);
        let probe = self.tlp.high_seq.is_some() && self.tlp.retransmitted;
        self.recovery.undo_retrans = match self.window.retrans_out + u32::from(probe) {
            0 => -1,
            out => i64::from(out),
        };
    }
}
