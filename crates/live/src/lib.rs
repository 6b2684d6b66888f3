//! The live engine: two hosts as network namespaces, each with a TUN device as its end of the path.

mod clock;
mod closings;
mod control;
pub mod datapath;
pub mod host;
mod names;
mod namespaces;
mod node;
mod programs;
pub mod protocol;
mod refusal;
pub mod report;
mod routing;
mod sampler;
mod serve;
mod signals;
pub mod sock_diag;
mod sockets_csv;
mod sysctl;
pub mod tcp_info;
mod tun;

pub use bentpipe_spool::pcapng;
