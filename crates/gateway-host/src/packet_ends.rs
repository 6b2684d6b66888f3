//! From where to where a whole IP packet goes: what an access list has to know of it (RFC 791, RFC 8200).
//!
//! A packet that names routers of its own is refused: its real destination is another one.
//!
//! Only the first fragment of a packet has ports. A rule for certain ports does not match the others. If such a rule denies a packet, its
//! later fragments may pass, but the receiver cannot put them together without the first.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TCP: u8 = 6;
const UDP: u8 = 17;
/// IPv6's hop-by-hop options and destination options, its fragment header, and its routing header.
const OPTIONS: [u8; 2] = [0, 60];
const FRAGMENT: u8 = 44;
const ROUTING: u8 = 43;
/// IPv4's loose and strict source route.
const SOURCE_ROUTES: [u8; 2] = [131, 137];
/// A packet with more of them is refused.
const MOST_EXTENSIONS: usize = 8;

/// The addresses of a packet and, of TCP and UDP, its ports. IPv4 is never written as IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketEnds {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// Source and destination. `None`: another protocol, or not the first fragment.
    pub ports: Option<(u16, u16)>,
}

impl PacketEnds {
    /// None: it is no whole IP packet, or its headers cannot be read as far as the ports.
    pub fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Self::of_v4(packet),
            6 => Self::of_v6(packet),
            _ => None,
        }
    }

    fn of_v4(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<20>()?;
        let header_bytes = usize::from(header[0] & 15) * 4;
        let is_whole = usize::from(be16(header, 2)?) == packet.len() && header_bytes >= 20;
        let fragment_offset = be16(header, 6)? & 0x1fff;
        let transport = packet.get(header_bytes..).filter(|_| is_whole)?;
        if names_routers(packet.get(20..header_bytes)?) {
            return None;
        }
        let address = |at| Some(Ipv4Addr::from(*header.get(at..)?.first_chunk::<4>()?));
        Some(Self {
            source: address(12)?.into(),
            destination: address(16)?.into(),
            ports: ports(header[9], fragment_offset == 0, transport)?,
        })
    }

    fn of_v6(packet: &[u8]) -> Option<Self> {
        let (header, mut rest) = packet.split_first_chunk::<40>()?;
        if usize::from(be16(header, 4)?) != rest.len() {
            return None;
        }
        let mut protocol = header[6];
        let mut is_first = true;
        for _ in 0..MOST_EXTENSIONS {
            let bytes = if OPTIONS.contains(&protocol) {
                8 * (usize::from(*rest.get(1)?) + 1)
            } else if protocol == FRAGMENT {
                is_first &= be16(rest, 2)? >> 3 == 0;
                8
            } else {
                break;
            };
            protocol = *rest.first()?;
            rest = rest.get(bytes..)?;
            if !is_first {
                break;
            }
        }
        let is_last = ![OPTIONS[0], OPTIONS[1], FRAGMENT, ROUTING].contains(&protocol);
        if is_first && !is_last {
            return None;
        }
        let address = |at| Some(Ipv6Addr::from(*header.get(at..)?.first_chunk::<16>()?));
        Some(Self {
            source: address(8)?.to_canonical(),
            destination: address(24)?.to_canonical(),
            ports: ports(protocol, is_first, rest)?,
        })
    }

    /// The same packet's ends as an answer to it would have them.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            ports: self
                .ports
                .map(|(source, destination)| (destination, source)),
        }
    }

    /// The destination with its port, if there is one.
    pub fn to(&self) -> Result<SocketAddr, IpAddr> {
        let port = self.ports.map(|(_, destination)| destination);
        port.map_or(Err(self.destination), |port| {
            Ok(SocketAddr::new(self.destination, port))
        })
    }
}

/// Whether IPv4's options have a source route, or cannot be read.
fn names_routers(mut options: &[u8]) -> bool {
    while let Some((&kind, rest)) = options.split_first() {
        options = match (kind, rest.first()) {
            // The end, and padding.
            (0, _) => return false,
            (1, _) => rest,
            (kind, _) if SOURCE_ROUTES.contains(&kind) => return true,
            (_, Some(&length)) if length >= 2 && usize::from(length) <= options.len() => {
                &options[usize::from(length)..]
            }
            _ => return true,
        };
    }
    false
}

/// None: there should be ports, and there are none.
#[expect(
    clippy::option_option,
    reason = "packets may have none, or be cut short"
)]
fn ports(protocol: u8, is_first: bool, transport: &[u8]) -> Option<Option<(u16, u16)>> {
    if !is_first || ![TCP, UDP].contains(&protocol) {
        return Some(None);
    }
    Some(Some((be16(transport, 0)?, be16(transport, 2)?)))
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*two))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn v4(protocol: u8, fragment: u16, transport: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend_from_slice(&(20 + transport.len() as u16).to_be_bytes());
        packet.extend_from_slice(&[0, 0]);
        packet.extend_from_slice(&fragment.to_be_bytes());
        packet.extend_from_slice(&[64, protocol, 0, 0, 10, 0, 0, 1, 192, 0, 2, 7]);
        packet.extend_from_slice(transport);
        packet
    }

    fn v6(next: u8, rest: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend_from_slice(&(rest.len() as u16).to_be_bytes());
        packet.extend_from_slice(&[next, 64]);
        packet.extend_from_slice(&"fd00::1".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend_from_slice(&"2001:db8::7".parse::<Ipv6Addr>().unwrap().octets());
        packet.extend_from_slice(rest);
        packet
    }

    #[test]
    fn addresses_and_ports_are_read() {
        let ends = PacketEnds::of(&v4(UDP, 0, &[0, 9, 0, 53, 0, 8, 0, 0])).unwrap();
        assert_eq!(ends.source.to_string(), "10.0.0.1");
        assert_eq!(ends.to(), Ok("192.0.2.7:53".parse().unwrap()));
        assert_eq!(ends.reversed().to(), Ok("10.0.0.1:9".parse().unwrap()));
        let ping = PacketEnds::of(&v4(1, 0, &[8, 0, 0, 0])).unwrap();
        assert_eq!(ping.to(), Err("192.0.2.7".parse().unwrap()));
        let ends = PacketEnds::of(&v6(TCP, &[0, 9, 0, 80])).unwrap();
        assert_eq!(ends.to(), Ok("[2001:db8::7]:80".parse().unwrap()));
    }

    #[test]
    fn the_first_fragment_has_ports_and_later_ones_have_none() {
        let ports = [0, 9, 0, 25];
        let first = PacketEnds::of(&v4(TCP, 0x2000, &ports)).unwrap();
        assert_eq!(first.ports, Some((9, 25)));
        let later = PacketEnds::of(&v4(TCP, 0x2001, &ports)).unwrap();
        assert_eq!(later.ports, None);
        // Behind destination options.
        let options = [FRAGMENT, 0, 1, 4, 0, 0, 0, 0];
        let fragment = |offset: u8| [TCP, 0, 0, offset, 0, 0, 0, 1];
        let first = [&options[..], &fragment(1), &ports].concat();
        assert_eq!(
            PacketEnds::of(&v6(60, &first)).unwrap().ports,
            Some((9, 25))
        );
        let later = [&options[..], &fragment(8), &ports].concat();
        assert_eq!(PacketEnds::of(&v6(60, &later)).unwrap().ports, None);
    }

    #[test]
    fn what_hides_its_ports_or_is_cut_short_is_refused() {
        assert_eq!(PacketEnds::of(&v4(TCP, 0, &[0, 9, 0])), None);
        assert_eq!(PacketEnds::of(&v6(UDP, &[0, 9, 0])), None);
        assert_eq!(PacketEnds::of(&v4(TCP, 0, &[0; 30])[..40]), None);
        let options = [60, 0, 1, 4, 0, 0, 0, 0].repeat(20);
        assert_eq!(PacketEnds::of(&v6(60, &options)), None);
        assert_eq!(PacketEnds::of(&[]), None);
        assert_eq!(PacketEnds::of(&[0x50; 60]), None);
    }

    #[test]
    fn what_names_its_own_routers_is_refused() {
        assert_eq!(
            PacketEnds::of(&v6(ROUTING, &[TCP, 0, 4, 0, 0, 0, 0, 0])),
            None
        );
        let with_options = |options: [u8; 4]| {
            let mut packet = v4(1, 0, &[8, 0, 0, 0]);
            packet[0] = 0x46;
            packet.splice(20..20, options);
            packet[3] += 4;
            packet
        };
        for refused in [[131, 3, 4, 0], [1, 137, 3, 4], [68, 1, 0, 0], [68, 5, 0, 0]] {
            assert_eq!(PacketEnds::of(&with_options(refused)), None);
        }
        for taken in [[1, 1, 1, 0], [68, 3, 0, 0], [148, 4, 0, 0], [0, 131, 3, 4]] {
            assert!(PacketEnds::of(&with_options(taken)).is_some());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..200), is_v4: bool) {
            if let Some(first) = bytes.first_mut() {
                *first = if is_v4 { 0x45 } else { 0x60 };
            }
            let _ = PacketEnds::of(&bytes);
        }
    }
}
