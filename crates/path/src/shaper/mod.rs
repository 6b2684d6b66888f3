//! The shaper: when a packet may begin service, and when it has been sent.
//!
//! The packet in service has left the queue. For the serial shapers service is serialisation; for the token bucket it
//! is the wait for tokens; for a trace it begins with a delivery opportunity.

mod bucket;
mod serial;
mod trace;

pub(crate) use bucket::Bucket;

use crate::config::{RateStep, ShaperConfig};
use crate::error::{ConfigError, positive};
use crate::time::{Nanos, Time};
use bucket::TokenBucket;
use serial::Serial;
use trace::Trace;

/// A byte's worth of work, in units of (bit/s) x ns: so a rate times a span needs no division.
pub(crate) const WORK_PER_BYTE: u64 = 8_000_000_000;

#[derive(Debug)]
pub(crate) enum Shaper {
    Unlimited,
    Serial(Serial),
    TokenBucket(TokenBucket),
    Trace(Trace),
}

impl Shaper {
    pub fn new(config: &ShaperConfig, mtu: u32) -> Result<Self, ConfigError> {
        Ok(match config {
            ShaperConfig::Unlimited => Self::Unlimited,
            ShaperConfig::Fixed { rate_bit_s } => {
                let rate = positive("shaper.rate_bit_s", *rate_bit_s)?;
                Self::Serial(Serial::new(vec![RateStep {
                    at_ns: Time::ZERO,
                    rate_bit_s: Some(rate),
                }])?)
            }
            ShaperConfig::Steps { steps } => Self::Serial(Serial::new(steps.clone())?),
            ShaperConfig::TokenBucket {
                rate_bit_s,
                burst_bytes,
                peak_bit_s,
            } => Self::TokenBucket(TokenBucket::new(
                *rate_bit_s,
                *burst_bytes,
                *peak_bit_s,
                mtu,
            )?),
            ShaperConfig::Trace { opportunities_ns } => Self::Trace(Trace::new(opportunities_ns)?),
        })
    }

    /// Whether an arrival that finds the queue empty and nothing in service begins service at once.
    pub fn idle(&mut self, now: Time) -> bool {
        match self {
            Self::Unlimited | Self::Serial(_) | Self::TokenBucket(_) => true,
            Self::Trace(trace) => {
                trace.let_pass(now);
                false
            }
        }
    }

    /// The earliest instant, from `from` on, at which a waiting packet begins service once nothing is in service.
    pub fn next_start(&self, from: Time) -> Time {
        match self {
            Self::Unlimited | Self::Serial(_) | Self::TokenBucket(_) => from,
            Self::Trace(trace) => trace.next_start(),
        }
    }

    /// Begins the service of a packet and gives the instant at which it has been sent.
    pub fn serve(&mut self, start: Time, bytes: u32) -> Time {
        match self {
            Self::Unlimited => start,
            Self::Serial(serial) => serial.serve(start, bytes),
            Self::TokenBucket(bucket) => bucket.serve(start, bytes),
            Self::Trace(trace) => trace.serve(bytes),
        }
    }

    /// The rate in force, for limits that are given as a time: the long-run rate of a bucket and of a trace. `None`
    /// is unlimited.
    pub fn rate_bit_s(&self, now: Time) -> Option<u64> {
        match self {
            Self::Unlimited => None,
            Self::Serial(serial) => serial.rate_bit_s(now),
            Self::TokenBucket(bucket) => Some(bucket.rate_bit_s()),
            Self::Trace(trace) => Some(trace.mean_rate_bit_s()),
        }
    }

    /// The highest that [`Shaper::rate_bit_s`] ever is, an unlimited step left aside.
    pub fn highest_rate_bit_s(&self) -> Option<u64> {
        match self {
            Self::Serial(serial) => serial.highest_rate_bit_s(),
            other => other.rate_bit_s(Time::ZERO),
        }
    }

    /// Whether [`Shaper::rate_bit_s`] changes over time.
    pub fn rate_varies(&self) -> bool {
        matches!(self, Self::Serial(serial) if serial.varies())
    }
}

/// `work / rate`, whole nanoseconds and what remains of the work.
fn divide(work: u128, rate: u64) -> (Nanos, u64) {
    if let Ok(work) = u64::try_from(work) {
        (Nanos((work / rate) as i64), work % rate)
    } else {
        let rate = u128::from(rate);
        (Nanos((work / rate) as i64), (work % rate) as u64)
    }
}
