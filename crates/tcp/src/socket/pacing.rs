//! Pacing, and the size of bursts (`tcp_update_pacing_rate`, `tcp_tso_autosize`, `tcp_pacing_check`).

use super::Socket;
use crate::congestion::CaState;
use crate::outbox::Outbox;
use bentpipe_base::time::Nanos;

impl Socket {
    /// Sets when the next burst may leave. The first ten segments are free, and up to half a burst's time is forgiven
    /// if it leaves late (`tcp_update_skb_after_send`).
    pub(super) fn space_departure(&mut self, payload: u64) {
        let paces = self.paces();
        let w = &mut self.window;
        let prior = w.next_departure;
        w.view.next_departure = prior.max(w.now);
        if !paces || self.counters.data_segments_out < 10 {
            return;
        }
        if let Some(rate) = w.pacing_rate
            && rate > 0
        {
            let length = (u128::from(payload) * 1_000_000_000 / u128::from(rate)) as i64;
            let credit = w.next_departure.0.saturating_sub(prior.0);
            w.view.next_departure += Nanos(length - credit.min(length / 2));
        }
    }

    /// Whether what leaves is spaced: by the congestion control, or as the application bounds the rate.
    fn paces(&self) -> bool {
        self.control.paces() || self.config.max_pacing_rate_bit_s.is_some()
    }

    pub(super) fn paced_out(&mut self) -> bool {
        if !self.paces() || self.window.next_departure <= self.window.now {
            return false;
        }
        self.timers.pacing = Some(self.window.next_departure);
        true
    }

    pub(super) fn resume_paced(&mut self, out: &mut Outbox) {
        if self.window.state >= CaState::Recovery {
            self.retransmit_lost(out);
        }
        self.push(out);
        self.check_space();
    }

    pub(super) fn update_pacing_rate(&mut self) {
        if self.control.controls_all() {
            return;
        }
        let percent = self.control.pacing_percent(&self.window);
        self.window.pace(percent);
    }

    /// Segments per burst: about a millisecond's worth, more where the RTT is tiny (`tcp_tso_autosize`).
    pub(super) fn burst_segments(&self) -> u32 {
        let gso = u64::from(self.config.memory.gso_bytes);
        let mut bytes = self.window.pacing_rate.map_or(gso, |rate| rate >> 10);
        let shift = self
            .window
            .min_rtt
            .map_or(32, |least| (least.0 / 1000) >> 9);
        if shift < 32 {
            bytes += gso >> shift;
        }
        let most = (gso / u64::from(self.window.mss)).max(1) as u32;
        let segments = (bytes.min(gso) / u64::from(self.window.mss)) as u32;
        segments
            .max(self.control.min_tso_segments(&self.window))
            .min(most)
    }
}
