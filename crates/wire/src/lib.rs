//! Packets as bytes: IP, TCP, UDP and ICMP headers, checksums, super-packets, the virtio-net header, and the records in
//! which Linux describes TCP sockets (netlink, `sock_diag`, `TCP_INFO`).
//!
//! Parsing borrows and never allocates; writing fills a buffer of the caller's. Any bytes may be given to a parser: what is
//! wrong is a [`WireError`], never a panic. There is no I/O, no clock and no unsafe code.
//!
//! ```
//! use bentpipe_base::Ecn;
//! use bentpipe_wire::{IpHeader, Ipv6Header, TcpHeader, TcpOption, TcpOptionBuffer, protocol, tcp};
//!
//! // A SYN, written ...
//! let mut options = TcpOptionBuffer::default();
//! options.push(TcpOption::MaximumSegmentSize(1440))?;
//! let syn = TcpHeader {
//!     source_port: 40_000,
//!     destination_port: 443,
//!     flags: tcp::flag::SYN,
//!     option_bytes: options.as_bytes(),
//!     ..TcpHeader::default()
//! };
//! let ip = IpHeader::V6(Ipv6Header {
//!     dscp: 0,
//!     ecn: Ecn::NotEct,
//!     flow_label: 0,
//!     payload_bytes: 24,
//!     next_header: protocol::TCP,
//!     hop_limit: 64,
//!     source: "fd77::1".parse().expect("an address"),
//!     destination: "fd77::2".parse().expect("an address"),
//! });
//! let mut packet = [0; 64];
//! let at = ip.write(&mut packet)?;
//! syn.write(&mut packet[at..])?;
//! TcpHeader::finish_checksum(&mut packet[at..], ip.pseudo_header_sum(protocol::TCP, 24))?;
//!
//! // ... and read.
//! let ip = IpHeader::parse(&packet)?;
//! let tcp = TcpHeader::parse(&packet[ip.header_bytes()..])?;
//! assert_eq!(tcp.destination_port, 443);
//! assert_eq!(tcp.options().next(), Some(Ok(TcpOption::MaximumSegmentSize(1440))));
//! # Ok::<(), bentpipe_wire::WireError>(())
//! ```
#![forbid(unsafe_code)]

mod bytes;
pub mod checksum;
mod error;
mod icmp;
mod ip;
mod ipv4;
mod ipv6;
pub mod layout;
pub mod merge;
pub mod netlink;
pub mod sock_diag;
pub mod super_packet;
pub mod tcp;
pub mod tcp_info;
pub mod tcp_option;
mod udp;
pub mod virtio_net;

pub use error::WireError;
pub use icmp::IcmpEcho;
pub use ip::{IpHeader, Version, protocol};
pub use ipv4::Ipv4Header;
pub use ipv6::Ipv6Header;
pub use layout::Layout;
pub use merge::Merger;
pub use super_packet::SuperPacket;
pub use tcp::TcpHeader;
pub use tcp_option::{TcpOption, TcpOptionBuffer, TcpOptions};
pub use udp::UdpHeader;
pub use virtio_net::VirtioNetHeader;
