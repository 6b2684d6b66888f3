//! The live engine.

pub mod datapath;
pub mod pcapng;
