//! What leaves: new data in bursts sized as Linux sizes them (`tcp_write_xmit`, `tcp_tso_should_defer`), Nagle with
//! Minshall's change, silly-window avoidance, and zero-window probes.
//!
//! 1. TCP Small Queues never bind: what the host sends is at the pipe's entrance at once, as on a device that
//!    orphans its buffers (TUN).
//! 2. A burst leaves as its wire segments at one instant.

use super::Socket;
use super::chrono::Limit;
use super::scoreboard::{BURST_HEAD, Sent};
use super::socket::Outbox;
use super::timers::Retransmit;
use crate::congestion::{CaState, CwndEvent};
use crate::segment::flag;
use bentpipe_base::Ecn;
use bentpipe_base::time::{Nanos, Time};

const MILLISECOND: Nanos = Nanos::from_millis(1);

#[derive(Clone, Copy, Debug)]
pub struct Output {
    pub advertised_mss: u32,
    pub ip_header: u32,
    pub fin_seq: Option<u64>,
    /// Send CWR with the next new data (RFC 3168, section 6.1.2).
    pub announce_cwr: bool,
    pub probes_out: u32,
    /// Last time the window was full, or changed otherwise (`snd_cwnd_stamp`).
    pub cwnd_stamp: Time,
    pub cwnd_used: u32,
    pub usage_seq: u64,
    /// End of the last segment smaller than full.
    small_end: u64,
}

impl Output {
    pub fn new(advertised_mss: u32, ip_header: u32) -> Self {
        Self {
            advertised_mss,
            ip_header,
            fin_seq: None,
            announce_cwr: false,
            probes_out: 0,
            cwnd_stamp: Time::ZERO,
            cwnd_used: 0,
            usage_seq: 0,
            small_end: 0,
        }
    }
}

impl Socket {
    // --- sending new data ---

    pub(super) fn window_end(&self) -> u64 {
        self.window.snd_una + self.send.window_bytes
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
        let unsent = self.send.write_seq - self.window.snd_nxt.min(self.send.write_seq);
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
            let unsent = self.send.write_seq - self.window.snd_nxt.min(self.send.write_seq);
            let segments = unsent.div_ceil(u64::from(mss)).min(u64::from(most));
            if segments <= 1 {
                if unsent < u64::from(mss) && !self.nagle_allows() {
                    break;
                }
            } else if !probe
                && self.should_defer(most, unsent, &mut cwnd_limited, &mut window_limited)
            {
                break;
            }
            let room = self.window_end() - self.window.snd_nxt;
            let mut bytes = unsent
                .min(u64::from(quota) * u64::from(mss))
                .min(room.max(1));
            // Silly-window avoidance: part of a segment leaves only as the last of the data.
            if bytes < unsent && bytes >= u64::from(mss) {
                bytes -= bytes % u64::from(mss);
            }
            let whole = bytes - bytes % u64::from(mss);
            if bytes > whole && whole > 0 && !self.nagle_allows() {
                bytes = whole;
            }
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
                self.recovery.prr_out += sent_segments;
            }
            if !probe {
                self.schedule_loss_probe(false);
            }
        }
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
            if self.ecn_ok && length > 0 {
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
        self.data_sent_after_data();
    }

    /// Nagle with Minshall's change: a small segment waits while another small one is unacknowledged.
    fn nagle_allows(&self) -> bool {
        let small_out = self.output.small_end > self.window.snd_una
            && self.output.small_end <= self.window.snd_nxt;
        !(self.config.nagle && self.window.packets_out > 0 && small_out) || self.fin_waits()
    }

    /// Waits for the next ACK if that would make a fuller burst (`tcp_tso_should_defer`).
    fn should_defer(
        &self,
        most: u32,
        unsent: u64,
        cwnd_limited: &mut bool,
        window_limited: &mut bool,
    ) -> bool {
        let w = &self.window;
        if w.state >= CaState::Recovery || w.now - w.next_departure > MILLISECOND {
            return false;
        }
        let mss = u64::from(w.mss);
        let window_room = self.window_end() - w.snd_nxt;
        let cwnd_room = u64::from(w.cwnd.saturating_sub(w.in_flight())) * mss;
        let limit = window_room.min(cwnd_room);
        if limit >= u64::from(most) * mss || limit >= unsent {
            return false;
        }
        let chunk = self.send.window_bytes.min(u64::from(w.cwnd) * mss) / 3;
        if limit >= chunk {
            return false;
        }
        let Some(head) = self.board.head() else {
            return false;
        };
        // Worth waiting for only if the head's ACK is expected very soon, or overdue (since Linux 6.18; before, half an srtt
        // after the head had left was soon enough).
        let expected_in = head.sent_at + w.srtt - w.now;
        if expected_in > MILLISECOND.min(Nanos(w.srtt.0 >> 1)) {
            return false;
        }
        if cwnd_room < window_room {
            *cwnd_limited = true;
        } else {
            *window_limited = true;
        }
        true
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
        self.output.probes_out += 1;
        self.timers.backoff = (self.timers.backoff + 1).min(16);
        let after = self.backed_off_rto();
        self.timers.arm(Retransmit::Probe, self.window.now, after);
    }
}
