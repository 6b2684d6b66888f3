//! How much may wait, whatever the discipline.
//!
//! A delay or a multiple of the BDP is a number of bytes at the shaper's rate of the moment. What is already waiting
//! when the rate falls stays; it only leaves no room for more.

use crate::config::QueueLimit;
use crate::error::ConfigError;
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
pub(crate) enum Limit {
    Constant(Room),
    /// So many nanoseconds at the rate of the moment.
    AtRate(Nanos),
}

impl Limit {
    pub fn new(config: &QueueLimit, shaper: &Shaper) -> Result<Self, ConfigError> {
        let span = match *config {
            QueueLimit::Unlimited => return Ok(Self::Constant(Room::UNLIMITED)),
            QueueLimit::Bytes { bytes } => {
                return Ok(Self::Constant(Room {
                    bytes,
                    packets: u64::MAX,
                }));
            }
            QueueLimit::Packets { packets } => {
                return Ok(Self::Constant(Room {
                    bytes: u64::MAX,
                    packets,
                }));
            }
            QueueLimit::Delay { delay_ns } if delay_ns < Nanos::ZERO => {
                return Err(ConfigError::new(
                    "queue.limit.delay_ns",
                    delay_ns.0,
                    "0 or more",
                ));
            }
            QueueLimit::Delay { delay_ns } => delay_ns,
            QueueLimit::Bdp { multiple, .. } if !(multiple >= 0.0 && multiple.is_finite()) => {
                return Err(ConfigError::new(
                    "queue.limit.multiple",
                    multiple,
                    "0 or more",
                ));
            }
            QueueLimit::Bdp { base_rtt_ns, .. } if base_rtt_ns < Nanos::ZERO => {
                return Err(ConfigError::new(
                    "queue.limit.base_rtt_ns",
                    base_rtt_ns.0,
                    "0 or more",
                ));
            }
            QueueLimit::Bdp {
                multiple,
                base_rtt_ns,
            } => Nanos((multiple * base_rtt_ns.0 as f64).round() as i64),
        };
        Ok(if shaper.rate_varies() {
            Self::AtRate(span)
        } else {
            Self::Constant(room_at(span, shaper.rate_bit_s(Time::ZERO)))
        })
    }

    pub fn room(&self, now: Time, shaper: &Shaper) -> Room {
        match *self {
            Self::Constant(room) => room,
            Self::AtRate(span) => room_at(span, shaper.rate_bit_s(now)),
        }
    }
}

fn room_at(span: Nanos, rate_bit_s: Option<u64>) -> Room {
    let bytes = rate_bit_s.map_or(u64::MAX, |rate| {
        let bytes = u128::from(rate) * span.0 as u128 / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    });
    Room {
        bytes,
        packets: u64::MAX,
    }
}
