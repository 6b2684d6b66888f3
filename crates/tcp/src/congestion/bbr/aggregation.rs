//! How much more is acknowledged at once than the path carries meanwhile (Linux's `bbr_update_ack_aggregation`): so
//! much is added to the window, so that sending goes on while ACKs wait.

use crate::congestion::delivery_rate::Rate;
use crate::congestion::{AckSample, Window};
use bentpipe_base::time::Time;

/// Rounds that each of the two slots of the maximum covers.
const SLOT_ROUNDS: u32 = 5;
/// An epoch with so many acknowledged segments begins anew.
const EPOCH_MAX: u64 = 1 << 20;
/// The addition is at most the path's rate over this time.
const MAX_US: u64 = 100_000;

#[derive(Debug, Default)]
pub struct Aggregation {
    epoch_start: Time,
    epoch_acked: u64,
    slots: [u64; 2],
    slot: usize,
    slot_rounds: u32,
}

impl Aggregation {
    pub fn begin_epoch(&mut self, at: Time) {
        self.epoch_start = at;
        self.epoch_acked = 0;
    }

    /// One ACK with a valid sample; `rate` is the path's estimate.
    pub fn on_ack(&mut self, window: &Window, sample: &AckSample, rate: Rate, round_start: bool) {
        if sample.acked_sacked == 0 {
            return;
        }
        if round_start {
            self.slot_rounds += 1;
            if self.slot_rounds >= SLOT_ROUNDS {
                self.slot_rounds = 0;
                self.slot = 1 - self.slot;
                self.slots[self.slot] = 0;
            }
        }
        let acked = u64::from(sample.acked_sacked);
        let elapsed_us = (window.delivered_at - self.epoch_start).0.max(0) as u64 / 1000;
        let mut expected = rate.segments_in(elapsed_us);
        if self.epoch_acked <= expected || self.epoch_acked + acked >= EPOCH_MAX {
            self.begin_epoch(window.delivered_at);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + acked).min(EPOCH_MAX - 1);
        let extra = self
            .epoch_acked
            .saturating_sub(expected)
            .min(u64::from(window.cwnd));
        self.slots[self.slot] = self.slots[self.slot].max(extra);
    }

    /// Segments to add to the window.
    pub fn allowance(&self, rate: Rate) -> u32 {
        self.slots[0]
            .max(self.slots[1])
            .min(rate.segments_in(MAX_US)) as u32
    }
}
