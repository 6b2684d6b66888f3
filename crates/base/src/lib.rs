//! What the path, the TCP endpoint and both engines share and none of them owns: integer time, an event queue, seeded randomness,
//! the normal distribution's quantile, the ECN codepoint of a packet, its direction, the topology of a network, and words for messages. No I/O, no clock.
#![forbid(unsafe_code)]

mod direction;
mod ecn;
mod event_queue;
pub mod normal;
pub mod ordered;
pub mod random;
pub mod sorting;
pub mod time;
pub mod topology;
pub mod words;

pub use direction::{Direction, NoDirection};
pub use ecn::Ecn;
pub use event_queue::EventQueue;
pub use ordered::{OrderedMap, OrderedSet};
pub use random::{SplitMix64, stream};
pub use time::{Nanos, Time};
