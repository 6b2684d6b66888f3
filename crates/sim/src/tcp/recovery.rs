//! Loss recovery: the states Open, Disorder, CWR, Recovery and Loss and what moves between them
//! (`tcp_fastretrans_alert`), NewReno where there is no SACK (RFC 6582), proportional rate reduction (RFC 6937bis),
//! F-RTO (RFC 5682), and undoing by timestamps (RFC 4015) or DSACK (RFC 3708).

use super::Socket;
use super::ack::{AckContext, Flags};
use super::scoreboard::{EVER_RETRANS, LOST, RETRANS, SACKED, Sent};
use super::socket::Outbox;
use crate::congestion::{CaState, CwndEvent, INFINITE_SSTHRESH};

/// What to send after the ACK is digested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    None,
    Lost,
    /// F-RTO: new data, to see whether the timeout was spurious.
    New,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Recovery {
    /// snd_una when the reduction began, while it may be undone.
    pub undo_marker: Option<u64>,
    /// Retransmissions not yet shown needless by DSACK.
    pub undo_retrans: i64,
    /// ssthresh to restore; 0: nothing to undo.
    pub prior_ssthresh: u32,
    /// Timestamp of the episode's first retransmission.
    pub retrans_stamp: Option<u32>,
    /// Timestamp echo of the present ACK.
    pub echoed: u32,
    pub frto: bool,
    /// Timeouts in a row without progress.
    pub retransmits: u32,
    pub reordering_seen: bool,
    pub reneged: bool,
    prr_delivered: u32,
    pub prr_out: u32,
}

impl Socket {
    pub(super) fn set_state(&mut self, state: CaState) {
        self.control.set_state(&mut self.window, state);
        self.window.state = state;
    }

    /// The state machine, at an ACK that is not plain progress.
    pub(super) fn react(&mut self, context: &mut AckContext, duplicates: u32) -> Resend {
        let flags = context.flags;
        if flags.ece {
            self.recovery.prior_ssthresh = 0;
        }
        if self.renege(flags) {
            return Resend::None;
        }
        if self.window.state == CaState::Open {
            self.recovery.retrans_stamp = None;
        } else if self.window.snd_una >= self.window.high_seq {
            match self.window.state {
                CaState::Cwr if self.window.snd_una != self.window.high_seq => {
                    self.end_cwnd_reduction();
                    self.set_state(CaState::Open);
                }
                CaState::Recovery => {
                    if !self.sack_ok {
                        self.window.sacked_out = 0;
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
                    return Resend::Lost;
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
        if !self.sack_ok {
            if flags.advanced {
                self.window.sacked_out = 0;
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
        if self.sack_ok {
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

    /// The receiver dropped what it had SACKed: its cumulative ACK ends below a SACKed head.
    fn renege(&mut self, flags: Flags) -> bool {
        if flags.advanced && self.board.head().is_some_and(|head| head.is(SACKED)) {
            self.enter_loss();
            let rto = self.rtt.rto;
            self.timers.retransmit_in(self.window.now, rto);
            return true;
        }
        false
    }

    // --- without SACK ---

    fn add_reno_sacks(&mut self, duplicates: u32) {
        if self.sack_ok || duplicates == 0 {
            return;
        }
        let before = self.window.sacked_out;
        self.window.sacked_out += duplicates;
        self.limit_reno_sacks();
        self.window.delivered += u64::from(self.window.sacked_out.saturating_sub(before));
    }

    /// No more can have arrived out of order than is out less one (the hole).
    fn limit_reno_sacks(&mut self) {
        let holes = self.window.lost_out.max(1).min(self.window.packets_out);
        if self.window.sacked_out + holes > self.window.packets_out {
            self.window.sacked_out = self.window.packets_out - holes;
            if self.window.packets_out > 0 {
                self.window.reordering =
                    self.window.reordering.max(self.window.packets_out.min(300));
                self.recovery.reordering_seen = true;
            }
        }
    }

    /// One of the acknowledged segments was the hole; the rest had been counted as duplicates came.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32) {
        let sacked = self.window.sacked_out;
        self.window.delivered += u64::from(acked.saturating_sub(sacked).max(1));
        self.window.sacked_out = sacked.saturating_sub(acked - 1);
        self.limit_reno_sacks();
    }

    fn newreno_mark_lost(&mut self, advanced: bool) {
        let w = &self.window;
        let begins = w.state < CaState::Recovery && w.sacked_out >= w.reordering;
        if begins || (w.state == CaState::Recovery && advanced) {
            let head = self.board.ids().start;
            if !self.board.get(head).is(LOST) {
                self.mark_lost(head);
            }
        }
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

    fn init_undo(&mut self) {
        self.recovery.undo_marker = Some(self.window.snd_una);
        self.recovery.undo_retrans = match i64::from(self.window.retrans_out) {
            0 => -1,
            out => out,
        };
    }

    pub(super) fn init_cwnd_reduction(&mut self) {
        self.window.high_seq = self.window.snd_nxt;
        self.tlp.high_seq = None;
        self.window.cwnd_count = 0;
        self.window.prior_cwnd = self.window.cwnd;
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

    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.counters.recoveries += 1;
        self.recovery.prior_ssthresh = 0;
        self.init_undo();
        if !matches!(self.window.state, CaState::Cwr | CaState::Recovery) {
            if !ece {
                self.recovery.prior_ssthresh = self.current_ssthresh();
            }
            self.init_cwnd_reduction();
        }
        self.set_state(CaState::Recovery);
    }

    fn enter_cwr(&mut self) {
        self.recovery.prior_ssthresh = 0;
        if self.window.state < CaState::Cwr {
            self.recovery.undo_marker = None;
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
            || (state == CaState::Loss && self.recovery.retransmits == 0);
        if fresh {
            self.recovery.prior_ssthresh = self.current_ssthresh();
            self.window.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.control.ssthresh(&mut self.window);
            self.control.cwnd_event(&mut self.window, CwndEvent::Loss);
            self.init_undo();
        }
        self.window.cwnd = self.window.in_flight() + 1;
        self.window.cwnd_count = 0;
        self.output.cwnd_stamp = self.window.now;
        if state <= CaState::Disorder && self.window.sacked_out >= 3 {
            self.window.reordering = self.window.reordering.min(3);
        }
        self.set_state(CaState::Loss);
        self.window.high_seq = self.window.snd_nxt;
        self.tlp.high_seq = None;
        self.output.announce_cwr = self.ecn_ok;
        self.recovery.frto = state < CaState::Recovery || self.recovery.retransmits > 0;
    }

    fn mark_all_lost(&mut self) {
        let reneged = self.board.head().is_some_and(|head| head.is(SACKED));
        if reneged {
            self.window.sacked_out = 0;
            self.recovery.reneged = true;
            self.board.forget_sacks();
        } else if !self.sack_ok {
            self.window.sacked_out = 0;
        }
        let reordering = self.reordering_window_for_timeout();
        let head = self.board.ids().start;
        for id in self.board.ids() {
            if reneged {
                self.board.get_mut(id).flags &= !SACKED;
            } else if self.sack_ok && id != head {
                // What was sent within the last round trip may still arrive.
                let sent_at = self.board.get(id).sent_at;
                if self.time_to_loss(sent_at, reordering).0 > 0 {
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
            self.window.high_seq = self.window.snd_nxt;
        }
    }

    fn try_to_open(&mut self, flags: Flags) {
        if !self.any_retransmitted() {
            self.recovery.retrans_stamp = None;
        }
        if flags.ece {
            self.enter_cwr();
        }
        if self.window.state != CaState::Cwr {
            self.keep_open();
        }
    }

    fn any_retransmitted(&self) -> bool {
        self.window.retrans_out > 0 || self.board.head().is_some_and(|head| head.is(EVER_RETRANS))
    }

    /// In Loss (RFC 5682 and what follows a real timeout).
    fn in_loss(&mut self, flags: Flags, duplicates: u32) -> Resend {
        let recovered = self.window.snd_una >= self.window.high_seq;
        if flags.advanced && self.try_undo_loss(false) {
            return Resend::None;
        }
        if self.recovery.frto {
            if flags.original_acked && self.try_undo_loss(true) {
                return Resend::None;
            }
            if self.window.snd_nxt > self.window.high_seq {
                if flags.data_sacked || duplicates > 0 {
                    self.recovery.frto = false;
                }
            } else if flags.advanced && !recovered {
                self.window.high_seq = self.window.snd_nxt;
                if self.has_unsent() && self.next_fits_window() {
                    return Resend::New;
                }
                self.recovery.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery();
            return Resend::None;
        }
        if !self.sack_ok {
            if self.window.snd_nxt > self.window.high_seq && duplicates > 0 {
                self.add_reno_sacks(duplicates);
            } else if flags.advanced {
                self.window.sacked_out = 0;
            }
        }
        Resend::Lost
    }

    // --- undoing ---

    /// The ACK echoes a time before the first retransmission: it answers an original (Eifel).
    fn answers_original(&self) -> bool {
        match self.recovery.retrans_stamp {
            Some(stamp) => {
                self.timestamps_ok && (self.recovery.echoed.wrapping_sub(stamp) as i32) < 0
            }
            None => true,
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

    fn may_undo(&self) -> bool {
        self.recovery.undo_marker.is_some()
            && (self.recovery.undo_retrans == 0 || self.answers_original())
    }

    fn undo_reduction(&mut self, unmark: bool) {
        if unmark {
            for id in self.board.ids() {
                self.board.get_mut(id).flags &= !LOST;
            }
            self.window.lost_out = 0;
            self.board.forget_waiting();
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

    /// Without SACK the state is held until something above high_seq is acknowledged (RFC 6582, section 4).
    fn held_without_sack(&mut self) -> bool {
        let held = !self.sack_ok && self.window.snd_una == self.window.high_seq;
        if held && !self.any_retransmitted() {
            self.recovery.retrans_stamp = None;
        }
        held
    }

    fn try_undo_recovery(&mut self) -> bool {
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

    fn try_undo_dsack(&mut self) -> bool {
        if self.recovery.undo_marker.is_some() && self.recovery.undo_retrans == 0 {
            self.rack.undone_by_dsack();
            self.undo_reduction(false);
            return true;
        }
        false
    }

    fn try_undo_loss(&mut self, by_frto: bool) -> bool {
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

    fn try_undo_partial(&mut self, prior_snd_una: u64) -> bool {
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

    pub(super) fn resend(&mut self, resend: Resend, out: &mut Outbox) {
        match resend {
            Resend::None => {}
            Resend::New => {
                self.send_new(u32::MAX, false, out);
                if self.window.snd_nxt <= self.window.high_seq {
                    self.recovery.frto = false;
                    self.retransmit_lost(out);
                }
            }
            Resend::Lost => self.retransmit_lost(out),
        }
    }

    /// Retransmits what is marked lost, lowest first, as far as cwnd allows.
    pub(super) fn retransmit_lost(&mut self, out: &mut Outbox) {
        while self.window.retrans_out < self.window.lost_out
            && self.window.in_flight() < self.window.cwnd
            && !self.paced_out()
        {
            let Some(id) = self.board.next_to_retransmit() else {
                break;
            };
            let is_head = id == self.board.ids().start;
            if !is_head && self.board.get(id).end() > self.window_end() {
                break;
            }
            let reducing = matches!(self.window.state, CaState::Cwr | CaState::Recovery);
            self.retransmit_segment(id, out);
            if reducing {
                self.recovery.prr_out += 1;
            }
            if is_head && self.timers.pending() != Some(super::timers::Retransmit::Reorder) {
                let after = self.backed_off_rto();
                self.timers.retransmit_in(self.window.now, after);
            }
        }
    }

    /// Retransmits one segment and accounts for it.
    pub(super) fn retransmit_segment(&mut self, id: u64, out: &mut Outbox) {
        self.send_again(id, out);
        if self.recovery.retrans_stamp.is_none() {
            self.recovery.retrans_stamp = Some(self.timestamp());
        }
        if self.recovery.undo_retrans < 0 {
            self.recovery.undo_retrans = 0;
        }
        self.recovery.undo_retrans += 1;
        let segment = self.board.get_mut(id);
        if !segment.is(RETRANS) {
            segment.flags |= RETRANS;
            self.window.retrans_out += 1;
        }
        segment.flags |= EVER_RETRANS;
    }
}
