//! Reads the specification of a run, and what it consists of, from a [`Value`].
//!
//! serde compiles a reader for each pair of a type and a format, and buffers for tagged enums: a quarter of the simulator's
//! module for browsers. Here the functions that read are compiled once. A type has only a list of its fields, which
//! [`read_struct!`], [`read_tagged!`], [`read_variants!`] and [`read_words!`] write. These macros also implement [`serde::Deserialize`] through a
//! [`Value`], so a type has one description for all formats.
//!
//! What differs from serde's derived readers:
//! 1. An error names the place, `down.queue.limit`, instead of a line and a column.
//! 2. A key that is given twice is an error in every type.
//! 3. A sequence is never read as a struct.
#![forbid(unsafe_code)]

mod entries;
mod fault;
mod macros;
mod read;
mod values;
mod words;

pub use entries::Entries;
pub use fault::Fault;
pub use read::{Field, Read, ReadBeside, deserialize, fields, tag, variant, word};
#[doc(hidden)]
pub use serde;
pub use values::Value;
pub use words::in_words;
