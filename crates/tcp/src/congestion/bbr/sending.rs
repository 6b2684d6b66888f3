//! What BBR makes of its model: the pacing rate and the window, in loss recovery too (Linux's
//! `bbr_set_pacing_rate` and `bbr_set_cwnd`).

use super::{Bbr, HIGH_GAIN, INITIAL_CWND, MIN_CWND, Mode};
use crate::congestion::delivery_rate::{Gain, Rate};
use crate::congestion::{AckSample, CaState, Window};
use bentpipe_base::time::Nanos;

impl Bbr {
    pub(super) fn init_pacing_rate(&mut self, window: &mut Window) {
        let rtt_us = if window.srtt > Nanos::ZERO {
            self.has_seen_rtt = true;
            (window.srtt.0 as u64 / 1000).max(1)
        } else {
            1000
        };
        let rate = Rate::of(u64::from(window.cwnd), rtt_us);
        window.set_pacing_rate(rate.pacing(window.mss, HIGH_GAIN));
    }

    pub(super) fn set_pacing_rate(&mut self, window: &mut Window, gain: Gain) {
        let rate = self.rate().pacing(window.mss, gain);
        if !self.has_seen_rtt && window.srtt > Nanos::ZERO {
            self.init_pacing_rate(window);
        }
        if self.full || window.pacing_rate.is_none_or(|present| rate > present) {
            window.set_pacing_rate(rate);
        }
    }

    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let good = self.previous_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good {
            window.cwnd
        } else {
            self.prior_cwnd.max(window.cwnd)
        };
    }

    /// The window after loss: what is delivered is sent again, in the first round no more than that; the window of before
    /// when recovery ends. `Err`: packet conservation decides alone.
    pub(super) fn recover_or_restore(
        &mut self,
        window: &Window,
        sample: &AckSample,
    ) -> Result<u32, u32> {
        let conserved = window.in_flight() + sample.acked_sacked;
        let before = self.previous_state;
        let mut cwnd = window.cwnd;
        if sample.losses > 0 {
            cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        if window.state == CaState::Recovery && before != CaState::Recovery {
            self.packet_conservation = true;
            self.round_end = window.delivered;
            cwnd = conserved;
        } else if before >= CaState::Recovery && window.state < CaState::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.previous_state = window.state;
        if self.packet_conservation {
            Err(cwnd.max(conserved))
        } else {
            Ok(cwnd)
        }
    }

    pub(super) fn set_cwnd(&mut self, window: &mut Window, sample: &AckSample) {
        let acked = sample.acked_sacked;
        let mut cwnd = window.cwnd;
        if acked > 0 {
            cwnd = match self.recover_or_restore(window, sample) {
                Err(conserved) => conserved,
                Ok(cwnd) => {
                    let rate = self.rate();
                    let extra = if self.full {
                        self.aggregation.allowance(rate)
                    } else {
                        0
                    };
                    let target = self.with_batches(window, self.bdp(rate, self.cwnd_gain) + extra);
                    let cwnd = if self.full {
                        (cwnd + acked).min(target)
                    } else if cwnd < target || window.delivered < u64::from(INITIAL_CWND) {
                        cwnd + acked
                    } else {
                        cwnd
                    };
                    cwnd.max(MIN_CWND)
                }
            };
        }
        window.cwnd = cwnd.min(window.cwnd_clamp);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_CWND);
        }
    }
}
