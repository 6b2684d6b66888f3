//! Where a flow leads: what stands at the beginning of its bytes, from the gateway that opens it to the other.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | bytes of the whole target, this one with them |
//! | 1 | kind: 1, a TCP connection; 2, a UDP association; 3, whole IP packets, which has no fields after this one |
//! | 1 | family of the addresses: 4 or 6 |
//! | 4 or 16, 2 | address and port of the destination |
//! | 4 or 16, 2 | address and port of the host that asked |
//!
//! The destination of a UDP association may have the port 0: then each datagram names its own address.
//!
//! A TCP connection to a name, which the other gateway resolves, is of kind 4:
//!
//! | bytes | field |
//! |---|---|
//! | 1 | bytes of the whole target, this one with them |
//! | 1 | kind: 4 |
//! | 1 | family of the host that asked: 4 or 6 |
//! | 4 or 16, 2 | address and port of the host that asked |
//! | 2 | port of the destination |
//! | 1 to 230 | its name: letters, digits, '-', '.' and '_' of ASCII |
//!
//! Numbers are big-endian. A kind or a family that is not known is an error of this flow only: its reset says so.

use core::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 1;
const UDP: u8 = 2;
const IP: u8 = 3;
const NAME: u8 = 4;
const IP_BYTES: usize = 2;
const V4_BYTES: usize = 3 + 2 * 6;
const V6_BYTES: usize = 3 + 2 * 18;
/// The shortest target of kind 4.
const NAME_LEAST_BYTES: usize = 3 + 6 + 2 + 1;

/// Where a flow leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    pub destination: SocketAddr,
    /// Of the same family.
    pub source: SocketAddr,
}

/// A TCP connection to a name, which the other gateway resolves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedTarget {
    name: String,
    port: u16,
    source: SocketAddr,
}

impl NamedTarget {
    /// The longest name, in bytes.
    pub const NAME_MAX_BYTES: usize = 230;

    /// None: it is no name of 1 to 230 letters, digits, '-', '.' and '_' of ASCII.
    pub fn new(name: &str, port: u16, source: SocketAddr) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let right = (1..=Self::NAME_MAX_BYTES).contains(&name.len()) && name.bytes().all(plain);
        right.then(|| Self {
            name: name.to_owned(),
            port,
            source,
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn source(&self) -> SocketAddr {
        self.source
    }

    /// The bytes at the beginning of a flow.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![0, NAME, if self.source.is_ipv4() { 4 } else { 6 }];
        push_address(&mut out, self.source);
        out.extend_from_slice(&self.port.to_be_bytes());
        out.extend_from_slice(self.name.as_bytes());
        out[0] = out.len() as u8;
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, TargetError> {
        let wrong = TargetError::Length(bytes.first().copied().unwrap_or(0));
        if bytes.len() != usize::from(bytes[0]) {
            return Err(wrong);
        }
        let (source, rest) = read_address(bytes[2], &bytes[3..])?;
        let (port, name) = rest.split_first_chunk::<2>().ok_or(wrong)?;
        let name = core::str::from_utf8(name).map_err(|_| TargetError::Name)?;
        Self::new(name, u16::from_be_bytes(*port), source).ok_or(TargetError::Name)
    }
}

fn push_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(ip) => out.extend_from_slice(&ip.octets()),
        IpAddr::V6(ip) => out.extend_from_slice(&ip.octets()),
    }
    out.extend_from_slice(&address.port().to_be_bytes());
}

/// An address of this family at the beginning of `bytes`, and what follows it.
fn read_address(family: u8, bytes: &[u8]) -> Result<(SocketAddr, &[u8]), TargetError> {
    let wrong = TargetError::Length(bytes.len() as u8);
    let (ip, rest) = match family {
        4 => {
            let (octets, rest) = bytes.split_first_chunk::<4>().ok_or(wrong)?;
            (IpAddr::V4(Ipv4Addr::from(*octets)), rest)
        }
        6 => {
            let (octets, rest) = bytes.split_first_chunk::<16>().ok_or(wrong)?;
            (IpAddr::V6(Ipv6Addr::from(*octets)), rest)
        }
        other => return Err(TargetError::Family(other)),
    };
    let (port, rest) = rest.split_first_chunk::<2>().ok_or(wrong)?;
    Ok((SocketAddr::new(ip, u16::from_be_bytes(*port)), rest))
}

/// What datagrams cross in: a flow whose bytes are its target only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// UDP of one host. The destination's port is 0 where each datagram names its own address.
    Udp(Target),
    /// Whole IP packets.
    Ip,
}

/// What a flow is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Tcp(Target),
    Named(NamedTarget),
    Datagrams(Channel),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetError {
    Length(u8),
    Kind(u8),
    Family(u8),
    Name,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(bytes) => write!(
                f,
                "target of {bytes} bytes, expected {V4_BYTES} for IPv4, {V6_BYTES} for IPv6, {IP_BYTES} for IP packets, or {NAME_LEAST_BYTES} or more for a name"
            ),
            Self::Kind(kind) => write!(
                f,
                "target of kind {kind}, expected 1 (TCP), 2 (UDP), 3 (IP packets) or 4 (TCP to a name)"
            ),
            Self::Name => f.write_str("target without a name that can be resolved"),
            Self::Family(family) => write!(f, "address family {family}, expected 4 or 6"),
        }
    }
}

impl core::error::Error for TargetError {}

impl Target {
    /// The bytes at the beginning of a flow.
    ///
    /// # Panics
    /// If the addresses are of two families: no connection has such.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_bytes_of(TCP)
    }

    fn to_bytes_of(self, kind: u8) -> Vec<u8> {
        assert_eq!(self.destination.is_ipv4(), self.source.is_ipv4());
        let mut out = vec![0, kind, if self.source.is_ipv4() { 4 } else { 6 }];
        for address in [self.destination, self.source] {
            push_address(&mut out, address);
        }
        out[0] = out.len() as u8;
        out
    }

    /// How many bytes the target at the beginning of a flow has, or what is wrong with its first byte.
    pub fn length(first: u8) -> Result<usize, TargetError> {
        let length = usize::from(first);
        let right = length == IP_BYTES || length >= NAME_LEAST_BYTES;
        right.then_some(length).ok_or(TargetError::Length(first))
    }

    /// The addresses of a target of the length that its first byte says, whatever its kind.
    fn addresses(bytes: &[u8]) -> Result<Self, TargetError> {
        let length = bytes.first().copied().unwrap_or(0);
        let family = bytes.get(2).copied().unwrap_or(0);
        let expected = if family == 4 { V4_BYTES } else { V6_BYTES };
        if ![4, 6].contains(&family) {
            return Err(TargetError::Family(family));
        }
        if bytes.len() != expected || usize::from(length) != expected {
            return Err(TargetError::Length(length));
        }
        let (destination, rest) = read_address(family, &bytes[3..])?;
        let (source, _) = read_address(family, rest)?;
        Ok(Self {
            destination,
            source,
        })
    }
}

impl Channel {
    /// The bytes of the flow.
    ///
    /// # Panics
    /// If the addresses are of two families.
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Udp(target) => target.to_bytes_of(UDP),
            Self::Ip => vec![IP_BYTES as u8, IP],
        }
    }
}

impl Purpose {
    /// What a target of the length that its first byte says is for.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TargetError> {
        let first = bytes.first().copied().unwrap_or(0);
        match bytes.get(1).copied().unwrap_or(0) {
            TCP => Target::addresses(bytes).map(Self::Tcp),
            NAME if bytes.len() >= NAME_LEAST_BYTES => {
                NamedTarget::from_bytes(bytes).map(Self::Named)
            }
            UDP => Target::addresses(bytes).map(|it| Self::Datagrams(Channel::Udp(it))),
            IP if bytes == [IP_BYTES as u8, IP] => Ok(Self::Datagrams(Channel::Ip)),
            NAME | IP => Err(TargetError::Length(first)),
            other => Err(TargetError::Kind(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(a: [u8; 16], b: [u8; 16], ports: [u16; 2], is_v4: bool) {
            let ip = |octets: [u8; 16]| -> IpAddr {
                if is_v4 {
                    Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()
                } else {
                    Ipv6Addr::from(octets).into()
                }
            };
            let target = Target {
                destination: SocketAddr::new(ip(a), ports[0]),
                source: SocketAddr::new(ip(b), ports[1]),
            };
            let bytes = target.to_bytes();
            prop_assert_eq!(Target::length(bytes[0]), Ok(bytes.len()));
            prop_assert_eq!(Purpose::from_bytes(&bytes), Ok(Purpose::Tcp(target)));
            let named = NamedTarget::new("a-1.example_org", ports[0], target.source).unwrap();
            let bytes = named.to_bytes();
            prop_assert_eq!(Target::length(bytes[0]), Ok(bytes.len()));
            prop_assert_eq!(Purpose::from_bytes(&bytes), Ok(Purpose::Named(named)));
            for channel in [Channel::Udp(target), Channel::Ip] {
                let bytes = channel.to_bytes();
                prop_assert_eq!(Target::length(bytes[0]), Ok(bytes.len()));
                prop_assert_eq!(Purpose::from_bytes(&bytes), Ok(Purpose::Datagrams(channel)));
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            match Purpose::from_bytes(&bytes) {
                Ok(Purpose::Tcp(target)) => prop_assert_eq!(target.to_bytes(), bytes),
                Ok(Purpose::Datagrams(channel)) => prop_assert_eq!(channel.to_bytes(), bytes),
                Ok(Purpose::Named(target)) => prop_assert_eq!(target.to_bytes(), bytes),
                Err(_) => {}
            }
        }
    }
}
