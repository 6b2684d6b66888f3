//! The channel, met where a packet would leave the pipe: outages, loss, duplication, corruption.
//!
//! It stands after propagation, so what it loses has used capacity and its place on the line, and an outage takes what
//! would arrive while it lasts. In this order: an outage loses everything; then random loss; a survivor may be
//! doubled, the copy leaving at the same instant right behind; each of the two may then be corrupted on its own.
//! What falls to an outage draws nothing.

use crate::chance::Chance;
use crate::config::{ChannelConfig, HandoverConfig, Outage};
use crate::error::{ConfigError, instant, probability, span};
use crate::handover::Gaps;
use crate::loss::Loss;
use crate::time::Time;
use crate::totals::DropCause;
use bentpipe_base::sorting::sort_by;
use bentpipe_base::stream;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug)]
pub(crate) struct Channel {
    outages: Outages,
    gaps: Option<Gaps>,
    loss: Loss,
    duplicate: Chance,
    duplicate_rng: Xoshiro256PlusPlus,
    corrupt: Chance,
    corrupt_rng: Xoshiro256PlusPlus,
}

impl Channel {
    /// `handover` is the propagation's: what it interrupts is lost here.
    pub fn new(
        config: &ChannelConfig,
        handover: Option<&HandoverConfig>,
        seed: u64,
        place: &str,
    ) -> Result<Self, ConfigError> {
        let place = |part: &str| format!("{place}/channel/{part}");
        Ok(Self {
            outages: Outages::new(&config.outages)?,
            gaps: handover.map(Gaps::new).transpose()?,
            loss: Loss::new(&config.loss, "channel.loss", seed, &place("loss"))?,
            duplicate: Chance::new(probability("channel.duplicate", config.duplicate)?),
            duplicate_rng: stream(seed, &place("duplicate")),
            corrupt: Chance::new(probability("channel.corrupt", config.corrupt)?),
            corrupt_rng: stream(seed, &place("corrupt")),
        })
    }

    /// Why a packet that would leave now does not.
    pub fn refuses(&mut self, now: Time) -> Option<DropCause> {
        if self.outages.cover(now) || self.gaps.is_some_and(|gaps| gaps.cover(now)) {
            Some(DropCause::Outage)
        } else if self.loss.strikes() {
            Some(DropCause::Channel)
        } else {
            None
        }
    }

    pub fn duplicates(&mut self) -> bool {
        self.duplicate.draw(&mut self.duplicate_rng)
    }

    /// Which bit to flip, if one is to be.
    pub fn corrupts(&mut self) -> Option<u64> {
        self.corrupt
            .draw(&mut self.corrupt_rng)
            .then(|| self.corrupt_rng.next_u64())
    }
}

/// In order of time and merged; asked only with times that do not go back.
#[derive(Debug)]
struct Outages {
    spans: Vec<(Time, Time)>,
    next: usize,
}

impl Outages {
    fn new(outages: &[Outage]) -> Result<Self, ConfigError> {
        let mut spans = Vec::with_capacity(outages.len());
        for (at, outage) in outages.iter().enumerate() {
            let field = format!("channel.outages[{at}]");
            let start = instant(format!("{field}.start_ns"), outage.start_ns)?;
            let length = span(format!("{field}.length_ns"), outage.length_ns)?;
            spans.push((start, start + length));
        }
        sort_by(&mut spans, |a, b| a < b);
        spans.dedup_by(|later, earlier| {
            let merges = later.0 <= earlier.1;
            if merges {
                earlier.1 = earlier.1.max(later.1);
            }
            merges
        });
        Ok(Self { spans, next: 0 })
    }

    fn cover(&mut self, now: Time) -> bool {
        while let Some(&(start, end)) = self.spans.get(self.next) {
            if now < end {
                return now >= start;
            }
            self.next += 1;
        }
        false
    }
}
