//! New data leaves, in bursts sized as Linux sizes them (`tcp_write_xmit`), and zero-window probes.
//!
//! 1. TCP Small Queues never bind: what the host sends is at the pipe's entrance at once, as on a device that
//!    orphans its buffers (TUN).
//! 2. A burst leaves as its wire segments at one instant.
//! 3. What is sent again leaves segment by segment, so none of it has PSH for being the last of several.

use super::Socket;
use crate::chrono::Limit;
use crate::congestion::{CaState, CwndEvent};
use crate::outbox::Outbox;
use crate::output::{Deferred, Room, burst_bytes, defers};
use crate::scoreboard::{BURST_HEAD, Sent};
use crate::segment::flag;
use crate::timers::Retransmit;
use bentpipe_base::Ecn;

impl Socket {
    // --- sending new data ---

    pub(super) fn window_end(&self) -> u64 {
        self.window.snd_una + self.peer.bytes
    }

    /// Payload waiting, or a FIN.
    pub(super) fn has_unsent(&self) -> bool {
        self.send.write_seq > self.window.snd_nxt || self.fin_waits()
    }

    fn fin_waits(&self) -> bool {
        self.send.closing
            && self.send.offered == 0
            && self.output.fin_seq.is_none()
            && self.can_send()
    }

    /// Whether the next segment lies inside the peer's window.
    pub(super) fn next_fits_window(&self) -> bool {
        let unsent = self.unsent();
        let length = unsent
            .min(u64::from(self.window.mss))
            .max(u64::from(self.fin_waits()));
        self.window.snd_nxt + length <= self.window_end()
    }

    pub(super) fn can_send_new(&self) -> bool {
        self.has_unsent() && self.next_fits_window()
    }

    /// Sends what may be sent, and probes a closed window (`__tcp_push_pending_frames`).
    pub(super) fn push(&mut self, out: &mut Outbox) {
        if !self.has_unsent() {
            return;
        }
        self.send_new(u32::MAX, false, out);
        if self.window.packets_out == 0
            && self.has_unsent()
            && self.timers.pending().is_none()
            && !self.is_paced_out()
        {
            let after = self.backed_off_rto();
            self.timers.arm(Retransmit::Probe, self.window.now, after);
        }
    }

    fn is_paced_out(&self) -> bool {
        self.timers.pacing.is_some()
    }

    /// New data, at most `bursts` of them; a `probe` may exceed cwnd by one segment.
    pub(super) fn send_new(&mut self, bursts: u32, probe: bool, out: &mut Outbox) {
        let mss = self.window.mss;
        let most = self.burst_segments();
        let mut sent_segments = 0;
        let mut cwnd_limited = false;
        let mut window_limited = false;
        let mut sent_bursts = 0;
        while sent_bursts < bursts && self.has_unsent() && !self.paced_out() {
            let in_flight = self.window.in_flight();
            let mut quota = self.window.cwnd.saturating_sub(in_flight);
            if quota == 0 {
                if !probe {
                    break;
                }
                quota = 1;
            }
            // No more than half the window at once (`tcp_cwnd_test`).
            let half = (self.window.cwnd >> 1).max(1);
            quota = if probe { 1 } else { quota.min(half).min(most) };
            if !self.next_fits_window() {
                window_limited = true;
                break;
            }
            let unsent = self.unsent();
            let segments = unsent.div_ceil(u64::from(mss)).min(u64::from(most));
            if segments <= 1 {
                if unsent < u64::from(mss) && !self.nagle_allows() {
                    break;
                }
            } else if !probe && let Some(why) = self.defers(most, unsent) {
                cwnd_limited |= why == Deferred::ByCwnd;
                window_limited |= why == Deferred::ByWindow;
                break;
            }
            let room = self.window_end() - self.window.snd_nxt;
            let bytes = burst_bytes(unsent, quota.into(), room, mss.into(), || {
                self.nagle_allows()
            });
            sent_segments += self.send_burst(bytes, out);
            sent_bursts += 1;
        }
        if window_limited {
            self.chrono.start(self.window.now, Limit::ReceiveWindow);
        } else {
            self.stop_chrono(Limit::ReceiveWindow);
        }
        cwnd_limited |= self.window.in_flight() >= self.window.cwnd;
        if sent_segments > 0 || cwnd_limited {
            self.validate_cwnd(cwnd_limited);
        }
        if sent_segments > 0 {
            if matches!(self.window.state, CaState::Cwr | CaState::Recovery) {
                self.prr.sent(sent_segments);
            }
            if !probe {
                self.schedule_loss_probe(false);
            }
        }
    }

    /// Whether the next burst waits for an ACK.
    fn defers(&self, most: u32, unsent: u64) -> Option<Deferred> {
        let w = &self.window;
        let mss = u64::from(w.mss);
        let room = Room {
            unsent,
            cwnd: u64::from(w.cwnd.saturating_sub(w.in_flight())) * mss,
            window: self.window_end() - w.snd_nxt,
            whole_window: self.peer.bytes,
            burst: u64::from(most) * mss,
        };
        let head_sent_at = self.board.head().map(|head| head.sent_at);
        defers(w, w.cwnd, room, head_sent_at)
    }

    fn send_burst(&mut self, bytes: u64, out: &mut Outbox) -> u32 {
        let mss = u64::from(self.window.mss);
        let mut left = bytes;
        let mut count = 0;
        let was_empty = self.window.packets_out == 0;
        if bytes > 0 {
            self.note_data_sent();
        }
        loop {
            let length = left.min(mss);
            left -= length;
            let seq = self.window.snd_nxt;
            let ends_data = seq + length == self.send.write_seq;
            let mut header_flags = if ends_data && length > 0 {
                flag::PSH
            } else {
                0
            };
            let fin = ends_data && self.fin_waits() && seq + length < self.window_end();
            if fin {
                header_flags |= flag::FIN;
            }
            if length == 0 && !fin {
                break;
            }
            let mut segment = Sent::new(seq, length as u32 + u32::from(fin), header_flags);
            segment.sent_at = self.window.now;
            if count == 0 {
                segment.flags |= BURST_HEAD;
                self.send.buffers_out += 1;
            }
            let mut packet = self.data_packet(seq, segment.length, header_flags);
            if left == 0 && bytes > mss {
                // The last of several segments, also where more waits (`__tcp_transmit_skb`).
                packet.flags |= flag::PSH;
            }
            if self.agreed.ecn && length > 0 {
                packet.ecn = Ecn::Ect0;
                if self.output.announce_cwr {
                    packet.flags |= flag::CWR;
                    self.output.announce_cwr = false;
                }
            }
            self.rate.sent(&mut self.window, &mut segment);
            self.emit(packet, out);
            if fin {
                self.queue_fin(seq + length);
                self.send.write_seq += 1;
            }
            self.board.push(segment);
            self.window.view.packets_out += 1;
            self.window.view.snd_nxt = segment.end();
            if length < mss {
                self.output.small_end = self.window.snd_nxt;
            }
            count += 1;
            if left == 0 {
                break;
            }
        }
        if count > 0 {
            self.space_departure(bytes);
            self.chrono.start(self.window.now, Limit::Busy);
            if was_empty || self.timers.pending() == Some(Retransmit::LossProbe) {
                self.rearm_timeout();
            }
        }
        count
    }

    /// Data is about to leave, for the first time or again (`tcp_event_data_sent`). A long recovery that only retransmits is
    /// therefore no idle time.
    pub(super) fn note_data_sent(&mut self) {
        if self.window.in_flight() == 0 {
            self.control
                .cwnd_event(&mut self.window, CwndEvent::TxStart);
        }
        self.window.view.last_sent = self.window.now;
        self.delayed.data_sent(self.window.now);
    }

    fn nagle_allows(&self) -> bool {
        !self.output.holds_small_segment(&self.window) || self.fin_waits()
    }

    /// The window is closed: one byte's worth of question (RFC 9293, section 3.8.6.1), backed off.
    pub(super) fn probe_zero_window(&mut self, out: &mut Outbox) {
        if self.window.packets_out > 0 || !self.has_unsent() {
            self.timers.backoff = 0;
            return;
        }
        if self.next_fits_window() {
            self.push(out);
            return;
        }
        // As Linux: a segment below the window, whose ACK brings the window.
        let seq = self.window.snd_una.saturating_sub(1);
        let packet = self.packet(flag::ACK, seq);
        self.transmit(packet, out);
        self.timers.back_off();
        let after = self.backed_off_rto();
        self.timers.arm(Retransmit::Probe, self.window.now, after);
    }
}
