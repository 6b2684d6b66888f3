//! Where the headers of an IP packet begin and end: IPv4 (RFC 791), IPv6 and its extension headers (RFC 8200),
//! TCP (RFC 9293), UDP (RFC 768). Views over bytes; nothing is copied, and no input panics.

use bentpipe_base::SplitMix64;
use bentpipe_path::packet::{Ecn, FlowKey};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Beyond this a chain of IPv6 extension headers is passed on unread.
const MAX_EXTENSION_BYTES: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V4,
    V6,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
    /// ICMP, fragments, and whatever else: passed on as it is.
    Other,
}

/// What was found at the head of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
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

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl Headers {
    /// `None` where `packet` is not an IP packet or its IP header is cut short.
    pub fn parse(packet: &[u8]) -> Option<Self> {
        let network = match packet.first()? >> 4 {
            4 => Self::parse_v4(packet)?,
            6 => Self::parse_v6(packet)?,
            _ => return None,
        };
        Some(network.with_transport(packet))
    }

    fn parse_v4(packet: &[u8]) -> Option<Self> {
        let network_bytes = usize::from(packet[0] & 0x0f) * 4;
        if network_bytes < 20 || packet.len() < network_bytes {
            return None;
        }
        let fragment = be16(packet, 6)? & 0x3fff != 0;
        let protocol = packet[9];
        Some(Self {
            version: Version::V4,
            transport: Transport::of(protocol, fragment),
            network_bytes,
            header_bytes: network_bytes,
            total_bytes: usize::from(be16(packet, 2)?),
            protocol,
        })
    }

    fn parse_v6(packet: &[u8]) -> Option<Self> {
        if packet.len() < 40 {
            return None;
        }
        let payload_bytes = usize::from(be16(packet, 4)?);
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
        Some(Self {
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

    pub fn ecn(&self, packet: &[u8]) -> Ecn {
        let bits = match self.version {
            Version::V4 => packet[1],
            Version::V6 => packet[1] >> 4,
        };
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// A hash of addresses, protocol and ports (of addresses and protocol for what has no ports to be seen).
    pub fn flow(&self, packet: &[u8]) -> FlowKey {
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
        FlowKey(key)
    }
}

impl Transport {
    fn of(protocol: u8, fragment: bool) -> Self {
        match protocol {
            TCP if !fragment => Self::Tcp,
            UDP if !fragment => Self::Udp,
            _ => Self::Other,
        }
    }
}

/// Each input bit reaches each output bit.
fn mix(value: u64) -> u64 {
    SplitMix64(value).draw()
}

/// The fields of a TCP header that cutting changes or counting needs; `tcp` begins at the header.
pub mod tcp {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const PSH: u8 = 0x08;
    pub const CWR: u8 = 0x80;
    pub const SEQ_AT: usize = 4;
    pub const FLAGS_AT: usize = 13;
    pub const CHECKSUM_AT: usize = 16;

    pub fn seq(tcp: &[u8]) -> u32 {
        u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]])
    }
}

pub mod udp {
    pub const LENGTH_AT: usize = 4;
    pub const CHECKSUM_AT: usize = 6;
}
