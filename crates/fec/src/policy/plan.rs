//! The repairs that a policy sends: by a ratio, or adaptive.

use super::adaptive::AdaptiveRepairs;
use super::debt::RepairDebt;
use super::gilbert::Gilbert;
use super::{LossEstimate, Policy};
use bentpipe_base::{Nanos, Time};

#[derive(Clone, Debug)]
pub(crate) enum RepairPlan {
    Ratio { ratio: f64, debt: RepairDebt },
    Adaptive(Box<AdaptiveRepairs>),
}

impl RepairPlan {
    /// `recover_within`: the exit's hold.
    pub fn new(
        policy: &Policy,
        recover_within: Nanos,
        window_packets: u32,
        estimate: &LossEstimate,
    ) -> Self {
        let by_ratio = |ratio| Self::Ratio {
            ratio,
            debt: RepairDebt::default(),
        };
        match *policy {
            Policy::Off => by_ratio(0.0),
            Policy::Fixed { ratio } => by_ratio(ratio),
            Policy::Adaptive {
                residual,
                max_ratio,
                ..
            } => Self::Adaptive(Box::new(AdaptiveRepairs::new(
                residual,
                max_ratio,
                estimate.channel(),
                recover_within,
                window_packets,
            ))),
        }
    }

    /// Repairs per packet.
    pub fn ratio(&self) -> f64 {
        match self {
            Self::Ratio { ratio, .. } => *ratio,
            Self::Adaptive(adaptive) => adaptive.ratio(),
        }
    }

    /// A packet is to be sent. With it, `unacknowledged` may be missing. Returns how many repairs are due.
    pub fn on_source(&mut self, now: Time, unacknowledged: u64) -> u32 {
        match self {
            Self::Ratio { ratio, debt } => debt.on_source(*ratio),
            Self::Adaptive(adaptive) => adaptive.on_source(now, unacknowledged),
        }
    }

    pub fn on_source_sent(&mut self) {
        if let Self::Adaptive(adaptive) = self {
            adaptive.on_source_sent();
        }
    }

    pub fn on_repair_sent(&mut self) {
        if let Self::Adaptive(adaptive) = self {
            adaptive.on_repair_sent();
        }
    }

    pub fn on_report(&mut self, channel: Gilbert, is_nothing_missing: bool) {
        if let Self::Adaptive(adaptive) = self {
            adaptive.set_channel(channel);
            if is_nothing_missing {
                adaptive.on_nothing_missing();
            }
        }
    }

    /// After which silence a burst has ended and a repair is sent, if one is. `least`: as it is set.
    pub fn end_of_burst(&self, least: Nanos) -> Option<Nanos> {
        match self {
            Self::Ratio { debt, .. } => debt.may_end_burst().then_some(least),
            Self::Adaptive(adaptive) => {
                let may_end = adaptive.may_end_burst();
                may_end.then(|| least.max(adaptive.silence()))
            }
        }
    }

    /// A burst has ended. Whether a repair is sent.
    pub fn end_burst(&mut self) -> bool {
        match self {
            Self::Ratio { debt, .. } => debt.end_burst(),
            Self::Adaptive(adaptive) => adaptive.end_burst(),
        }
    }
}
