//! A sender with a fixed rate: it sends so many bytes of payload per second, retransmissions included, whatever is lost. The gateways
//! of operators that know their link's rate do so, and Hysteria's "Brutal" (<https://v2.hysteria.network>). Linux has no such
//! control.
//!
//! 1. The rate is that of payload, as Linux counts for pacing (`tcp_update_skb_after_send`).
//! 2. cwnd is twice the rate times the smoothed RTT, as Brutal has it, so that it does not limit the sender. Brutal divides both by the share
//!    of packets that arrive, so it sends more if more is lost; this one does not.
//! 3. If the rate is above that of the path, its queue stays full and everyone in it loses packets.

use super::{AckSample, CongestionControl, Made, Parameters, Window};
use bentpipe_base::time::Nanos;

/// The windows that may be in flight: one, and one that waits for its ACKs.
const WINDOWS: u128 = 2;

#[derive(Debug)]
pub struct FixedRate {
    rate_byte_s: u64,
}

pub(super) fn make(parameters: &mut Parameters) -> Made {
    let rate_bit_s = parameters.required("rate", 1e3..=1e12)?;
    Ok(Box::new(FixedRate {
        rate_byte_s: (rate_bit_s / 8.0) as u64,
    }))
}

impl FixedRate {
    fn set(&self, window: &mut Window) {
        window.set_pacing_rate(self.rate_byte_s);
        if window.srtt > Nanos::ZERO {
            let bytes =
                WINDOWS * u128::from(self.rate_byte_s) * window.srtt.0 as u128 / 1_000_000_000;
            let segments = bytes.div_ceil(window.mss.into());
            let cwnd = segments.max(window.initial_cwnd.into());
            window.cwnd = cwnd.min(window.cwnd_clamp.into()) as u32;
        }
    }
}

impl CongestionControl for FixedRate {
    fn name(&self) -> &'static str {
        "fixed-rate"
    }

    fn init(&mut self, window: &mut Window) {
        self.set(window);
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        window.cwnd
    }

    fn cong_avoid(&mut self, _window: &mut Window, _acked: u32) {}

    fn controls_all(&self) -> bool {
        true
    }

    fn cong_control(&mut self, window: &mut Window, _sample: &AckSample) {
        self.set(window);
    }

    fn paces(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::window;
    use crate::congestion::{Choice, Value};

    fn made(rate_bit_s: f64) -> Box<dyn CongestionControl> {
        let choice = Choice::from("fixed-rate").with("rate", Value::Number(rate_bit_s));
        choice.make().expect("a sound rate")
    }

    #[test]
    fn the_window_is_two_rates_times_the_round_trip_whatever_was_lost() {
        let mut control = made(16e6);
        let mut w = window(10, Nanos::from_millis(550));
        control.init(&mut w);
        let two_bdp = (2.0 * 16e6 / 8.0 * 0.55 / f64::from(w.mss)).ceil() as u32;
        assert_eq!((w.cwnd, w.pacing_rate), (two_bdp, Some(2_000_000)));
        assert_eq!(control.ssthresh(&mut w), two_bdp);
        // As after a timeout.
        w.cwnd = 1;
        control.cong_control(&mut w, &AckSample::default());
        assert_eq!(w.cwnd, two_bdp);
    }

    #[test]
    fn a_slow_rate_keeps_the_initial_window() {
        let mut w = window(10, Nanos::from_millis(10));
        made(1e4).init(&mut w);
        assert_eq!(w.cwnd, w.initial_cwnd);
    }

    #[test]
    fn it_asks_for_its_rate() {
        let error = Choice::from("fixed-rate").make().expect_err("no rate");
        assert!(error.to_string().contains("rate is not given"), "{error}");
    }
}
