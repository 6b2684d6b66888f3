//! When the use of the window is judged: after sending, and before new data after a pause.

use super::Socket;
use crate::chrono::Limit;
use crate::congestion::CwndEvent;
use bentpipe_base::time::Time;

impl Socket {
    pub(super) fn validate_cwnd(&mut self, limited: bool) {
        let Some(unused_for) = self.usage.note(&mut self.window, limited) else {
            return;
        };
        if self.config.slow_start_after_idle
            && unused_for >= self.rtt.rto
            && !self.control.controls_all()
        {
            self.usage.restrain(&mut self.window, self.send.no_space);
        }
        if self.send.write_seq == self.window.snd_nxt && self.send.no_space && self.can_send() {
            self.chrono.start(self.window.now, Limit::SendBuffer);
        }
    }

    /// Before new data: was there a pause?
    pub(super) fn restart_after_idle(&mut self) {
        if !self.config.slow_start_after_idle
            || self.window.packets_out > 0
            || self.control.controls_all()
        {
            return;
        }
        let idle = self.window.now - self.window.last_sent;
        let rto = self.rtt.rto;
        let never_sent = self.window.last_sent < Time(i64::MIN >> 3);
        if idle <= rto || never_sent {
            return;
        }
        self.control
            .cwnd_event(&mut self.window, CwndEvent::CwndRestart);
        self.usage.restart(&mut self.window, idle, rto);
    }
}
