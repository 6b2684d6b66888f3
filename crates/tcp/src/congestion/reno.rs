//! Reno as in Linux (`net/ipv4/tcp_cong.c`, RFC 5681 with the byte counting of RFC 3465): one segment per window
//! in congestion avoidance, half the window on loss.

use super::{CongestionControl, Window};

#[derive(Debug)]
pub struct Reno;

impl CongestionControl for Reno {
    fn name(&self) -> &'static str {
        "reno"
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        (window.cwnd / 2).max(2)
    }

    fn cong_avoid(&mut self, window: &mut Window, _ack: u64, acked: u32) {
        if !window.is_cwnd_limited() {
            return;
        }
        let left = if window.in_slow_start() {
            window.slow_start(acked)
        } else {
            acked
        };
        if left > 0 {
            window.additive_increase(window.cwnd, left);
        }
    }
}
