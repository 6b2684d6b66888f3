//! One direction of a long path: ingress, queue, shaper, propagation, channel, and a meter over them.
//!
//! Nothing here does I/O, reads a clock, or allocates per packet once warm. Time is an argument.
//!
//! [`Pipe`] is the whole; each part is a module named as in the lab file. A packet meets them in this order:
//! [`ingress`](config::IngressConfig) (policer, loss), [`queue`](config::QueueConfig),
//! [`shaper`](config::ShaperConfig), [`propagation`](config::PropagationConfig),
//! [`channel`](config::ChannelConfig) (outages, loss, duplication, corruption).

#![forbid(unsafe_code)]

mod channel;
pub mod config;
mod error;
mod ingress;
mod loss;
mod meter;
pub mod packet;
mod pipe;
mod propagation;
mod queue;
mod random;
mod shaper;
pub mod time;
mod totals;

pub use config::PipeConfig;
pub use error::ConfigError;
pub use meter::{Bin, Goodput, Meter};
pub use packet::{Ecn, FlowKey, Packet, Segment};
pub use pipe::Pipe;
pub use random::stream;
pub use time::{Nanos, Time};
pub use totals::{Count, DropCause, Totals};
