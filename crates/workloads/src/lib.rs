//! What the workloads draw, by the run's seed: how large each flow is, which server sends it, how far each server lies
//! beyond the far end, which object is asked for, when each
//! message is written. No I/O, no clock, no knowledge of any engine: whoever drives real
//! sockets and whoever simulates them draws the same from the same seed.
//!
//! Every channel and every server has a generator of its own, derived from (seed, workload's name, its number): one
//! channel's speed changes nothing in another's draws. Logarithms and powers are those of the crate libm, at a pinned
//! version, because those of the platforms differ in the last bit.
#![forbid(unsafe_code)]

mod channels;
mod distribution;
mod message_times;
mod popularity;

pub use channels::{ChannelPlan, PlannedFlow, ServersSpec, server_delays};
pub use distribution::{Distribution, DistributionError};
pub use message_times::{Gaps, MessageTimes, UnknownGaps};
pub use popularity::Popularity;
