//! For the tests of this folder: a window without a network around it, and acknowledgements that come at a steady
//! rate, in virtual time.

use super::{CongestionControl, Window};
use bentpipe_base::time::{Nanos, Time};

/// An established connection's window after a handshake of this RTT, at time zero.
pub fn window(cwnd: u32, rtt: Nanos) -> Window {
    let mut window = Window::new(10, 1);
    window.cwnd = cwnd;
    window.cwnd_clamp = u32::MAX;
    window.app_limited = 0;
    window.view.mss = 1448;
    window.view.packets_out = cwnd;
    window.view.snd_nxt = u64::from(cwnd);
    window.view.cwnd_limited = true;
    window.view.max_packets_out = cwnd;
    window.view.srtt = rtt;
    window.view.min_rtt = Some(rtt);
    window.view.last_sent = Time::ZERO;
    window.view.next_departure = Time::ZERO;
    window
}

/// One acknowledgement of `acked` segments at `window.now`, with the whole window in flight.
pub fn acknowledge(
    control: &mut dyn CongestionControl,
    window: &mut Window,
    acked: u32,
    rtt: Nanos,
) {
    window.view.snd_una += u64::from(acked);
    control.packets_acked(window, acked, Some(rtt));
    control.cong_avoid(window, acked);
    window.view.snd_nxt = window.snd_una + u64::from(window.cwnd);
    window.view.packets_out = window.cwnd;
    window.view.max_packets_out = window.cwnd;
}

/// One round trip: the window's segments acknowledged `per_ack` at a time, evenly over `rtt`.
pub fn round(control: &mut dyn CongestionControl, window: &mut Window, per_ack: u32, rtt: Nanos) {
    let start = window.now;
    let acks = i64::from((window.cwnd / per_ack).max(1));
    for ack in 1..=acks {
        window.view.now = start + Nanos(rtt.0 * ack / acks);
        acknowledge(control, window, per_ack, rtt);
    }
}

/// A loss event as recovery ends it: ssthresh from the algorithm, and cwnd brought down to it.
pub fn lose(control: &mut dyn CongestionControl, window: &mut Window) {
    window.view.prior_cwnd = window.cwnd;
    window.ssthresh = control.ssthresh(window);
    window.cwnd = window.ssthresh;
    window.cwnd_count = 0;
}
