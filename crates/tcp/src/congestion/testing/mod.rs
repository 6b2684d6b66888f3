//! A bench for tests of a congestion control, without a network: a window whose acknowledgements the test makes ([`window`],
//! [`round`], [`lose`]), and a sender at a bottleneck with a queue ([`Flow`]). In virtual time. For an algorithm in a whole
//! connection over a path there is `bentpipe_sim::pair::Pair`.
//!
//! ```
//! use bentpipe_base::{Nanos, Time};
//! use bentpipe_tcp::congestion::testing::{Flow, lose, round, window};
//! use bentpipe_tcp::congestion::{CongestionControl, Window};
//!
//! #[derive(Debug)]
//! struct Halving;
//! impl CongestionControl for Halving {
//!     fn name(&self) -> &'static str { "halving" }
//!     fn ssthresh(&mut self, window: &mut Window) -> u32 { window.cwnd / 2 }
//!     fn cong_avoid(&mut self, window: &mut Window, acked: u32) {
//!         window.additive_increase(window.cwnd, acked);
//!     }
//! }
//!
//! let rtt = Nanos::from_millis(100);
//! let mut w = window(100, rtt);
//! lose(&mut Halving, &mut w);
//! assert_eq!(w.cwnd, 50);
//! round(&mut Halving, &mut w, 1, rtt);
//! assert_eq!(w.cwnd, 51);
//!
//! // 1000 segments/s, 100 ms, and a queue for 100 segments: a BDP of 100.
//! let mut flow = Flow::new(Halving, 1000, rtt, 100);
//! flow.run_until(Time(60_000_000_000), |flow| assert!(flow.window.cwnd <= 202));
//! assert!(flow.window.lost > 0 && flow.window.delivered > 45_000);
//! ```

mod flow;

pub use flow::Flow;

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
