//! An IP header of either version.

use crate::checksum;
use crate::{Ipv4Header, Ipv6Header, WireError};
use bentpipe_base::Ecn;
use core::net::IpAddr;

/// Protocol numbers (IANA, "Assigned Internet Protocol Numbers").
pub mod protocol {
    pub const ICMP: u8 = 1;
    pub const TCP: u8 = 6;
    pub const UDP: u8 = 17;
    pub const ICMP_V6: u8 = 58;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V4,
    V6,
}

impl Version {
    /// Told by the first four bits of a packet.
    #[inline]
    pub fn of(packet: &[u8]) -> Result<Self, WireError> {
        let first = packet.first().copied();
        match first.map(|byte| byte >> 4) {
            Some(4) => Ok(Self::V4),
            Some(6) => Ok(Self::V6),
            Some(other) => Err(WireError::Invalid {
                what: "IP version",
                found: other.into(),
                expected: "4 or 6",
            }),
            None => Err(WireError::TooShort {
                what: "IP packet",
                needed: 1,
                found: 0,
            }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpHeader<'a> {
    V4(Ipv4Header<'a>),
    V6(Ipv6Header),
}

impl<'a> IpHeader<'a> {
    /// Of IPv6 the fixed header alone; [`crate::Layout`] finds the end of its extension headers.
    pub fn parse(packet: &'a [u8]) -> Result<Self, WireError> {
        Ok(match Version::of(packet)? {
            Version::V4 => Self::V4(Ipv4Header::parse(packet)?),
            Version::V6 => Self::V6(Ipv6Header::parse(packet)?),
        })
    }

    /// Writes the header to the beginning of `out`, and returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WireError> {
        match self {
            Self::V4(header) => header.write(out),
            Self::V6(header) => header.write(out),
        }
    }

    pub fn header_bytes(&self) -> usize {
        match self {
            Self::V4(header) => header.header_bytes(),
            Self::V6(_) => Ipv6Header::BYTES,
        }
    }

    /// What follows: of IPv6 it may be an extension header.
    pub fn protocol(&self) -> u8 {
        match self {
            Self::V4(header) => header.protocol,
            Self::V6(header) => header.next_header,
        }
    }

    pub fn ecn(&self) -> Ecn {
        match self {
            Self::V4(header) => header.ecn,
            Self::V6(header) => header.ecn,
        }
    }

    /// Source and destination.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            Self::V4(header) => (header.source.into(), header.destination.into()),
            Self::V6(header) => (header.source.into(), header.destination.into()),
        }
    }

    /// The sum, not folded, of the pseudo-header that a transport checksum covers (RFC 9293, section 3.1; RFC 8200,
    /// section 8.1). `transport_bytes`: the transport header and its payload.
    pub fn pseudo_header_sum(&self, protocol: u8, transport_bytes: usize) -> u64 {
        let addresses = match self {
            Self::V4(header) => {
                checksum::sum(&header.source.octets()) + checksum::sum(&header.destination.octets())
            }
            Self::V6(header) => {
                checksum::sum(&header.source.octets()) + checksum::sum(&header.destination.octets())
            }
        };
        addresses + u64::from(protocol) + transport_bytes as u64
    }
}
