//! What a timer's expiry starts, and when the retransmission timeout is due (`tcp_write_timer_handler`, `tcp_rearm_rto`).

use super::{Socket, State};
use crate::outbox::Outbox;
use crate::timers::{Retransmit, due};
use bentpipe_base::time::{Nanos, Time};

impl Socket {
    /// Runs what is due at `now`.
    pub fn on_timer(&mut self, now: Time, out: &mut Outbox) {
        self.window.view.now = now;
        if let Some((kind, at)) = self.timers.retransmit
            && at <= now
        {
            // As `tcp_write_timer_handler`: what follows a probe or RACK's timer still sees which of them it was, and so takes
            // the time that has passed off the timeout.
            if matches!(kind, Retransmit::Timeout | Retransmit::Probe) {
                self.timers.retransmit = None;
            }
            match kind {
                _ if matches!(self.state, State::SynSent | State::SynReceived) => {
                    self.syn_timer(out);
                }
                Retransmit::Timeout => self.retransmission_timeout(out),
                Retransmit::Probe => self.probe_zero_window(out),
                Retransmit::LossProbe => self.send_loss_probe(out),
                Retransmit::Reorder => self.reorder_timeout(out),
            }
        }
        if due(&mut self.timers.pacing, now) {
            self.resume_paced(out);
        }
        if due(&mut self.timers.delayed_ack, now) {
            self.delayed_ack_timeout(out);
        }
        if due(&mut self.timers.compressed_ack, now) {
            self.compressed_ack_timeout(out);
        }
        if due(&mut self.timers.read, now) {
            self.read_slowly(out);
        }
        if due(&mut self.timers.writer, now) {
            self.writer_runs(out);
        }
        self.check_invariants();
    }

    /// When the head's retransmission timeout would expire, from now on (`tcp_rto_delta_us`).
    pub(super) fn rto_left(&self) -> Nanos {
        self.board.head().map_or(self.rtt.rto, |head| {
            (head.sent_at + self.backed_off_rto()) - self.window.now
        })
    }

    pub(super) fn backed_off_rto(&self) -> Nanos {
        self.timers.backed_off(self.rtt.rto)
    }

    /// Arms the retransmission timeout for the oldest data out, or clears it (RFC 6298, section 5).
    pub(super) fn rearm_timeout(&mut self) {
        if self.window.packets_out == 0 {
            self.timers.clear_retransmit();
            return;
        }
        let after = match self.timers.pending() {
            Some(Retransmit::Reorder | Retransmit::LossProbe) => self.rto_left().max(Nanos(1000)),
            _ => self.backed_off_rto(),
        };
        self.timers.retransmit_in(self.window.now, after);
    }

    pub(super) fn set_retransmit_timer(&mut self) {
        if !self.schedule_loss_probe(true) {
            self.rearm_timeout();
        }
    }

    fn retransmission_timeout(&mut self, out: &mut Outbox) {
        if self.window.packets_out == 0 {
            return;
        }
        self.counters.timeouts += 1;
        self.enter_loss();
        self.retransmits += 1;
        if self.retransmits > 15 {
            self.fail(out);
            return;
        }
        let head = self.board.ids().start;
        self.retransmit_segment(head, out);
        self.timers.back_off();
        let after = self.backed_off_rto();
        self.timers.retransmit_in(self.window.now, after);
    }
}
