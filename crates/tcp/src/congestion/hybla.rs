//! Hybla as in Linux 6.x (`net/ipv4/tcp_hybla.c`; Caini and Firrincieli, "TCP Hybla: a TCP enhancement for
//! heterogeneous networks", 2004): the growth per second of a path of 25 ms, whatever the RTT. With
//! rho = RTT / 25 ms, each ACK adds 2^rho - 1 segments in slow start and rho^2 / cwnd after it.
//!
//! As in Linux, and worth knowing before one believes a result: the initial window is rho; the window never passes
//! 65,535; the increase is per ACK, not per segment; and with a rho of 16 or more (RTT from 400 ms) the first ACK
//! alone opens the whole window. The increase is cut to 1/128 of a segment, so that a window beyond 128 rho^2 grows
//! as Reno's.

use super::reno::Reno;
use super::{CaState, CongestionControl, Made, Parameters, Window};
use bentpipe_base::time::Nanos;

const REFERENCE_US: u64 = 25_000;
const CWND_MAX: u32 = 65_535;
/// 2^(n/8) in 1/128.
const POWERS: [u32; 8] = [128, 139, 152, 165, 181, 197, 215, 234];

#[derive(Debug)]
pub struct Hybla {
    enabled: bool,
    /// RTT over the reference, in eighths, at least 1.
    rho_eighths: u32,
    /// Smallest smoothed RTT; rho follows it down only.
    min_srtt: Nanos,
    /// Growth below a segment, in 1/128.
    fraction: u32,
}

impl Hybla {
    pub const fn new() -> Self {
        Self {
            enabled: true,
            rho_eighths: 8,
            min_srtt: Nanos::ZERO,
            fraction: 0,
        }
    }

    fn measure(&mut self, window: &Window) {
        let eighths = 8 * (window.srtt.0 as u64 / 1000) / REFERENCE_US;
        self.rho_eighths = (eighths as u32).max(8);
        self.min_srtt = window.srtt;
    }

    /// Growth by one ACK, in 1/128 of a segment.
    fn increment(&self, window: &Window) -> u32 {
        if window.in_slow_start() {
            let power = POWERS[self.rho_eighths as usize % 8];
            (power << (self.rho_eighths / 8).min(16)) - 128
        } else {
            2 * self.rho_eighths * self.rho_eighths / window.cwnd
        }
    }
}

pub(super) fn make(_: &mut Parameters) -> Made {
    Ok(Box::new(Hybla::new()))
}

impl CongestionControl for Hybla {
    fn name(&self) -> &'static str {
        "hybla"
    }

    fn init(&mut self, window: &mut Window) {
        self.measure(window);
        window.cwnd = self.rho_eighths / 8;
        window.cwnd_clamp = CWND_MAX;
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        Reno::plain().ssthresh(window)
    }

    fn cong_avoid(&mut self, window: &mut Window, acked: u32) {
        if window.srtt < self.min_srtt {
            self.measure(window);
        }
        if !window.is_cwnd_limited() {
            return;
        }
        if !self.enabled {
            Reno::plain().cong_avoid(window, acked);
            return;
        }
        let slow_start = window.in_slow_start();
        let increment = self.increment(window);
        if !slow_start && increment < 128 {
            window.cwnd_count += 1;
        }
        let grown = self.fraction + increment % 128;
        window.cwnd += increment / 128 + grown / 128;
        self.fraction = grown % 128;
        if grown >= 128 {
            window.cwnd_count = 0;
        }
        // rho^2 / cwnd is below 1/128: at least Reno's growth.
        if increment == 0 && window.cwnd_count >= window.cwnd {
            window.cwnd += 1;
            window.cwnd_count = 0;
        }
        if slow_start {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
        window.cwnd = window.cwnd.min(window.cwnd_clamp);
    }

    /// Outside `Open` it grows as Reno.
    fn set_state(&mut self, _window: &mut Window, new: CaState) {
        self.enabled = new == CaState::Open;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{round, window};

    fn started(rtt_ms: i64) -> (Hybla, Window, Nanos) {
        let rtt = Nanos::from_millis(rtt_ms);
        let mut w = window(10, rtt);
        let mut hybla = Hybla::new();
        hybla.init(&mut w);
        (hybla, w, rtt)
    }

    #[test]
    fn rho_is_the_rtt_over_25_ms_in_eighths_and_never_below_one() {
        for (rtt_ms, eighths, cwnd) in [
            (5, 8, 1),
            (25, 8, 1),
            (40, 12, 1),
            (100, 32, 4),
            (500, 160, 20),
        ] {
            let (hybla, w, _) = started(rtt_ms);
            assert_eq!((hybla.rho_eighths, w.cwnd), (eighths, cwnd), "{rtt_ms} ms");
        }
    }

    #[test]
    fn in_congestion_avoidance_a_round_adds_rho_squared_segments() {
        // Hence the rate, cwnd / RTT, grows by as much in a second as at 25 ms.
        for (rtt_ms, rho) in [(50, 2), (100, 4), (200, 8), (500, 20)] {
            let (mut hybla, mut w, rtt) = started(rtt_ms);
            w.cwnd = 8 * rho * rho;
            w.ssthresh = 2;
            round(&mut hybla, &mut w, 1, rtt);
            round(&mut hybla, &mut w, 1, rtt);
            // The growth within a round and the rounding to 1/128 take a little.
            let ratio = f64::from(w.cwnd - 8 * rho * rho) / f64::from(2 * rho * rho);
            assert!((0.8..=1.0).contains(&ratio), "{ratio} at {rtt_ms} ms");
        }
    }

    #[test]
    fn a_window_beyond_128_rho_squared_grows_as_renos() {
        let (mut hybla, mut w, rtt) = started(50);
        w.cwnd = 128 * 4 + 1;
        w.ssthresh = 2;
        for _ in 0..10 {
            round(&mut hybla, &mut w, 1, rtt);
        }
        assert!((522..=524).contains(&w.cwnd), "{}", w.cwnd);
    }

    #[test]
    fn slow_start_at_the_reference_rtt_is_renos() {
        let (mut hybla, mut w, rtt) = started(25);
        for doubled in [2, 4, 8, 16, 32] {
            round(&mut hybla, &mut w, 1, rtt);
            assert_eq!(w.cwnd, doubled);
        }
    }

    #[test]
    fn slow_start_adds_two_to_the_rho_less_one_per_ack() {
        let (mut hybla, mut w, _) = started(100);
        hybla.cong_avoid(&mut w, 1);
        assert_eq!(w.cwnd, 4 + 15);
        let (mut hybla, mut w, _) = started(40);
        hybla.cong_avoid(&mut w, 1);
        // 2^1.5 - 1 = 1.83
        assert_eq!((w.cwnd, hybla.fraction), (1 + 1, 2 * 181 - 256));
    }

    #[test]
    fn from_400_ms_the_first_ack_opens_the_window_to_its_clamp() {
        let (mut hybla, mut w, _) = started(411);
        hybla.cong_avoid(&mut w, 1);
        assert_eq!(w.cwnd, 65_535);
    }

    #[test]
    fn after_a_loss_it_is_reno_until_the_state_is_open() {
        let (mut hybla, mut w, rtt) = started(500);
        w.cwnd = 100;
        w.ssthresh = 50;
        hybla.set_state(&mut w, CaState::Disorder);
        round(&mut hybla, &mut w, 1, rtt);
        assert_eq!(w.cwnd, 101);
        hybla.set_state(&mut w, CaState::Open);
        round(&mut hybla, &mut w, 1, rtt);
        assert!(w.cwnd > 250, "{}", w.cwnd);
    }

    #[test]
    fn rho_follows_the_rtt_down_and_not_up() {
        let (mut hybla, mut w, _) = started(200);
        w.ssthresh = 2;
        for (srtt_ms, eighths) in [(400, 64), (150, 48), (200, 48)] {
            w.view.srtt = Nanos::from_millis(srtt_ms);
            hybla.cong_avoid(&mut w, 1);
            assert_eq!(hybla.rho_eighths, eighths, "{srtt_ms} ms");
        }
    }
}
