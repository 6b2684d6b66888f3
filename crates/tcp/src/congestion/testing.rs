//! For the tests of this folder: a window without a network around it, and acknowledgements that come at a steady
//! rate, in virtual time.

use super::{CaState, CongestionControl, INFINITE_SSTHRESH, Window};
use bentpipe_base::time::{Nanos, Time};

/// An established connection's window after a handshake of this RTT, at time zero.
pub fn window(cwnd: u32, rtt: Nanos) -> Window {
    Window {
        cwnd,
        cwnd_count: 0,
        ssthresh: INFINITE_SSTHRESH,
        prior_cwnd: 0,
        cwnd_clamp: u32::MAX,
        initial_cwnd: 10,
        pacing_rate: None,
        mss: 1448,
        packets_out: cwnd,
        sacked_out: 0,
        lost_out: 0,
        retrans_out: 0,
        reordering: 3,
        delivered: 0,
        delivered_ce: 0,
        delivered_at: Time::ZERO,
        lost: 0,
        app_limited: 0,
        snd_una: 0,
        snd_nxt: u64::from(cwnd),
        high_seq: 0,
        cwnd_limited: true,
        max_packets_out: cwnd,
        srtt: rtt,
        min_rtt: Some(rtt),
        state: CaState::Open,
        last_sent: Time::ZERO,
        next_departure: Time::ZERO,
        now: Time::ZERO,
        random: bentpipe_base::SplitMix64(1),
    }
}

/// One acknowledgement of `acked` segments at `window.now`, with the whole window in flight.
pub fn acknowledge(
    control: &mut dyn CongestionControl,
    window: &mut Window,
    acked: u32,
    rtt: Nanos,
) {
    window.snd_una += u64::from(acked);
    control.packets_acked(window, acked, Some(rtt));
    control.cong_avoid(window, window.snd_una, acked);
    window.snd_nxt = window.snd_una + u64::from(window.cwnd);
    window.packets_out = window.cwnd;
    window.max_packets_out = window.cwnd;
}

/// One round trip: the window's segments acknowledged `per_ack` at a time, evenly over `rtt`.
pub fn round(control: &mut dyn CongestionControl, window: &mut Window, per_ack: u32, rtt: Nanos) {
    let start = window.now;
    let acks = i64::from((window.cwnd / per_ack).max(1));
    for ack in 1..=acks {
        window.now = start + Nanos(rtt.0 * ack / acks);
        acknowledge(control, window, per_ack, rtt);
    }
}

/// A loss event as recovery ends it: ssthresh from the algorithm, and cwnd brought down to it.
pub fn lose(control: &mut dyn CongestionControl, window: &mut Window) {
    window.prior_cwnd = window.cwnd;
    window.ssthresh = control.ssthresh(window);
    window.cwnd = window.ssthresh;
    window.cwnd_count = 0;
}
