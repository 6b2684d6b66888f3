//! The headers below a tunnel: IP and UDP, from one end to the other.
//!
//! Departure from a tunnel on real sockets: there is no UDP checksum (RFC 768 and RFC 6935 allow that). Frames do not leave this
//! process, and the model says which of them it has corrupted.

use crate::family::Family;
use bentpipe_base::{Direction, Ecn};
use bentpipe_wire::{IpHeader, Ipv4Header, Ipv6Header, UdpHeader, WireError, protocol};
use std::net::{Ipv4Addr, Ipv6Addr};

const PORT: u16 = 7777;
const HOP_LIMIT: u8 = 64;
/// The last part of the addresses of the ends: near's, then far's.
const ENDS: [u8; 2] = [3, 4];

/// The most that the headers take.
const MAX_BYTES: usize = Ipv6Header::BYTES + UdpHeader::BYTES;

/// What all frames of a direction have.
#[derive(Clone, Copy, Debug)]
pub struct Outer {
    family: Family,
    /// The last part of the addresses.
    source: u8,
    destination: u8,
}

impl Outer {
    pub fn new(family: Family, direction: Direction) -> Self {
        let [near, far] = ENDS;
        let (source, destination) = match direction {
            Direction::Down => (far, near),
            Direction::Up => (near, far),
        };
        Self {
            family,
            source,
            destination,
        }
    }

    pub fn bytes(self) -> usize {
        bentpipe_tunnel::outer_bytes(self.family.number()) as usize
    }

    /// A packet with its outer headers, behind an empty virtio-net header of `vnet_bytes`.
    pub fn wrap(self, frame: &[u8], ecn: Ecn, vnet_bytes: usize) -> Result<Vec<u8>, WireError> {
        let mut headers = [0; MAX_BYTES];
        let datagram_bytes = (UdpHeader::BYTES + frame.len()) as u16;
        let at = self.ip(datagram_bytes, ecn).write(&mut headers)?;
        let udp = UdpHeader {
            source_port: PORT,
            destination_port: PORT,
            length_bytes: datagram_bytes,
            checksum: 0,
        };
        let end = at + udp.write(&mut headers[at..])?;
        let mut packet = Vec::with_capacity(vnet_bytes + end + frame.len());
        packet.resize(vnet_bytes, 0);
        packet.extend_from_slice(&headers[..end]);
        packet.extend_from_slice(frame);
        Ok(packet)
    }

    fn ip(self, datagram_bytes: u16, ecn: Ecn) -> IpHeader<'static> {
        match self.family {
            Family::V4 => {
                let address = |last| Ipv4Addr::new(10, 77, 0, last);
                IpHeader::V4(Ipv4Header {
                    dscp: 0,
                    ecn,
                    total_bytes: Ipv4Header::MIN_BYTES as u16 + datagram_bytes,
                    identification: 0,
                    dont_fragment: true,
                    more_fragments: false,
                    fragment_offset: 0,
                    ttl: HOP_LIMIT,
                    protocol: protocol::UDP,
                    source: address(self.source),
                    destination: address(self.destination),
                    options: &[],
                })
            }
            Family::V6 => {
                let address = |last: u8| Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, last.into());
                IpHeader::V6(Ipv6Header {
                    dscp: 0,
                    ecn,
                    flow_label: 0,
                    payload_bytes: datagram_bytes,
                    next_header: protocol::UDP,
                    hop_limit: HOP_LIMIT,
                    source: address(self.source),
                    destination: address(self.destination),
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_wire::Layout;

    #[test]
    fn the_outer_headers_take_what_sim_counts_for_them() {
        for (family, expected) in [(Family::V4, 28), (Family::V6, 48)] {
            let outer = Outer::new(family, Direction::Up);
            let frame = [7; 100];
            let packet = outer.wrap(&frame, Ecn::Ect0, 10).expect("it fits");
            let layout = Layout::parse(&packet[10..]).expect("an IP packet");
            assert_eq!(outer.bytes(), expected);
            assert_eq!(layout.header_bytes, expected);
            assert_eq!(layout.total_bytes, expected + frame.len());
            assert_eq!(layout.ecn(&packet[10..]), Ecn::Ect0);
            assert_eq!(packet[10 + expected..], frame);
        }
    }
}
