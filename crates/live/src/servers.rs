//! The servers that lie beyond the far end: each has addresses of its own at the host `server`.
//!
//! They are numbered from 0 through all of a run's workloads. The first has 10.77.2.1 and `fd77:2::1`, and so on, through
//! the networks that follow, up to 10.77.100.255.

use crate::family::Family;
use bentpipe_base::Direction;
use bentpipe_wire::IpHeader;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// So many have addresses.
pub(crate) const MOST: u32 = 99 * 256 - 1;

const V4_NETWORK: u32 = u32::from_be_bytes([10, 77, 2, 0]);
const V6_NETWORK: [u8; 12] = [0xfd, 0x77, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];

/// The address of the server with this number, below [`MOST`].
pub(crate) fn address(number: u32, family: Family) -> IpAddr {
    let place = number + 1;
    match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::from_bits(V4_NETWORK + place)),
        Family::V6 => {
            let network =
                u128::from_be_bytes([0xfd, 0x77, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            IpAddr::V6(Ipv6Addr::from_bits(network + u128::from(place)))
        }
    }
}

/// Networks and their prefix lengths that together hold the addresses of so many servers.
pub(crate) fn networks(servers: u32, family: Family) -> Vec<(IpAddr, u8)> {
    if servers == 0 {
        return Vec::new();
    }
    match family {
        Family::V4 => (0..=servers / 256)
            .map(|block| (Ipv4Addr::from_bits(V4_NETWORK + block * 256).into(), 24))
            .collect(),
        Family::V6 => vec![(Ipv6Addr::new(0xfd77, 2, 0, 0, 0, 0, 0, 0).into(), 96)],
    }
}

/// The number of the server that an IP packet comes from (down) or goes to (up).
pub fn number_in(packet: &[u8], direction: Direction) -> Option<u32> {
    let (source, destination) = IpHeader::parse(packet).ok()?.addresses();
    number_of(match direction {
        Direction::Down => source,
        Direction::Up => destination,
    })
}

/// The number of the server whose address this is.
pub fn number_of(address: IpAddr) -> Option<u32> {
    let place = match address {
        IpAddr::V4(address) => v4_place(&address.octets())?,
        IpAddr::V6(address) => v6_place(&address.octets())?,
    };
    place.checked_sub(1)
}

fn v4_place(address: &[u8]) -> Option<u32> {
    u32::from_be_bytes(address.try_into().ok()?)
        .checked_sub(V4_NETWORK)
        .filter(|&place| place <= MOST)
}

fn v6_place(address: &[u8]) -> Option<u32> {
    let place = address.strip_prefix(&V6_NETWORK)?;
    Some(u32::from_be_bytes(place.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_base::Ecn;
    use bentpipe_wire::{Ipv4Header, Ipv6Header, protocol};

    fn packet(source: IpAddr, destination: IpAddr) -> Vec<u8> {
        let header = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => IpHeader::V4(Ipv4Header {
                dscp: 0,
                ecn: Ecn::NotEct,
                total_bytes: 20,
                identification: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: 64,
                protocol: protocol::TCP,
                source,
                destination,
                options: &[],
            }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => IpHeader::V6(Ipv6Header {
                dscp: 0,
                ecn: Ecn::NotEct,
                flow_label: 0,
                payload_bytes: 0,
                next_header: protocol::TCP,
                hop_limit: 64,
                source,
                destination,
            }),
            _ => panic!("one family"),
        };
        let mut packet = vec![0; header.header_bytes()];
        header.write(&mut packet).expect("there is room");
        packet
    }

    #[test]
    fn a_server_is_known_by_its_address_and_nobody_else_is_taken_for_one() {
        let hosts: [(Family, IpAddr); 2] = [
            (Family::V4, Ipv4Addr::new(10, 77, 0, 1).into()),
            (
                Family::V6,
                Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1).into(),
            ),
        ];
        for (family, client) in hosts {
            for number in [0, 1, 254, 255, 999, MOST - 1] {
                let server = address(number, family);
                let (to, from) = (packet(client, server), packet(server, client));
                assert_eq!(number_in(&to, Direction::Up), Some(number));
                assert_eq!(number_in(&from, Direction::Down), Some(number));
                assert_eq!(number_in(&to, Direction::Down), None);
                assert_eq!(number_of(server), Some(number));
                assert_eq!(number_of(client), None);
            }
        }
    }

    #[test]
    fn a_packet_that_is_cut_off_in_its_header_belongs_to_no_server() {
        for family in [Family::V4, Family::V6] {
            let server = address(0, family);
            let whole = packet(server, server);
            for length in 0..whole.len() {
                assert_eq!(number_in(&whole[..length], Direction::Down), None);
            }
            assert_eq!(number_in(&whole, Direction::Down), Some(0));
        }
    }

    #[test]
    fn the_first_and_the_last_have_the_addresses_that_the_documentation_names() {
        assert_eq!(address(0, Family::V4).to_string(), "10.77.2.1");
        assert_eq!(address(MOST - 1, Family::V4).to_string(), "10.77.100.255");
        assert_eq!(address(22, Family::V6).to_string(), "fd77:2::17");
    }

    #[test]
    fn the_networks_hold_every_server() {
        for servers in [1, 23, 255, 256, 1000] {
            let networks = networks(servers, Family::V4);
            for number in 0..servers {
                let IpAddr::V4(server) = address(number, Family::V4) else {
                    panic!("one family");
                };
                let inside = |(network, _): &(IpAddr, u8)| matches!(network, IpAddr::V4(network) if server.octets()[..3] == network.octets()[..3]);
                assert!(networks.iter().any(inside), "{server}");
            }
        }
        assert!(networks(0, Family::V6).is_empty());
    }
}
