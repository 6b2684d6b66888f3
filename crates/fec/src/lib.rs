//! A sliding-window erasure code over GF(2^8) for packets of any length. No I/O, no clock: time is an argument.
//!
//! The crate is not `no_std`: choosing the SIMD kernel at run time needs the standard library.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod field;
