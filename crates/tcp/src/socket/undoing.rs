//! Taking a reduction back when it proves needless (`tcp_try_undo_recovery`, `_dsack`, `_loss`, `_partial`).

use super::Socket;
use crate::congestion::CaState;
use crate::scoreboard::{EVER_RETRANS, LOST, Sent};

impl Socket {
    /// The ACK echoes a time before the first retransmission: it answers an original (Eifel).
    pub(super) fn answers_original(&self) -> bool {
        let timestamps = self.agreed.timestamps.then_some(&self.timestamps);
        // Without SACK it may be forgotten what was retransmitted: that is so when high_seq is reached.
        let unsent = self.agreed.sack || self.window.snd_una < self.window.high_seq;
        self.undo.answers_original(timestamps, unsent)
    }

    pub(super) fn spuriously_retransmitted(&self, segment: &Sent) -> bool {
        segment.is(EVER_RETRANS)
            && self.agreed.timestamps
            && self
                .timestamps
                .echoes_before(self.timestamps.at(segment.sent_at))
    }

    pub(super) fn may_undo(&self) -> bool {
        self.undo.is_possible() && (self.undo.all_were_needless() || self.answers_original())
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
        if self.undo.prior_ssthresh > 0 {
            self.window.cwnd = self.control.undo_cwnd(&mut self.window);
            if self.undo.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = self.undo.prior_ssthresh;
                self.output.announce_cwr = false;
            }
            self.counters.undone += 1;
        }
        self.usage.window_changed(self.window.now);
        self.undo.end();
        self.rack.look_again();
    }

    /// Without SACK the state is held until something above `high_seq` is acknowledged (RFC 6582, section 4).
    pub(super) fn held_without_sack(&mut self) -> bool {
        let held = !self.agreed.sack && self.window.snd_una == self.window.high_seq;
        if held && !self.any_retransmitted() {
            self.undo.forget_retransmissions();
        }
        held
    }

    pub(super) fn try_undo_recovery(&mut self) -> bool {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.recovery_ended();
        }
        if self.held_without_sack() {
            return true;
        }
        self.set_state(CaState::Open);
        self.reneged = false;
        false
    }

    pub(super) fn try_undo_dsack(&mut self) -> bool {
        if self.undo.all_were_needless() {
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
        self.retransmits = 0;
        if self.held_without_sack() {
            return true;
        }
        if by_frto || self.agreed.sack {
            self.set_state(CaState::Open);
            self.reneged = false;
        }
        true
    }

    /// A delayed original filled the hole. While retransmissions are out nothing more is marked lost or sent again.
    pub(super) fn try_undo_partial(&mut self, prior_snd_una: u64) -> bool {
        if self.undo.is_possible() && self.answers_original() {
            self.check_reordering(prior_snd_una);
            if self.window.retrans_out > 0 {
                return true;
            }
            if !self.any_retransmitted() {
                self.undo.forget_retransmissions();
            }
            self.undo_reduction(true);
            self.keep_open();
        }
        false
    }

    pub(super) fn begin_undo(&mut self) {
        let probe = u32::from(self.tlp.has_retransmitted());
        self.undo
            .begin(self.window.snd_una, self.window.retrans_out + probe);
    }
}
