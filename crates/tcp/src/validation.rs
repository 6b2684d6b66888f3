//! Whether the window is used: cwnd validation (RFC 7661's problem in Linux's solution) and slow start after idle
//! (RFC 2861).

use super::Socket;
use super::chrono::Limit;
use crate::congestion::{CaState, CwndEvent};

impl Socket {
    pub(super) fn validate_cwnd(&mut self, limited: bool) {
        let w = &mut self.window;
        let o = &mut self.output;
        if w.snd_una >= o.usage_seq
            || limited
            || (!w.cwnd_limited && w.packets_out > w.max_packets_out)
        {
            w.view.cwnd_limited = limited;
            w.view.max_packets_out = w.packets_out;
            o.usage_seq = w.snd_nxt;
        }
        if w.is_cwnd_limited() {
            o.cwnd_used = 0;
            o.cwnd_stamp = w.now;
            return;
        }
        o.cwnd_used = o.cwnd_used.max(w.packets_out);
        let starved_for = w.now - o.cwnd_stamp;
        if self.config.slow_start_after_idle
            && starved_for >= self.rtt.rto
            && !self.control.controls_all()
        {
            self.restrain_cwnd();
        }
        if self.send.write_seq == self.window.snd_nxt && self.send.no_space && self.can_send() {
            self.chrono.start(self.window.now, Limit::SendBuffer);
        }
    }

    /// The application did not use the window for an RTO: come half way down (`tcp_cwnd_application_limited`).
    pub(super) fn restrain_cwnd(&mut self) {
        let w = &mut self.window;
        if w.state == CaState::Open && !self.send.no_space {
            let used = self.output.cwnd_used.max(w.initial_cwnd);
            if used < w.cwnd {
                w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
                w.cwnd = (w.cwnd + used) >> 1;
            }
            self.output.cwnd_used = 0;
        }
        self.output.cwnd_stamp = self.window.now;
    }

    /// Before new data after a pause: the window decays by half per RTO idle (RFC 2861).
    pub(super) fn restart_after_idle(&mut self) {
        if !self.config.slow_start_after_idle
            || self.window.packets_out > 0
            || self.control.controls_all()
        {
            return;
        }
        let mut idle = (self.window.now - self.window.last_sent).0;
        let rto = self.rtt.rto.0;
        if idle <= rto || self.window.last_sent.0 < i64::MIN >> 3 {
            return;
        }
        self.control
            .cwnd_event(&mut self.window, CwndEvent::CwndRestart);
        let w = &mut self.window;
        w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
        let floor = w.initial_cwnd.min(w.cwnd);
        idle -= rto;
        while idle > 0 && w.cwnd > floor {
            w.cwnd >>= 1;
            idle -= rto;
        }
        w.cwnd = w.cwnd.max(floor);
        self.output.cwnd_stamp = w.now;
        self.output.cwnd_used = 0;
    }
}
