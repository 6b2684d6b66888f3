//! One direction of a long path: ingress, queue, shaper, propagation, channel, and a meter over them.
//!
//! Nothing here does I/O, reads a clock, or allocates per packet once warm. Time is an argument.
//!
//! [`Pipe`] is the whole; each part is a module named as in the lab file. A packet meets them in this order:
//! [`ingress`](config::IngressConfig) (policer, loss), [`queue`](config::QueueConfig),
//! [`shaper`](config::ShaperConfig), [`propagation`](config::PropagationConfig),
//! [`channel`](config::ChannelConfig) (outages, loss, duplication, corruption).
//!
//! ```
//! use bentpipe_path::config::{PipeConfig, ShaperConfig};
//! use bentpipe_path::{Nanos, Packet, Pipe, Time};
//!
//! #[derive(Clone)]
//! struct FullSized;
//!
//! impl Packet for FullSized {
//!     fn wire_bytes(&self) -> u32 {
//!         1500
//!     }
//! }
//!
//! let mut config = PipeConfig::default();
//! config.shaper = ShaperConfig::Fixed { rate_bit_s: 12_000_000 };
//! config.propagation.delay_ns = Nanos::from_millis(275);
//! let mut pipe = Pipe::new(&config, 1500, 1, "down", Nanos::from_millis(100))?;
//! pipe.push(Time::ZERO, FullSized);
//! assert_eq!(pipe.next_time(), Some(Time(276_000_000)));
//! let (left, _) = pipe.pop(Time(300_000_000)).expect("it has left by then");
//! assert_eq!(left, Time(276_000_000));
//! # Ok::<(), bentpipe_path::ConfigError>(())
//! ```

#![forbid(unsafe_code)]

mod chance;
mod channel;
pub mod config;
mod error;
mod handover;
mod ingress;
mod loss;
mod meter;
pub mod packet;
mod pipe;
mod propagation;
mod queue;
mod shaper;
mod terrestrial;
mod totals;

pub use bentpipe_base::{stream, time};
pub use config::PipeConfig;
pub use error::ConfigError;
pub use meter::{Bin, Goodput, Meter};
pub use packet::{Ecn, FlowKey, Packet, SequenceRange};
pub use pipe::Pipe;
pub use terrestrial::Terrestrial;
pub use time::{Nanos, Time};
pub use totals::{Count, DropCause, Totals};
