//! Sending again what is lost, lowest first, as far as cwnd allows (`tcp_xmit_retransmit_queue`).

use super::Socket;
use crate::ack_context::Resend;
use crate::congestion::CaState;
use crate::outbox::Outbox;
use crate::scoreboard::{EVER_RETRANS, RETRANS};
use crate::timers::Retransmit;

impl Socket {
    pub(super) fn resend(&mut self, resend: Resend, out: &mut Outbox) {
        match resend {
            Resend::None => {}
            Resend::New => {
                self.send_new(u32::MAX, false, out);
                if self.window.snd_nxt <= self.window.high_seq {
                    self.frto = false;
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
                self.prr.sent(1);
            }
            if is_head && self.timers.pending() != Some(Retransmit::Reorder) {
                let after = self.backed_off_rto();
                self.timers.retransmit_in(self.window.now, after);
            }
        }
    }

    /// Retransmits one segment and accounts for it.
    pub(super) fn retransmit_segment(&mut self, id: u64, out: &mut Outbox) {
        self.send_again(id, out);
        self.undo.retransmitted(self.timestamp());
        let segment = self.board.get_mut(id);
        if !segment.is(RETRANS) {
            segment.flags |= RETRANS;
            self.window.view.retrans_out += 1;
        }
        segment.flags |= EVER_RETRANS;
    }

    /// Sends a segment of the flight once more.
    pub(super) fn send_again(&mut self, id: u64, out: &mut Outbox) {
        let sent = *self.board.get(id);
        self.counters.retransmits += 1;
        self.counters.bytes_retransmitted += u64::from(sent.length);
        let packet = self.data_packet(sent.seq, sent.length, sent.header_flags);
        if packet.payload > 0 {
            self.note_data_sent();
        }
        self.emit(packet, out);
        self.space_departure(u64::from(sent.length));
        let mut stamped = *self.board.get(id);
        self.rate.sent(&mut self.window, &mut stamped);
        stamped.flags |= EVER_RETRANS;
        *self.board.get_mut(id) = stamped;
        let now = self.window.now;
        self.board.stamp(id, now);
    }
}
