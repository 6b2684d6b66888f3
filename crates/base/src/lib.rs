//! What the path, the TCP endpoint and the simulator share and none of them owns: integer time, seeded randomness, and the
//! ECN codepoint of a packet. No I/O, no clock.
#![forbid(unsafe_code)]

mod ecn;
pub mod random;
pub mod time;

pub use ecn::Ecn;
pub use random::{SplitMix64, stream};
pub use time::{Nanos, Time};
