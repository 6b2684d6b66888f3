//! Tail-loss probe (RFC 8985, section 7).

use super::Socket;
use super::rtt::{RTO_INITIAL, RTO_MIN};
use super::scoreboard::EVER_RETRANS;
use super::socket::Outbox;
use super::timers::Retransmit;
use crate::congestion::{CaState, CwndEvent};
use bentpipe_base::time::Nanos;

/// `TCP_TIMEOUT_MIN`: two milliseconds.
pub const TIMEOUT_MIN: Nanos = Nanos::from_millis(2);

#[derive(Clone, Copy, Debug, Default)]
pub struct Tlp {
    /// `snd_nxt` when the probe was sent, while its episode lasts.
    pub high_seq: Option<u64>,
    /// The probe was a retransmission, not new data.
    pub retransmitted: bool,
}

impl Socket {
    /// Arms the probe timer where a probe may be sent. `advancing`: an ACK restarts the timeout's clock.
    pub(super) fn schedule_loss_probe(&mut self, advancing: bool) -> bool {
        let state = self.window.state;
        if self.window.packets_out == 0
            || !self.sack_ok
            || !matches!(state, CaState::Open | CaState::Cwr)
        {
            return false;
        }
        let timeout = if self.rtt.has_sample() {
            // A lone segment's ACK may be delayed at the receiver.
            let margin = if self.window.packets_out == 1 {
                RTO_MIN
            } else {
                TIMEOUT_MIN
            };
            Nanos(self.rtt.srtt().0 * 2) + margin
        } else {
            RTO_INITIAL
        };
        let left = if advancing {
            self.backed_off_rto()
        } else {
            self.rto_left()
        };
        let timeout = if left.0 > 0 {
            timeout.min(left)
        } else {
            timeout
        };
        self.timers
            .arm(Retransmit::LossProbe, self.window.now, timeout);
        true
    }

    /// The probe timer fires: new data if the window allows, else the last segment again.
    pub(super) fn send_loss_probe(&mut self, out: &mut Outbox) {
        if self.tlp.high_seq.is_none() && self.window.packets_out > 0 {
            let before = self.window.packets_out;
            self.tlp.retransmitted = false;
            let mut sent = false;
            if self.can_send_new() {
                self.send_new(1, true, out);
                sent = self.window.packets_out > before;
            } else if let Some(last) = self.board.last_id() {
                self.send_again(last, out);
                self.board.get_mut(last).flags |= EVER_RETRANS;
                self.tlp.retransmitted = true;
                sent = true;
            }
            if sent {
                self.counters.loss_probes += 1;
                self.tlp.high_seq = Some(self.window.snd_nxt);
                self.timers.clear_retransmit();
            }
        }
        self.rearm_timeout();
    }

    /// Whether an acknowledgement ends the probe's episode, and whether the probe repaired a loss.
    pub(super) fn on_ack_of_probe(&mut self, ack: u64, flags: super::ack::Flags) {
        let Some(high_seq) = self.tlp.high_seq else {
            return;
        };
        if ack < high_seq {
            return;
        }
        if !self.tlp.retransmitted || flags.dsack_of_probe {
            self.tlp.high_seq = None;
        } else if ack > high_seq {
            // No DSACK came for the probe and data beyond it is acknowledged: the original was lost.
            self.init_cwnd_reduction();
            self.set_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.keep_open();
            self.control
                .cwnd_event(&mut self.window, CwndEvent::TlpRecovered);
        } else if !(flags.advanced || flags.is_not_duplicate() || flags.data_sacked) {
            self.tlp.high_seq = None;
        }
    }
}
