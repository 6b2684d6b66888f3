//! Marking what is lost, at an ACK and when RACK's timer fires (`tcp_rack_mark_lost`, `tcp_rack_reo_timeout`).

use super::Socket;
use crate::congestion::{CaState, CongestionControl, Window};
use crate::counters::Counters;
use crate::outbox::Outbox;
use crate::scoreboard::Scoreboard;
use crate::timers::Retransmit;
use crate::tlp::TIMEOUT_MIN;
use bentpipe_base::time::Nanos;

/// A segment is deemed lost (again): it is counted, and waits for retransmission.
fn lose(
    board: &mut Scoreboard,
    id: u64,
    window: &mut Window,
    control: &mut dyn CongestionControl,
    counters: &mut Counters,
) {
    let Some(loss) = board.mark_lost(id) else {
        return;
    };
    if loss.again {
        window.view.retrans_out -= 1;
        counters.lost_retransmissions += 1;
    } else {
        window.view.lost_out += 1;
    }
    window.view.lost += 1;
    control.segment_lost(window, &loss.segment);
}

impl Socket {
    pub(super) fn mark_lost(&mut self, id: u64) {
        lose(
            &mut self.board,
            id,
            &mut self.window,
            &mut *self.control,
            &mut self.counters,
        );
    }

    /// Marks what is lost; returns how long until more may be.
    fn detect_loss(&mut self) -> Option<Nanos> {
        let Self {
            rack,
            board,
            window,
            control,
            counters,
            ..
        } = self;
        let reordering = rack.reordering_window(window);
        rack.detect_loss(window.now, reordering, board, |board, id| {
            lose(board, id, window, &mut **control, counters);
        })
    }

    /// At an ACK: returns whether the reordering timer was armed.
    pub(super) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.take_advanced() {
            return false;
        }
        match self.detect_loss() {
            Some(timeout) => {
                // Not beyond the retransmission timeout: an original that an outage held back and that arrives after its
                // repair was undone makes the RTT of RACK as long as the outage.
                let after = (timeout + TIMEOUT_MIN).min(self.backed_off_rto());
                self.timers.arm(Retransmit::Reorder, self.window.now, after);
                true
            }
            None => false,
        }
    }

    /// The reordering timer fires.
    pub(super) fn reorder_timeout(&mut self, out: &mut Outbox) {
        let before = self.window.in_flight();
        let lost = self.window.lost;
        self.detect_loss();
        if before != self.window.in_flight() {
            if self.window.state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.control.controls_all() {
                    let newly = (self.window.lost - lost) as u32;
                    self.reduce_cwnd(1, newly, false);
                }
            }
            self.retransmit_lost(out);
        }
        if self.timers.pending() != Some(Retransmit::Timeout) {
            self.rearm_timeout();
        }
    }
}
