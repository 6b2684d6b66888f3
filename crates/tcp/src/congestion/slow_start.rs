//! The plain reference of RFC 5681, sections 3.1 and 3.2: slow start by one segment per ACK that advances, then one per
//! window; half the flight on loss. Beside it the others' departures can be seen.
//!
//! 1. Counts segments where the RFC counts bytes.
//! 2. One segment per ACK whatever the ACK covers (no RFC 3465), so a delayed ACK slows the growth, as the RFC has it.

use super::{CongestionControl, Made, Parameters, Window};

#[derive(Debug, Default)]
pub struct SlowStart;

pub(super) fn make(_: &mut Parameters) -> Made {
    Ok(Box::new(SlowStart))
}

impl CongestionControl for SlowStart {
    fn name(&self) -> &'static str {
        "slow-start"
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        // Equation 4: FlightSize, not cwnd.
        (window.packets_out / 2).max(2)
    }

    fn cong_avoid(&mut self, window: &mut Window, acked: u32) {
        if window.in_slow_start() {
            window.slow_start(1);
        } else {
            window.additive_increase(window.cwnd, acked);
        }
    }
}
