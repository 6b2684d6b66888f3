//! Whether a token bucket polices the flow (Linux's long-term bandwidth sampling, `bbr_lt_bw_sampling`): two
//! intervals in a row that lose a fifth and carry the same. Then that rate is taken for 48 rounds.

use crate::congestion::delivery_rate::{Rate, UNIT};
use crate::congestion::{AckSample, Window};
use bentpipe_base::time::Time;

const INTERVAL_ROUNDS: u32 = 4;
/// Lost to delivered, in 1/256, from which an interval is lossy.
const LOSSY: u64 = 50;
/// Rates are the same within this fraction, in 1/256, or this many bytes per second.
const SAME_FRACTION: u64 = 32;
const SAME_BYTES_S: u64 = 4000 / 8;
const USE_ROUNDS: u32 = 48;

/// What the sender is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Nothing,
    /// The policed rate has just been found.
    Policed,
    /// The policed rate has been used long enough: probe again.
    Expired,
}

#[derive(Debug, Default)]
pub struct Policer {
    sampling: bool,
    in_use: bool,
    rate: Rate,
    rounds: u32,
    start: Time,
    start_delivered: u64,
    start_lost: u64,
}

impl Policer {
    /// The policed rate, while it is to be used.
    pub fn rate(&self) -> Option<Rate> {
        self.in_use.then_some(self.rate)
    }

    pub fn reset(&mut self, window: &Window) {
        *self = Self::default();
        self.begin_interval(window);
    }

    fn begin_interval(&mut self, window: &Window) {
        self.start = window.delivered_at;
        self.start_delivered = window.delivered;
        self.start_lost = window.lost;
        self.rounds = 0;
    }

    pub fn on_ack(
        &mut self,
        window: &Window,
        sample: &AckSample,
        round_start: bool,
        probing: bool,
    ) -> Verdict {
        if self.in_use {
            self.rounds += u32::from(probing && round_start);
            if self.rounds < USE_ROUNDS {
                return Verdict::Nothing;
            }
            self.reset(window);
            return Verdict::Expired;
        }
        if !self.sampling {
            // The tokens are used up at the first loss; what came before overstates the rate.
            if sample.losses == 0 {
                return Verdict::Nothing;
            }
            self.begin_interval(window);
            self.sampling = true;
        }
        if sample.is_app_limited {
            self.reset(window);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < INTERVAL_ROUNDS {
            return Verdict::Nothing;
        }
        if self.rounds > 4 * INTERVAL_ROUNDS {
            self.reset(window);
            return Verdict::Nothing;
        }
        // An interval ends as it began, with a loss.
        if sample.losses == 0 {
            return Verdict::Nothing;
        }
        let lost = window.lost - self.start_lost;
        let delivered = window.delivered - self.start_delivered;
        let elapsed_ms = (window.delivered_at - self.start).0 / 1_000_000;
        if delivered == 0 || (lost << 8) < LOSSY * delivered || elapsed_ms < 1 {
            return Verdict::Nothing;
        }
        self.end_interval(window, Rate::of(delivered, elapsed_ms as u64 * 1000))
    }

    fn end_interval(&mut self, window: &Window, rate: Rate) -> Verdict {
        let before = self.rate;
        let difference = Rate(rate.0.abs_diff(before.0));
        if before.0 > 0
            && (difference.0 * u64::from(UNIT) <= SAME_FRACTION * before.0
                || difference.pacing(window.mss, UNIT) <= SAME_BYTES_S)
        {
            self.rate = Rate(rate.0.midpoint(before.0));
            self.in_use = true;
            self.rounds = 0;
            return Verdict::Policed;
        }
        self.rate = rate;
        self.begin_interval(window);
        Verdict::Nothing
    }
}
