//! Loss recovery: the states Open, Disorder, CWR, Recovery and Loss, and what moves between them
//! (`tcp_fastretrans_alert`, `tcp_enter_loss`), with F-RTO (RFC 5682) in Loss.

use super::Socket;
use crate::ack_context::{AckContext, Flags, Resend};
use crate::congestion::{CaState, CwndEvent};
use crate::scoreboard::{EVER_RETRANS, SACKED};
use bentpipe_base::time::Nanos;

impl Socket {
    pub(super) fn set_state(&mut self, state: CaState) {
        self.control.set_state(&mut self.window, state);
        self.window.view.state = state;
    }

    /// The state machine, at an ACK that is not plain progress.
    pub(super) fn react(&mut self, context: &mut AckContext, duplicates: u32) -> Resend {
        let flags = context.flags;
        if flags.ece {
            self.undo.prior_ssthresh = 0;
        }
        if self.renege(flags) {
            context.flags.set_timer = false;
            return Resend::None;
        }
        if self.window.state == CaState::Open {
            self.undo.forget_retransmissions();
        } else if self.window.snd_una >= self.window.high_seq {
            match self.window.state {
                CaState::Cwr if self.window.snd_una != self.window.view.high_seq => {
                    self.end_cwnd_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    if !self.agreed.sack {
                        self.window.view.sacked_out = 0;
                    }
                    if self.try_undo_recovery() {
                        return Resend::None;
                    }
                    self.end_cwnd_reduction();
                }
                _ => {}
            }
        }
        match self.window.state {
            CaState::Recovery => {
                if !flags.advanced {
                    self.add_reno_sacks(duplicates);
                } else if self.try_undo_partial(context.prior_snd_una) {
                    return Resend::None;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(flags);
                }
                self.identify_loss(context);
                if self.window.state != CaState::Recovery {
                    if self.window.lost_out == 0 {
                        return Resend::None;
                    }
                    self.enter_recovery(flags.ece);
                }
            }
            CaState::Loss => {
                let resend = self.in_loss(flags, duplicates);
                self.identify_loss(context);
                if self.window.state != CaState::Open && !context.flags.lost_retransmission {
                    return resend;
                }
                return self.outside_recovery(context, duplicates);
            }
            _ => return self.outside_recovery(context, duplicates),
        }
        Resend::Lost
    }

    fn outside_recovery(&mut self, context: &mut AckContext, duplicates: u32) -> Resend {
        let flags = context.flags;
        if !self.agreed.sack {
            if flags.advanced {
                self.window.view.sacked_out = 0;
            }
            self.add_reno_sacks(duplicates);
        }
        if self.window.state <= CaState::Disorder {
            self.try_undo_dsack();
        }
        self.identify_loss(context);
        if self.window.lost_out == 0 {
            self.try_to_open(flags);
            return Resend::None;
        }
        self.enter_recovery(flags.ece);
        Resend::Lost
    }

    fn identify_loss(&mut self, context: &mut AckContext) {
        if self.board.is_empty() {
            return;
        }
        if self.agreed.sack {
            let before = self.window.retrans_out;
            if self.rack_mark_lost() {
                context.flags.set_timer = false;
            }
            if before > self.window.retrans_out {
                context.flags.lost_retransmission = true;
            }
        } else {
            self.newreno_mark_lost(context.flags.advanced);
        }
    }

    /// The receiver dropped what it had SACK'ed: its cumulative ACK ends below such a head. It may be about to
    /// acknowledge more, so the timeout is left to settle it, soon.
    fn renege(&mut self, flags: Flags) -> bool {
        let reneged = flags.advanced && self.board.head().is_some_and(|head| head.is(SACKED));
        if reneged {
            let after = Nanos(self.rtt.srtt().0 / 2).max(Nanos::from_millis(10));
            self.timers.retransmit_in(self.window.now, after);
        }
        reneged
    }

    // --- entering and leaving ---

    fn current_ssthresh(&self) -> u32 {
        let w = &self.window;
        if matches!(w.state, CaState::Cwr | CaState::Recovery) {
            w.ssthresh
        } else {
            w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2))
        }
    }

    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.counters.recoveries += 1;
        if !self.any_retransmitted() {
            self.undo.forget_retransmissions();
        }
        self.undo.prior_ssthresh = 0;
        self.begin_undo();
        if !matches!(self.window.state, CaState::Cwr | CaState::Recovery) {
            if !ece {
                self.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.init_cwnd_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    fn enter_cwr(&mut self) {
        self.undo.prior_ssthresh = 0;
        if self.window.state < CaState::Cwr {
            self.undo.end();
            self.init_cwnd_reduction();
            self.set_state(CaState::Cwr);
        }
    }

    /// A retransmission timeout (RFC 6298 with RFC 5681's equation 4; `tcp_enter_loss`).
    pub(super) fn enter_loss(&mut self) {
        let state = self.window.state;
        self.mark_all_lost();
        let fresh = state <= CaState::Disorder
            || self.window.high_seq <= self.window.snd_una
            || (state == CaState::Loss && self.retransmits == 0);
        if fresh {
            self.undo.prior_ssthresh = self.current_ssthresh();
            self.window.view.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.control.ssthresh(&mut self.window);
            self.control.cwnd_event(&mut self.window, CwndEvent::Loss);
            self.begin_undo();
        }
        self.window.cwnd = self.window.in_flight() + 1;
        self.window.cwnd_count = 0;
        self.usage.window_changed(self.window.now);
        if state <= CaState::Disorder && self.window.sacked_out >= 3 {
            self.window.view.reordering = self.window.reordering.min(3);
        }
        self.set_state(CaState::Loss);
        self.window.view.high_seq = self.window.snd_nxt;
        self.tlp.end_episode();
        self.output.announce_cwr = self.agreed.ecn;
        self.frto = state < CaState::Recovery || self.retransmits > 0;
    }

    fn mark_all_lost(&mut self) {
        let reneged = self.board.head().is_some_and(|head| head.is(SACKED));
        if reneged {
            self.window.view.sacked_out = 0;
            self.reneged = true;
            self.board.forget_sacks();
        } else if !self.agreed.sack {
            self.window.view.sacked_out = 0;
        }
        let head = self.board.ids().start;
        for id in self.board.ids() {
            if reneged {
                self.board.get_mut(id).flags &= !SACKED;
            } else if self.agreed.sack && id != head {
                // What was sent within the last round trip may still arrive.
                let sent_at = self.board.get(id).sent_at;
                let now = self.window.now;
                if self.rack.time_to_loss(now, sent_at, Nanos::ZERO) > Nanos::ZERO {
                    continue;
                }
            }
            self.mark_lost(id);
        }
    }

    pub(super) fn keep_open(&mut self) {
        let disordered =
            self.window.sacked_out + self.window.lost_out > 0 || self.any_retransmitted();
        let state = if disordered {
            CaState::Disorder
        } else {
            CaState::Open
        };
        if self.window.state != state {
            self.set_state(state);
            self.window.view.high_seq = self.window.snd_nxt;
        }
    }

    fn try_to_open(&mut self, flags: Flags) {
        if !self.any_retransmitted() {
            self.undo.forget_retransmissions();
        }
        if flags.ece {
            self.enter_cwr();
        }
        if self.window.state != CaState::Cwr {
            self.keep_open();
        }
    }

    pub(super) fn any_retransmitted(&self) -> bool {
        self.window.retrans_out > 0 || self.board.head().is_some_and(|head| head.is(EVER_RETRANS))
    }

    /// In Loss (RFC 5682 and what follows a real timeout).
    fn in_loss(&mut self, flags: Flags, duplicates: u32) -> Resend {
        let recovered = self.window.snd_una >= self.window.high_seq;
        if flags.advanced && self.try_undo_loss(false) {
            return Resend::None;
        }
        if self.frto {
            if flags.original_acked && self.try_undo_loss(true) {
                return Resend::None;
            }
            if self.window.snd_nxt > self.window.high_seq {
                if flags.data_sacked || duplicates > 0 {
                    self.frto = false;
                }
            } else if flags.advanced && !recovered {
                self.window.view.high_seq = self.window.snd_nxt;
                if self.has_unsent() && self.next_fits_window() {
                    return Resend::New;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Resend::None;
        }
        if !self.agreed.sack {
            if self.window.snd_nxt > self.window.high_seq && duplicates > 0 {
                self.add_reno_sacks(duplicates);
            } else if flags.advanced {
                self.window.view.sacked_out = 0;
            }
        }
        Resend::Lost
    }
}
