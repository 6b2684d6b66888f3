//! When a tail-loss probe is armed, and what it sends (`tcp_schedule_loss_probe`, `tcp_send_loss_probe`).

use super::Socket;
use crate::ack_context::Flags;
use crate::congestion::{CaState, CwndEvent};
use crate::outbox::Outbox;
use crate::scoreboard::EVER_RETRANS;
use crate::timers::Retransmit;
use crate::tlp::Tlp;

impl Socket {
    /// Arms the probe timer where a probe may be sent. `advancing`: an ACK restarts the timeout's clock.
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let state = self.window.state;
        if self.window.packets_out == 0
            || !self.agreed.sack
            || !matches!(state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let rto_left = if advancing {
            self.backed_off_rto()
        } else {
            self.rto_left()
        };
        let srtt = self.rtt.smoothed();
        let timeout = Tlp::timeout(srtt, self.window.packets_out, rto_left);
        self.timers
            .arm(Retransmit::LossProbe, self.window.now, timeout);
        true
    }

    /// The probe timer fires: new data if the window allows, else the last segment again.
    pub(super) fn send_loss_probe(&mut self, out: &mut Outbox) {
        if !self.tlp.is_out() && self.window.packets_out > 0 {
            let before = self.window.packets_out;
            let mut sent = false;
            let mut again = false;
            if self.can_send_new() {
                self.send_new(1, true, out);
                sent = self.window.packets_out > before;
            } else if let Some(last) = self.board.last_id() {
                self.send_again(last, out);
                self.board.get_mut(last).flags |= EVER_RETRANS;
                again = true;
                sent = true;
            }
            if sent {
                self.counters.loss_probes += 1;
                self.tlp.sent(self.window.snd_nxt, again);
                self.timers.clear_retransmit();
            }
        }
        self.rearm_timeout();
    }

    /// A probe that repaired a loss reduces the window once (`tcp_process_tlp_ack`).
    pub(super) fn on_ack_of_probe(&mut self, ack: u64, flags: &Flags) {
        if self.tlp.repaired_loss(ack, flags) {
            self.init_cwnd_reduction();
            self.set_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.keep_open();
            self.control
                .cwnd_event(&mut self.window, CwndEvent::TlpRecovered);
        }
    }
}
