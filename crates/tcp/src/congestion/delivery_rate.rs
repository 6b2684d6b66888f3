//! A delivery rate and the gains put on it, in Linux's fixed point, so that small rates round as they do there.

use super::Window;

/// Segments per microsecond, with 24 fractional bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A factor with 8 fractional bits.
pub type Gain = u32;

/// A gain of 1.
pub const UNIT: Gain = 256;

const FRACTION: u32 = 24;
/// Largest burst that pacing sizes: `GSO_LEGACY_MAX_SIZE` less the headers.
const MAX_BURST_BYTES: u64 = 65_536 - 1 - 320;
/// Below this pacing rate (bytes per second; 1.2 Mbit/s), segments leave one by one.
const SINGLE_SEGMENTS: u64 = 1_200_000 / 8;

impl Rate {
    /// No bound.
    pub const INFINITE: Self = Self(u64::MAX);

    /// `segments` in `us` microseconds (at least 1).
    pub fn of(segments: u64, us: u64) -> Self {
        Self((segments << FRACTION) / us)
    }

    pub fn segments_in(self, us: u64) -> u64 {
        ((u128::from(self.0) * u128::from(us)) >> FRACTION) as u64
    }

    /// `gain` times what is in flight over `us` microseconds, rounded up.
    pub fn product(self, us: u64, gain: Gain) -> u32 {
        let product = (u128::from(self.0) * u128::from(us) * u128::from(gain)) / u128::from(UNIT);
        product.div_ceil(1 << FRACTION) as u32
    }

    /// `gain` times the rate in bytes per second, less the 1 % that keeps queues small.
    pub fn pacing(self, mss: u32, gain: Gain) -> u64 {
        let bytes = (u128::from(self.0) * u128::from(mss) * u128::from(gain)) / u128::from(UNIT);
        ((bytes * 990_000) >> FRACTION) as u64
    }
}

/// Smallest burst in segments at this pacing rate.
pub fn min_burst(window: &Window) -> u32 {
    if window.pacing_rate.unwrap_or(0) < SINGLE_SEGMENTS {
        1
    } else {
        2
    }
}

/// The burst that a millisecond's pacing makes, in segments.
pub fn burst(window: &Window) -> u32 {
    let bytes = (window.pacing_rate.unwrap_or(0) >> 10).min(MAX_BURST_BYTES);
    ((bytes / u64::from(window.mss)) as u32)
        .max(min_burst(window))
        .min(127)
}
