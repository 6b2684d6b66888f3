//! How much may wait, whatever the discipline.
//!
//! A multiple of the BDP is a number of bytes, as a buffer is. A delay is one at the shaper's rate of the moment: what
//! is already waiting when the rate falls stays until something more arrives; then a discipline that makes room makes
//! all of it.

use crate::config::QueueLimit;
use crate::error::{ConfigError, span};
use crate::shaper::Shaper;
use crate::time::{Nanos, Time};
use crate::totals::Count;

/// What the queue may hold, the arrival included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub bytes: u64,
    pub packets: u64,
}

impl Room {
    pub const UNLIMITED: Self = Self {
        bytes: u64::MAX,
        packets: u64::MAX,
    };

    /// Whether one more packet, of so many bytes, finds a place beside what waits.
    pub fn takes(self, waiting: Count, bytes: u32) -> bool {
        waiting.packets < self.packets && waiting.bytes + u64::from(bytes) <= self.bytes
    }

    /// Whether what waits is more than may.
    pub fn exceeded_by(self, waiting: Count) -> bool {
        waiting.packets > self.packets || waiting.bytes > self.bytes
    }
}

#[derive(Debug)]
pub(crate) enum CheckedLimit {
    Constant(Room),
    /// So many nanoseconds at the rate of the moment.
    AtRate(Nanos),
}

impl CheckedLimit {
    pub fn new(config: &QueueLimit, shaper: &Shaper) -> Result<Self, ConfigError> {
        let bytes = |bytes| Room {
            bytes,
            ..Room::UNLIMITED
        };
        Ok(match *config {
            QueueLimit::Unlimited => Self::Constant(Room::UNLIMITED),
            QueueLimit::Bytes { bytes: most } => Self::Constant(bytes(most)),
            QueueLimit::Packets { packets } => Self::Constant(Room {
                packets,
                ..Room::UNLIMITED
            }),
            QueueLimit::Delay { delay_ns } => {
                let delay = span("queue.limit.delay_ns", delay_ns)?;
                if shaper.rate_varies() {
                    Self::AtRate(delay)
                } else {
                    Self::Constant(bytes(bytes_in(delay, shaper.highest_rate_bit_s())))
                }
            }
            QueueLimit::Bdp {
                multiple,
                base_rtt_ns,
            } => {
                if !(multiple >= 0.0 && multiple.is_finite()) {
                    let field = "queue.limit.multiple";
                    return Err(ConfigError::new(field, multiple, "0 or more"));
                }
                let rtt = span("queue.limit.base_rtt_ns", base_rtt_ns)?;
                let rtts = Nanos((multiple * rtt.0 as f64).round() as i64);
                Self::Constant(bytes(bytes_in(rtts, shaper.highest_rate_bit_s())))
            }
        })
    }

    pub fn room(&self, now: Time, shaper: &Shaper) -> Room {
        match *self {
            Self::Constant(room) => room,
            Self::AtRate(span) => Room {
                bytes: bytes_in(span, shaper.rate_bit_s(now)),
                ..Room::UNLIMITED
            },
        }
    }
}

/// What is sent in a span of time; everything where the rate is unlimited.
fn bytes_in(span: Nanos, rate_bit_s: Option<u64>) -> u64 {
    rate_bit_s.map_or(u64::MAX, |rate| {
        let bytes = u128::from(rate) * span.0 as u128 / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    })
}
