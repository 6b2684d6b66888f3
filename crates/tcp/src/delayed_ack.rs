//! When to acknowledge: quick ACKs at the start and after trouble, every second full segment, or after a delay that follows
//! the arrivals' spacing (40 to 200 ms); duplicate ACKs compressed as Linux does (at most one a millisecond, 5 % of an RTT
//! or 44 segments, after the first three).
//!
//! 1. Pingpong mode begins with one answer (`TCP_PINGPONG_THRESH` = 1) and ends at the delayed ACK's timer.

use super::Socket;
use super::socket::Outbox;
use crate::segment::{Segment, flag};
use bentpipe_base::time::{Nanos, Time};

const ATO_MIN: Nanos = Nanos::from_millis(40);
const DELAY_MAX: Nanos = Nanos::from_millis(200);
const COMPRESS_DELAY: Nanos = Nanos::from_millis(1);
/// The timer's leave to fire later, which it takes where nothing else wakes the host (`tcp_comp_sack_slack_ns`).
const COMPRESS_SLACK: Nanos = Nanos::from_micros(100);
const COMPRESS_COUNT: u32 = 44;

#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the bits of icsk_ack.pending"
)]
pub struct DelayedAck {
    /// The receiver's idea of a full segment (`rcv_mss`).
    pub rcv_mss: u32,
    last_length: u32,
    quick: u32,
    /// Zero before the first data.
    ato: Nanos,
    last_received: Time,
    pingpong: bool,
    /// An ACK is owed at once.
    pub now: bool,
    scheduled: bool,
    pushed: bool,
    pushed_again: bool,
    pub compressed: u32,
    compressed_at: u64,
    duplicates: u32,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self {
            rcv_mss: 536,
            last_length: 0,
            quick: 0,
            ato: Nanos::ZERO,
            last_received: Time::ZERO,
            pingpong: false,
            now: false,
            scheduled: false,
            pushed: false,
            pushed_again: false,
            compressed: 0,
            compressed_at: 0,
            duplicates: 0,
        }
    }
}

impl DelayedAck {
    /// Quick ACKs for as many segments as fill half the window, at most `most`.
    pub fn enter_quick(&mut self, most: u32, by_window: u32) {
        self.quick = self.quick.max(by_window.clamp(2, most.max(2)));
        self.pingpong = false;
        self.ato = ATO_MIN;
    }

    pub fn window_grew(&mut self) {
        self.quick |= 1;
    }

    pub fn no_quick(&mut self) {
        self.quick = 0;
    }

    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.pingpong
    }
}

impl Socket {
    /// Segments that fill half the advertised window.
    pub(super) fn receiver_quick(&self) -> u32 {
        (self.receive_window() / (2 * u64::from(self.delayed.rcv_mss))).min(1000) as u32
    }

    /// A segment arrived out of order: an ACK is owed (`tcp_data_queue_ofo`).
    pub(super) fn measure_disorder(&mut self, packet: &Segment) {
        self.delayed.scheduled = true;
        self.measure_segment(packet);
    }

    /// A segment arrived in order (`tcp_event_data_recv`).
    pub(super) fn measure_arrival(&mut self, packet: &Segment) {
        self.delayed.scheduled = true;
        self.measure_segment(packet);
        self.measure_receiver_rtt_by_window();
        let now = self.window.now;
        if self.delayed.ato == Nanos::ZERO {
            let by_window = self.receiver_quick();
            self.delayed.quick = self.delayed.quick.max(by_window.clamp(2, 16));
            self.delayed.ato = ATO_MIN;
        } else {
            let gap = now - self.delayed.last_received;
            let rto = self.rtt.rto;
            let ato = &mut self.delayed.ato;
            if gap.0 <= ATO_MIN.0 / 2 {
                *ato = Nanos((ato.0 >> 1) + ATO_MIN.0 / 2);
            } else if gap < *ato {
                *ato = Nanos((ato.0 >> 1) + gap.0).min(rto);
            } else if gap > rto {
                // The sender has been idle: it may restart slowly, so answer quickly.
                let by_window = self.receiver_quick();
                self.delayed.quick = self.delayed.quick.max(by_window.clamp(2, 16));
            }
        }
        self.delayed.last_received = now;
    }

    fn measure_segment(&mut self, packet: &Segment) {
        let length = if packet.segments > 1 {
            self.receiver.advertised_mss.min(packet.payload)
        } else {
            packet.payload
        };
        let pushed = packet.has(flag::PSH);
        if length >= self.delayed.rcv_mss {
            if length != self.delayed.rcv_mss {
                self.measure_ratio(packet);
            }
            self.delayed.rcv_mss = length.min(self.receiver.advertised_mss);
            if pushed && packet.segments == 1 {
                self.delayed.pushed = true;
            }
        } else {
            // The header counts with its options; a segment without PSH is taken for a full one.
            let options = self.output.advertised_mss - self.receiver.advertised_mss;
            let known = length + options >= 536 || (length + options >= 88 && !pushed);
            if known {
                if length == self.delayed.last_length {
                    self.delayed.rcv_mss = length;
                    return;
                }
                self.delayed.last_length = length;
            }
            self.delayed.pushed_again |= self.delayed.pushed;
            self.delayed.pushed = true;
        }
    }

    /// After data: an ACK now, compressed, or delayed (`__tcp_ack_snd_check`).
    pub(super) fn acknowledge_if_due(&mut self, out: &mut Outbox) {
        if !self.delayed.scheduled && !self.delayed.now {
            return;
        }
        let two_segments =
            self.receiver.rcv_nxt - self.receiver.rcv_wup > u64::from(self.delayed.rcv_mss);
        if (two_segments && self.window_would_be() >= self.receive_window())
            || self.delayed.is_quick()
            || self.delayed.now
        {
            self.send_ack(out);
            return;
        }
        if !self.receiver.has_holes() {
            self.delay_ack(out);
            return;
        }
        if !self.sack_ok || self.delayed.compressed >= COMPRESS_COUNT {
            self.send_ack(out);
            return;
        }
        if self.delayed.compressed_at != self.receiver.rcv_nxt {
            self.delayed.compressed_at = self.receiver.rcv_nxt;
            self.delayed.duplicates = 0;
        }
        if self.delayed.duplicates < 3 {
            self.delayed.duplicates += 1;
            self.send_ack(out);
            return;
        }
        self.delayed.compressed += 1;
        if self.timers.compressed_ack.is_none() {
            let mut rtt = self.receiver_rtt();
            if self.rtt.has_sample() {
                rtt = rtt.min(self.rtt.srtt().0);
            }
            let delay = Nanos(rtt / 20).min(COMPRESS_DELAY);
            self.timers.compressed_ack = Some(self.window.now + delay + COMPRESS_SLACK);
        }
    }

    pub(super) fn compressed_ack_timeout(&mut self, out: &mut Outbox) {
        if self.delayed.compressed > 0 {
            self.send_ack(out);
        }
    }

    fn delay_ack(&mut self, out: &mut Outbox) {
        let now = self.window.now;
        let mut ato = self.delayed.ato;
        if ato > ATO_MIN {
            let mut most = Nanos::from_millis(500);
            if self.delayed.pingpong || self.delayed.pushed {
                most = DELAY_MAX;
            }
            if self.rtt.has_sample() {
                most = most.min(self.rtt.srtt().max(ATO_MIN));
            }
            ato = ato.min(most);
        }
        ato = ato.min(DELAY_MAX);
        let mut at = self.timers.expiry(now, ato);
        if let Some(pending) = self.timers.delayed_ack {
            if pending <= now + Nanos(ato.0 >> 2) {
                self.send_ack(out);
                return;
            }
            at = at.min(pending);
        }
        self.timers.delayed_ack = Some(at);
    }

    pub(super) fn delayed_ack_timeout(&mut self, out: &mut Outbox) {
        if !self.delayed.scheduled {
            return;
        }
        if self.delayed.pingpong {
            self.delayed.pingpong = false;
            self.delayed.ato = ATO_MIN;
        } else {
            self.delayed.ato = Nanos((self.delayed.ato.0 << 1).min(self.rtt.rto.0));
        }
        self.send_ack(out);
    }

    /// The application has read: an ACK if one is due for data or for a window that opened (`tcp_cleanup_rbuf`).
    pub(super) fn acknowledge_after_read(&mut self, out: &mut Outbox) {
        if self.delayed.scheduled {
            let d = &self.delayed;
            let beyond = self.receiver.rcv_nxt - self.receiver.rcv_wup > u64::from(d.rcv_mss);
            let pushed = d.pushed_again || (d.pushed && !d.pingpong);
            if beyond || (pushed && self.receiver.unread_memory == 0) {
                self.send_ack(out);
                return;
            }
        }
        let window = self.receive_window();
        if 2 * window <= self.buffer.clamp() {
            let would_be = self.window_would_be();
            if would_be > 0 && would_be >= 2 * window {
                self.send_ack(out);
            }
        }
    }

    /// A packet with ACK left.
    pub(super) fn ack_sent(&mut self) {
        self.receiver.rcv_wup = self.receiver.rcv_nxt;
        self.receiver.fin_unacked = false;
        let d = &mut self.delayed;
        if d.quick > 0 && d.scheduled {
            d.quick -= 1;
            if d.quick == 0 {
                d.ato = ATO_MIN;
            }
        }
        d.now = false;
        d.scheduled = false;
        d.pushed = false;
        d.pushed_again = false;
        d.compressed = 0;
        self.timers.delayed_ack = None;
        self.timers.compressed_ack = None;
    }

    /// Data leaves soon after data came: the ACK can ride on answers (pingpong mode).
    pub(super) fn data_sent_after_data(&mut self) {
        let d = &mut self.delayed;
        if d.ato > Nanos::ZERO && self.window.now - d.last_received < d.ato {
            d.pingpong = true;
        }
    }
}
