//! A reduction of the window, from its beginning to its end (`tcp_init_cwnd_reduction`, `tcp_end_cwnd_reduction`).

use super::Socket;
use crate::congestion::{CaState, CwndEvent, INFINITE_SSTHRESH};
use crate::prr::Prr;

impl Socket {
    pub(super) fn init_cwnd_reduction(&mut self) {
        self.window.view.high_seq = self.window.snd_nxt;
        self.tlp.end_episode();
        self.window.cwnd_count = 0;
        self.window.view.prior_cwnd = self.window.cwnd;
        self.prr = Prr::default();
        self.window.ssthresh = self.control.ssthresh(&mut self.window);
        self.output.announce_cwr = self.agreed.ecn;
    }

    pub(super) fn end_cwnd_reduction(&mut self) {
        if self.control.controls_all() {
            return;
        }
        if self.window.ssthresh < INFINITE_SSTHRESH
            && (self.window.state == CaState::Cwr || self.undo.is_possible())
        {
            self.window.cwnd = self.window.ssthresh;
            self.usage.window_changed(self.window.now);
        }
        self.control
            .cwnd_event(&mut self.window, CwndEvent::CompleteCwr);
    }

    /// cwnd on its way down (RFC 6937bis, section 5).
    pub(super) fn reduce_cwnd(&mut self, delivered: u32, newly_lost: u32, advanced: bool) {
        let cwnd = self.prr.cwnd(&self.window, delivered, newly_lost, advanced);
        self.window.cwnd = cwnd.unwrap_or(self.window.cwnd);
    }
}
