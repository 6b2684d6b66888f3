//! When an ACK leaves by itself: after data, by its timers, and after the application has read.

use super::Socket;
use crate::delayed_ack::{Answer, DelayedAck, Received};
use crate::outbox::Outbox;
use crate::segment::Segment;
use bentpipe_base::time::Nanos;

impl Socket {
    /// A segment was queued: an ACK is owed.
    pub(super) fn owe_ack(&mut self, packet: &Segment) {
        let mss = self.receiver.advertised_mss;
        let option_bytes = self.agreed.option_bytes();
        if self.delayed.queued(packet, mss, option_bytes) {
            let memory = u64::from(self.config.memory.received(packet.wire_bytes));
            self.buffer.measure_ratio(packet.payload, memory);
        }
    }

    /// It was in order (`tcp_event_data_recv`).
    pub(super) fn owe_ack_in_order(&mut self, packet: &Segment) {
        self.owe_ack(packet);
        let now = self.window.now;
        if !self.agreed.timestamps {
            self.buffer.measure_rtt_by_window(now, &self.receiver);
        }
        let window = self.receive_window();
        self.delayed.arrived_in_order(now, self.rtt.rto, window);
    }

    /// Quick ACKs for half a window, so that the sender learns of trouble at once.
    pub(super) fn acknowledge_quickly(&mut self, most: u32) {
        let window = self.receive_window();
        self.delayed.enter_quick(most, window);
    }

    /// After data: an ACK now, compressed, or delayed.
    pub(super) fn acknowledge_if_due(&mut self, out: &mut Outbox) {
        let received = Received {
            rcv_nxt: self.receiver.rcv_nxt,
            unacked: self.receiver.unacked(),
            holes: self.receiver.has_holes(),
            sack: self.agreed.sack,
        };
        let (buffer, receiver) = (&self.buffer, &self.receiver);
        let rcv_mss = self.delayed.rcv_mss;
        let window_holds = || buffer.window_would_be(receiver, rcv_mss) >= buffer.window(receiver);
        match self.delayed.answer(received, window_holds) {
            Answer::None => {}
            Answer::Now => self.send_ack(out),
            Answer::Delayed => {
                let delay = self.delayed.delay(self.rtt.smoothed());
                if self.timers.delay_ack(self.window.now, delay) {
                    self.send_ack(out);
                }
            }
            Answer::Compressed => {
                if self.timers.compressed_ack.is_none() {
                    let rtt = Nanos(self.buffer.rtt());
                    let after = DelayedAck::compression(rtt, self.rtt.smoothed());
                    self.timers.compressed_ack = Some(self.window.now + after);
                }
            }
        }
    }

    pub(super) fn compressed_ack_timeout(&mut self, out: &mut Outbox) {
        if self.delayed.compressed > 0 {
            self.send_ack(out);
        }
    }

    pub(super) fn delayed_ack_timeout(&mut self, out: &mut Outbox) {
        if self.delayed.timed_out(self.rtt.rto) {
            self.send_ack(out);
        }
    }

    /// The application has read: an ACK if one is due for data or for a window that opened (`tcp_cleanup_rbuf`).
    pub(super) fn acknowledge_after_read(&mut self, out: &mut Outbox) {
        let all_read = self.receiver.unread_memory == 0;
        let unacked = self.receiver.unacked();
        if self.delayed.is_due_after_read(unacked, all_read) {
            self.send_ack(out);
            return;
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
        self.receiver.acknowledged();
        self.delayed.sent();
        self.timers.delayed_ack = None;
        self.timers.compressed_ack = None;
    }
}
