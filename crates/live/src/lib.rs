//! The live engine: two hosts as network namespaces, each with a TUN device as its end of the path.

mod clock;
mod control;
pub mod datapath;
pub mod host;
mod names;
mod namespaces;
mod node;
pub mod pcapng;
mod programs;
pub mod protocol;
mod refusal;
mod routing;
mod serve;
mod signals;
mod sysctl;
mod tun;
