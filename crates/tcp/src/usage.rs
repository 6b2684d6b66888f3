//! Whether the window is used: cwnd validation (RFC 7661's problem in Linux's solution) and slow start after idle
//! (RFC 2861).

use crate::congestion::{CaState, Window};
use bentpipe_base::time::{Nanos, Time};

#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Last time the window was full, or changed otherwise (`snd_cwnd_stamp`).
    changed_at: Time,
    /// Most segments out since then (`snd_cwnd_used`).
    used: u32,
    /// `snd_nxt` when the present window's usage was noted.
    noted_at: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            changed_at: Time::ZERO,
            used: 0,
            noted_at: 0,
        }
    }
}

impl Usage {
    pub fn window_changed(&mut self, now: Time) {
        self.changed_at = now;
    }

    /// Something was sent, or could not be; `limited` by cwnd. Returns for how long the window was not used, if it is not.
    pub fn note(&mut self, window: &mut Window, limited: bool) -> Option<Nanos> {
        let w = window;
        if w.snd_una >= self.noted_at
            || limited
            || (!w.cwnd_limited && w.packets_out > w.max_packets_out)
        {
            w.view.cwnd_limited = limited;
            w.view.max_packets_out = w.packets_out;
            self.noted_at = w.snd_nxt;
        }
        if w.is_cwnd_limited() {
            self.used = 0;
            self.changed_at = w.now;
            return None;
        }
        self.used = self.used.max(w.packets_out);
        Some(w.now - self.changed_at)
    }

    /// The application did not use the window for an RTO: come half way down (`tcp_cwnd_application_limited`). Not where the send
    /// buffer was `full`.
    pub fn restrain(&mut self, w: &mut Window, full: bool) {
        if w.state == CaState::Open && !full {
            let used = self.used.max(w.initial_cwnd);
            if used < w.cwnd {
                w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
                w.cwnd = (w.cwnd + used) >> 1;
            }
            self.used = 0;
        }
        self.changed_at = w.now;
    }

    /// Before new data after a pause longer than the RTO: the window decays by half per RTO idle (RFC 2861).
    pub fn restart(&mut self, w: &mut Window, idle: Nanos, rto: Nanos) {
        w.ssthresh = w.ssthresh.max((w.cwnd >> 1) + (w.cwnd >> 2));
        let floor = w.initial_cwnd.min(w.cwnd);
        let mut left = idle - rto;
        while left > Nanos::ZERO && w.cwnd > floor {
            w.cwnd >>= 1;
            left = left - rto;
        }
        w.cwnd = w.cwnd.max(floor);
        self.changed_at = w.now;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Nanos = Nanos::from_millis(300);

    fn window(cwnd: u32, out: u32) -> Window {
        let mut window = Window::new(10, 1);
        window.cwnd = cwnd;
        window.ssthresh = 20;
        window.view.packets_out = out;
        window.view.now = Time(5_000_000_000);
        window
    }

    #[test]
    fn a_full_window_is_used_now_and_an_emptier_one_since_it_was_full() {
        let mut usage = Usage::default();
        let mut w = window(40, 40);
        assert_eq!(usage.note(&mut w, true), None);
        w.view.now += Nanos::from_secs(2);
        w.view.snd_una = 1;
        w.view.packets_out = 12;
        assert_eq!(usage.note(&mut w, false), Some(Nanos::from_secs(2)));
        usage.window_changed(w.now);
        assert_eq!(usage.note(&mut w, false), Some(Nanos::ZERO));
    }

    #[test]
    fn an_unused_window_comes_half_way_down_to_what_was_used() {
        let mut usage = Usage::default();
        let mut w = window(100, 30);
        w.view.snd_una = 1;
        usage.note(&mut w, false);
        usage.restrain(&mut w, true);
        assert_eq!(w.cwnd, 100, "the send buffer was full");
        usage.restrain(&mut w, false);
        assert_eq!((w.cwnd, w.ssthresh), (65, 75));
    }

    #[test]
    fn a_pause_halves_the_window_for_each_timeout_down_to_the_initial_one() {
        for (pause_ms, cwnd) in [(301, 40), (601, 20), (901, 10), (30_000, 10)] {
            let mut w = window(80, 0);
            Usage::default().restart(&mut w, Nanos::from_millis(pause_ms), RTO);
            assert_eq!((w.cwnd, w.ssthresh), (cwnd, 60), "{pause_ms} ms");
        }
        let mut small = window(4, 0);
        Usage::default().restart(&mut small, Nanos::from_secs(9), RTO);
        assert_eq!(small.cwnd, 4);
    }
}
