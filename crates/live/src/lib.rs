//! The live engine: hosts as network namespaces, joined by paths between their TUN devices.

mod awake;
mod channels;
mod clock;
mod closings;
mod control;
pub mod datapath;
pub mod family;
pub mod gateway;
pub mod host;
mod host_namespace;
mod host_setup;
mod links;
mod names;
mod namespaces;
pub mod own_sockets;
pub mod per_host;
mod programs;
pub mod protocol;
mod refusal;
mod refused_calls;
pub mod report;
mod routing;
mod sampler;
mod sandbox;
mod serve;
mod servers;
mod signals;
mod sock_diag;
mod sockets_csv;
pub mod split;
mod sysctl;
mod topology;
mod transport;
mod tun;
mod watch;

pub use bentpipe_tables::pcapng;
