//! Where the headers of an IP packet begin and end: IPv4 (RFC 791), IPv6 and its extension headers (RFC 8200),
//! TCP (RFC 9293), UDP (RFC 768).
//!
//! This is what a datapath needs of a packet that it passes on. It is lenient: of what it does not understand it says
//! [`Transport::Other`]. The headers' fields are read by [`crate::Ipv4Header`], [`crate::TcpHeader`] and the others.

use crate::bytes::{be16, be32};
use crate::{Version, WireError, protocol};
use bentpipe_base::{Ecn, SplitMix64};

/// Beyond this a chain of IPv6 extension headers is passed on unread.
const MAX_EXTENSION_BYTES: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
    /// ICMP, fragments, and whatever else: passed on as it is.
    Other,
}

/// The lengths that were found at the head of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub version: Version,
    pub transport: Transport,
    /// The IP header with its options or extension headers; the transport header begins here.
    pub network_bytes: usize,
    /// All headers; the payload begins here.
    pub header_bytes: usize,
    /// As the IP header gives it, its own header included. 0 where it says nothing (a jumbogram).
    pub total_bytes: usize,
    /// The protocol that follows the last header read.
    pub protocol: u8,
}

impl Layout {
    /// An error where `packet` is not an IP packet or its IP header is cut short.
    pub fn parse(packet: &[u8]) -> Result<Self, WireError> {
        let network = match Version::of(packet)? {
            Version::V4 => Self::parse_v4(packet)?,
            Version::V6 => Self::parse_v6(packet)?,
        };
        Ok(network.with_transport(packet))
    }

    fn parse_v4(packet: &[u8]) -> Result<Self, WireError> {
        let network_bytes = usize::from(packet[0] & 0x0f) * 4;
        if network_bytes < 20 {
            return Err(WireError::Invalid {
                what: "IPv4 header length in bytes",
                found: network_bytes,
                expected: "at least 20",
            });
        }
        WireError::unless_long_enough("IPv4 header", packet.len(), network_bytes)?;
        let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        let fragment = word(6) & 0x3fff != 0;
        let protocol = packet[9];
        Ok(Self {
            version: Version::V4,
            transport: Transport::of(protocol, fragment),
            network_bytes,
            header_bytes: network_bytes,
            total_bytes: usize::from(word(2)),
            protocol,
        })
    }

    fn parse_v6(packet: &[u8]) -> Result<Self, WireError> {
        WireError::unless_long_enough("IPv6 header", packet.len(), 40)?;
        let payload_bytes = usize::from(be16(packet, 4).unwrap_or(0));
        let mut protocol = packet[6];
        let mut at = 40;
        let mut fragment = false;
        while at < 40 + MAX_EXTENSION_BYTES {
            let length = match protocol {
                // Hop-by-hop options, routing, destination options.
                0 | 43 | 60 => packet
                    .get(at + 1)
                    .map(|eights| (usize::from(*eights) + 1) * 8),
                44 => {
                    fragment = true;
                    Some(8)
                }
                _ => break,
            };
            let Some(length) = length.filter(|length| at + length <= packet.len()) else {
                break;
            };
            protocol = packet[at];
            at += length;
            if fragment {
                break;
            }
        }
        Ok(Self {
            version: Version::V6,
            transport: Transport::of(protocol, fragment),
            network_bytes: at,
            header_bytes: at,
            total_bytes: if payload_bytes == 0 {
                0
            } else {
                40 + payload_bytes
            },
            protocol,
        })
    }

    /// Finds the end of the transport header; where it is cut short the packet is passed on as it is.
    fn with_transport(mut self, packet: &[u8]) -> Self {
        let rest = &packet[self.network_bytes..];
        let length = match self.transport {
            Transport::Tcp => rest.get(12).map(|offset| usize::from(offset >> 4) * 4),
            Transport::Udp => Some(8),
            Transport::Other => Some(0),
        };
        let least = if self.transport == Transport::Tcp {
            20
        } else {
            0
        };
        match length {
            Some(length) if length >= least && length <= rest.len() => {
                self.header_bytes = self.network_bytes + length;
            }
            _ => self.transport = Transport::Other,
        }
        self
    }

    /// `packet` is the one that this was found in.
    pub fn ecn(&self, packet: &[u8]) -> Ecn {
        let bits = match self.version {
            Version::V4 => packet[1],
            Version::V6 => packet[1] >> 4,
        };
        Ecn::from_bits(bits)
    }

    /// A hash of addresses, protocol and ports (of addresses and protocol for what has no ports to be seen). `packet` is the
    /// one that this was found in.
    pub fn flow_hash(&self, packet: &[u8]) -> u64 {
        let (source, destination, length) = match self.version {
            Version::V4 => (12, 16, 4),
            Version::V6 => (8, 24, 16),
        };
        let ports = match self.transport {
            Transport::Other => 0,
            _ => be32(packet, self.network_bytes).unwrap_or(0),
        };
        let mut key = mix(u64::from(ports) << 8 | u64::from(self.protocol));
        for address in [source, destination] {
            for word in packet[address..address + length].chunks_exact(4) {
                key =
                    mix(key ^ u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]])));
            }
        }
        key
    }
}

impl Transport {
    fn of(protocol: u8, fragment: bool) -> Self {
        match protocol {
            protocol::TCP if !fragment => Self::Tcp,
            protocol::UDP if !fragment => Self::Udp,
            _ => Self::Other,
        }
    }
}

/// Each input bit reaches each output bit.
fn mix(value: u64) -> u64 {
    SplitMix64(value).draw()
}
