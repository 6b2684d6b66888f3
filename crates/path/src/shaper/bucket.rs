//! Token buckets: the exact bucket itself, and the shaper with a burst and a peak rate made of two.
//!
//! The shaper is Linux's `tbf` (`net/sched/sch_tbf.c`): a packet goes when both the bucket of the rate, which holds
//! `burst_bytes`, and that of the peak rate, which holds one MTU, have tokens for all of it. Departures:
//! 1. Tokens are counted exactly, in units of (bit/s) x ns, not in ticks of 64 ns.
//! 2. The packet that waits for its tokens is in service, hence not in the queue (`tbf` peeks at it).
//! 3. A packet longer than the bucket goes when the bucket is full and leaves it in debt; `tbf` drops it.

use super::{WORK_PER_BYTE, divide};
use crate::error::{ConfigError, positive};
use crate::time::{Nanos, Time};

#[derive(Debug)]
pub(crate) struct Bucket {
    rate_bit_s: u64,
    /// In work: bytes times [`WORK_PER_BYTE`].
    depth: i128,
    /// At the instant `at`; below zero is debt.
    tokens: i128,
    at: Time,
}

impl Bucket {
    pub fn full(rate_bit_s: u64, burst_bytes: u64) -> Self {
        let depth = i128::from(burst_bytes) * i128::from(WORK_PER_BYTE);
        Self {
            rate_bit_s,
            depth,
            tokens: depth,
            at: Time(i64::MIN / 2),
        }
    }

    fn fill(&mut self, now: Time) {
        if now > self.at {
            let gained = i128::from((now - self.at).0) * i128::from(self.rate_bit_s);
            self.tokens = self.depth.min(self.tokens + gained);
            self.at = now;
        }
    }

    /// The earliest instant, from `now` on, at which there are tokens for a packet.
    pub fn ready(&mut self, now: Time, bytes: u32) -> Time {
        self.fill(now);
        let wanted = self.depth.min(work(bytes));
        let missing = wanted - self.tokens;
        if missing <= 0 {
            return now;
        }
        let (span, remainder) = divide(missing as u128, self.rate_bit_s);
        now + span + Nanos(i64::from(remainder > 0))
    }

    pub fn take(&mut self, at: Time, bytes: u32) {
        self.fill(at);
        self.tokens -= work(bytes);
    }

    /// Takes tokens for a packet if there are enough for all of it.
    pub fn take_if_ready(&mut self, now: Time, bytes: u32) -> bool {
        self.fill(now);
        let conforms = self.tokens >= work(bytes);
        if conforms {
            self.tokens -= work(bytes);
        }
        conforms
    }
}

fn work(bytes: u32) -> i128 {
    i128::from(bytes) * i128::from(WORK_PER_BYTE)
}

#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: Bucket,
    peak: Option<Bucket>,
}

impl TokenBucket {
    pub fn new(
        rate_bit_s: u64,
        burst_bytes: u64,
        peak_bit_s: Option<u64>,
        mtu: u32,
    ) -> Result<Self, ConfigError> {
        positive("shaper.rate_bit_s", rate_bit_s)?;
        if burst_bytes < u64::from(mtu) {
            return Err(ConfigError::new(
                "shaper.burst_bytes",
                burst_bytes,
                "at least the MTU, or a full-sized packet never finds its tokens",
            ));
        }
        if let Some(peak) = peak_bit_s.filter(|&peak| peak < rate_bit_s) {
            return Err(ConfigError::new(
                "shaper.peak_bit_s",
                peak,
                "a peak at or above the rate",
            ));
        }
        Ok(Self {
            rate: Bucket::full(rate_bit_s, burst_bytes),
            peak: peak_bit_s.map(|peak| Bucket::full(peak, u64::from(mtu))),
        })
    }

    pub fn serve(&mut self, start: Time, bytes: u32) -> Time {
        let mut sent = self.rate.ready(start, bytes);
        if let Some(peak) = &mut self.peak {
            sent = sent.max(peak.ready(start, bytes));
            peak.take(sent, bytes);
        }
        self.rate.take(sent, bytes);
        sent
    }

    pub fn rate_bit_s(&self) -> u64 {
        self.rate.rate_bit_s
    }
}
