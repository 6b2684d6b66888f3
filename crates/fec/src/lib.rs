//! A sliding-window erasure code over GF(2^8) for packets of any length. No I/O, no clock: time is an argument.
//!
//! The code is systematic: packets cross as they are, and repair symbols, random linear combinations of the newest packets, cross
//! beside them. Coefficients are those of RFC 8681; the window is as wide as 65,535 packets, where the RFC's has at most 4095.
//!
//! [`Encoder`] and [`Decoder`] are the code. [`TunnelSender`] and [`TunnelReceiver`] make a tunnel of it: headers, repair policies,
//! reports, exact repairs, release in order.
//!
//! The crate is not `no_std`: choosing the SIMD kernel at run time needs the standard library.
#![deny(unsafe_code)] // The SIMD files allow it, each function with its reason.

mod coefficients;
mod decoder;
mod encoder;
pub mod field;
mod frame;
mod policy;
mod ring;
mod symbol_ring;
mod tiny_mt;
mod tunnel;

pub use coefficients::{Coefficients, Density};
pub use decoder::{Decoder, DecoderConfig, RepairOutcome, SourceOutcome};
pub use encoder::{Encoder, PACKET_MAX_BYTES, RepairId, WINDOW_MAX_SYMBOLS};
pub use frame::{
    FrameError, REPAIR_HEADER_BYTES, REPORT_BYTES, REPORT_MAX_RANGES, REPORT_RANGE_BYTES,
    SOURCE_HEADER_BYTES,
};
pub use policy::{
    LossEstimate, Policy, QueueingDetector, Titration, TitrationConfig, redundancy_for,
};
pub use tunnel::{
    Arrival, ExactConfig, FrameKind, Heard, PushError, ReceiverConfig, ReceiverCounters,
    ReleaseOrder, Released, SenderConfig, SenderConfigError, SenderCounters, Sent, TunnelReceiver,
    TunnelSender, carried_number,
};
