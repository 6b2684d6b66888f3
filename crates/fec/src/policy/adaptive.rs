//! The repairs of the adaptive policy: along a burst of packets by a ratio, and at its end until the residual is met.
//!
//! What is recovered after the exit's hold is late: later packets have left without it. So repairs are counted for the packets that
//! are sent within this time, at most the window's. A fast flow has hundreds of them. A young or a slow one has few, and needs more
//! repairs per packet, because the number of losses varies more.
//!
//! - **Along a burst** each packet owes the ratio of [`Redundancy`] for the packets within the hold. There are never more repairs within
//!   the hold than these packets need: the ratio falls while a burst begins, and its sum would be more.
//! - **At its end** repairs would come too late with the next packets. The [`DeficitDistribution`] tells the probability that packets are
//!   missing, and repairs are sent until it is at most the residual. A burst has ended when the silence is longer than any between the
//!   packets within the hold.
//! - **The bound**: however the policy decides, there are never more repairs than `max_ratio` of the packets, and one.

use super::deficit::DeficitDistribution;
use super::gilbert::Gilbert;
use super::recent::Recent;
use super::redundancy::Redundancy;
use bentpipe_base::{Nanos, Time};

#[derive(Clone, Debug)]
pub(crate) struct AdaptiveRepairs {
    residual: f64,
    max_ratio: f64,
    redundancy: Redundancy,
    deficit: DeficitDistribution,
    recent: Recent,
    /// Of the last packet.
    ratio: f64,
    owed: f64,
    /// Repairs that the bound allows. One is allowed ahead.
    allowance: f64,
}

impl AdaptiveRepairs {
    /// `recover_within`: the exit's hold.
    pub fn new(
        residual: f64,
        max_ratio: f64,
        channel: Gilbert,
        recover_within: Nanos,
        window_packets: u32,
    ) -> Self {
        Self {
            residual,
            max_ratio,
            redundancy: Redundancy::new(channel, residual),
            deficit: DeficitDistribution::new(channel),
            recent: Recent::new(recover_within, window_packets),
            ratio: 0.0,
            owed: 0.0,
            allowance: 0.0,
        }
    }

    pub fn set_channel(&mut self, channel: Gilbert) {
        self.redundancy = Redundancy::new(channel, self.residual);
        self.deficit.set_channel(channel);
    }

    /// Repairs per packet along the present burst.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// A packet is to be sent. With it, `unacknowledged` may be missing. Returns how many repairs are due.
    pub fn on_source(&mut self, now: Time, unacknowledged: u64) -> u32 {
        self.recent.on_packet(now);
        let packets = u64::from(self.recent.packets()).min(unacknowledged) as u32;
        let needed = self.redundancy.ratio(packets);
        self.ratio = needed.min(self.max_ratio);
        // What a burst did not need is no reserve for later ones.
        let most = self.max_ratio * f64::from(packets);
        self.allowance = (self.allowance + self.max_ratio).min(most);
        self.owed += self.ratio;
        let lacking = needed * f64::from(packets) - f64::from(self.recent.repairs());
        let allowed = self.allowance.min(lacking).ceil().max(0.0);
        let due = self.owed.floor().min(allowed);
        self.owed = self.owed.fract();
        self.send(due as u32);
        due as u32
    }

    fn send(&mut self, repairs: u32) {
        self.allowance -= f64::from(repairs);
        (0..repairs).for_each(|_| self.recent.on_repair());
    }

    pub fn on_source_sent(&mut self) {
        self.deficit.on_packet();
    }

    pub fn on_repair_sent(&mut self) {
        self.deficit.on_repair();
    }

    /// The receiver has all that was sent.
    pub fn on_nothing_missing(&mut self) {
        self.deficit.clear();
    }

    /// Whether the packets that were sent need another repair, if none follows them.
    pub fn may_end_burst(&self) -> bool {
        self.allowance > 0.0 && self.deficit.is_positive() > self.residual
    }

    /// After which silence a burst has ended.
    pub fn silence(&self) -> Nanos {
        self.recent.longest_gap()
    }

    /// No packet was sent for a while. Whether a repair is sent.
    pub fn end_burst(&mut self) -> bool {
        let another = self.may_end_burst();
        if another {
            self.send(1);
            self.owed = 0.0;
        }
        another
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn adaptive(max_ratio: f64, channel: Gilbert) -> AdaptiveRepairs {
        AdaptiveRepairs::new(0.01, max_ratio, channel, Nanos::from_millis(100), 256)
    }

    proptest! {
        #[test]
        fn in_no_stretch_are_there_more_repairs_than_the_bound(
            loss in 0.0..1.0_f64, burst in 1.0..20.0_f64, max_ratio in 0.0..0.99_f64,
            packets in prop::collection::vec((0..60_i64, 1..300_u64, any::<bool>()), 1..300),
        ) {
            let mut adaptive = adaptive(max_ratio, Gilbert::new(loss, burst));
            let mut now = Time::ZERO;
            let mut repairs = 0;
            for (sent, (gap_ms, unacknowledged, pause)) in packets.into_iter().enumerate() {
                now += Nanos::from_millis(gap_ms);
                let due = adaptive.on_source(now, unacknowledged);
                adaptive.on_source_sent();
                (0..due).for_each(|_| adaptive.on_repair_sent());
                repairs += due;
                while pause && adaptive.end_burst() {
                    adaptive.on_repair_sent();
                    repairs += 1;
                }
                prop_assert!(f64::from(repairs) < max_ratio * (sent + 1) as f64 + 1.0 + 1e-9);
            }
        }
    }

    #[test]
    fn a_channel_without_losses_needs_nothing() {
        let mut adaptive = adaptive(0.5, Gilbert::new(0.0, 1.0));
        for millisecond in 0..100 {
            let now = Time::ZERO + Nanos::from_millis(millisecond);
            assert_eq!(adaptive.on_source(now, 256), 0);
            adaptive.on_source_sent();
            assert!(!adaptive.end_burst());
        }
    }
}
