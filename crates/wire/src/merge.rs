//! Joins packets of one flow that follow each other into a super-packet, as the kernel's receive offload does
//! (`net/ipv4/tcp_offload.c`: `tcp_gro_receive`; `udp_offload.c`): what [`crate::super_packet`] cuts, this joins.
//!
//! Departures:
//! 1. A header with IPv4 options or IPv6 extension headers is not joined.
//! 2. URG, RST and SYN are never joined to anything; Linux lets a segment with them be the first.

use crate::layout::Transport;
use crate::tcp::{self, flag};
use crate::virtio_net::{self, VirtioNetHeader};
use crate::{IpHeader, Layout, Version, checksum, ipv4, protocol, udp};

/// The most that an IP packet's length can say.
const MAX_PACKET_BYTES: usize = 65_535;
/// Ends a super-packet: no segment may follow.
const LAST: u8 = (flag::FIN | flag::PSH) as u8;
const NEVER: u8 = (flag::SYN | flag::RST | flag::URG) as u8;
const CWR: u8 = flag::CWR as u8;

/// Packets that were joined so far.
#[derive(Clone, Debug, Default)]
pub struct Merger {
    /// The first packet's headers, then the payloads.
    packet: Vec<u8>,
    first: Option<First>,
    count: usize,
    /// A shorter segment, FIN or PSH has come.
    closed: bool,
}

#[derive(Clone, Copy, Debug)]
struct First {
    layout: Layout,
    segment_bytes: usize,
}

impl Merger {
    /// Takes a packet as it stands on the wire. `false` where it does not continue what was taken before; it was not taken
    /// then. A packet is refused as a first one too where it cannot be joined to any: it can only pass as it is.
    pub fn push(&mut self, packet: &[u8]) -> bool {
        let Some(layout) = joinable(packet) else {
            return false;
        };
        let payload = &packet[layout.header_bytes..];
        match self.first {
            None => {
                self.packet.clear();
                self.packet.extend_from_slice(packet);
                self.first = Some(First {
                    layout,
                    segment_bytes: payload.len(),
                });
                self.count = 1;
                self.closed = ends_with(layout, packet);
                true
            }
            Some(first) if self.continues(first, layout, packet) => {
                if layout.transport == Transport::Tcp {
                    let flags = layout.network_bytes + tcp::FLAGS_AT;
                    self.packet[flags] |= packet[flags] & LAST;
                }
                self.packet.extend_from_slice(payload);
                self.count += 1;
                self.closed = payload.len() < first.segment_bytes || ends_with(layout, packet);
                true
            }
            Some(_) => false,
        }
    }

    /// The packet that was made of those taken, and its virtio-net header. `None` where none was taken. Afterwards the next
    /// is a first one again.
    pub fn finish(&mut self) -> Option<(VirtioNetHeader, &[u8])> {
        let First {
            layout,
            segment_bytes,
        } = self.first.take()?;
        self.closed = false;
        if self.count == 1 {
            return Some((VirtioNetHeader::default(), &self.packet));
        }
        let total = self.packet.len();
        let transport_bytes = total - layout.network_bytes;
        let (network, transport) = self.packet.split_at_mut(layout.network_bytes);
        match layout.version {
            Version::V4 => {
                network[2..4].copy_from_slice(&(total as u16).to_be_bytes());
                ipv4::write_checksum(network);
            }
            Version::V6 => network[4..6].copy_from_slice(&(transport_bytes as u16).to_be_bytes()),
        }
        let (gso_type, checksum_at) = if layout.transport == Transport::Tcp {
            let gso_type = match layout.version {
                Version::V4 => virtio_net::GSO_TCPV4,
                Version::V6 => virtio_net::GSO_TCPV6,
            };
            let has_cwr = transport[tcp::FLAGS_AT] & CWR != 0;
            let ecn = if has_cwr { virtio_net::GSO_ECN } else { 0 };
            (gso_type | ecn, tcp::CHECKSUM_AT)
        } else {
            let length = (transport_bytes as u16).to_be_bytes();
            transport[udp::LENGTH_AT..udp::LENGTH_AT + 2].copy_from_slice(&length);
            (virtio_net::GSO_UDP_L4, udp::CHECKSUM_AT)
        };
        // Whoever cuts it, or hands it up whole, finishes the checksum, or takes it as good.
        let ip = IpHeader::parse(network).ok()?;
        let pseudo = checksum::fold(ip.pseudo_header_sum(layout.protocol, transport_bytes));
        transport[checksum_at..checksum_at + 2].copy_from_slice(&pseudo.to_be_bytes());
        let header = VirtioNetHeader {
            flags: virtio_net::NEEDS_CSUM,
            gso_type,
            hdr_len: layout.header_bytes as u16,
            gso_size: segment_bytes as u16,
            csum_start: layout.network_bytes as u16,
            csum_offset: checksum_at as u16,
        };
        Some((header, &self.packet))
    }

    fn continues(&self, first: First, layout: Layout, packet: &[u8]) -> bool {
        let payload_bytes = packet.len() - layout.header_bytes;
        let fits = self.packet.len() + payload_bytes <= MAX_PACKET_BYTES;
        if self.closed
            || !fits
            || payload_bytes > first.segment_bytes
            || layout.header_bytes != first.layout.header_bytes
        {
            return false;
        }
        let sent = self.packet.len() - first.layout.header_bytes;
        // What differs from segment to segment is set to what the first has, and then all must be the same.
        let (ours, mut theirs) = (&self.packet[..layout.header_bytes], [0; MAX_HEAD_BYTES]);
        let Some(theirs) = theirs.get_mut(..layout.header_bytes) else {
            return false;
        };
        theirs.copy_from_slice(&packet[..layout.header_bytes]);
        let mut same = |range: core::ops::Range<usize>| {
            theirs[range.clone()].copy_from_slice(&ours[range]);
        };
        let start = layout.network_bytes;
        match layout.version {
            Version::V4 => {
                let id = |packet: &[u8]| u16::from_be_bytes([packet[4], packet[5]]);
                if id(packet) != id(ours).wrapping_add(self.count as u16) {
                    return false;
                }
                same(2..6);
                same(10..12);
            }
            Version::V6 => same(4..6),
        }
        if layout.transport == Transport::Tcp {
            let seq = |packet: &[u8]| {
                let at = start + tcp::SEQ_AT;
                u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
            };
            let flags = start + tcp::FLAGS_AT;
            let but = LAST | CWR;
            if seq(packet) != seq(ours).wrapping_add(sent as u32)
                || packet[flags] & CWR != 0
                || (packet[flags] ^ ours[flags]) & !but != 0
            {
                return false;
            }
            same(start + tcp::SEQ_AT..start + tcp::SEQ_AT + 4);
            same(flags..flags + 1);
            same(start + tcp::CHECKSUM_AT..start + tcp::CHECKSUM_AT + 2);
        } else {
            same(start + udp::LENGTH_AT..start + udp::LENGTH_AT + 4);
        }
        *theirs == *ours
    }
}

/// An IPv6 header and the longest TCP header.
const MAX_HEAD_BYTES: usize = 100;

/// Finds the headers of a packet that may be a segment of a super-packet: TCP or UDP with payload and a checksum that is right.
fn joinable(packet: &[u8]) -> Option<Layout> {
    let layout = Layout::parse(packet).ok()?;
    let (plain, checksum) = match layout.version {
        Version::V4 => (20, ipv4::Ipv4Header::is_checksum_right(packet)),
        Version::V6 => (40, true),
    };
    let transport = packet.get(layout.network_bytes..)?;
    let may_join = match layout.protocol {
        protocol::TCP => {
            layout.transport == Transport::Tcp && transport[tcp::FLAGS_AT] & NEVER == 0
        }
        protocol::UDP => {
            layout.transport == Transport::Udp
                && transport[udp::LENGTH_AT..udp::LENGTH_AT + 2]
                    == (transport.len() as u16).to_be_bytes()
                && transport[udp::CHECKSUM_AT..udp::CHECKSUM_AT + 2] != [0, 0]
        }
        _ => false,
    };
    let ip = IpHeader::parse(packet).ok()?;
    let pseudo = ip.pseudo_header_sum(layout.protocol, transport.len());
    let is_right = || checksum::fold(pseudo + checksum::sum(transport)) == 0xffff;
    (checksum
        && may_join
        && layout.network_bytes == plain
        && layout.total_bytes == packet.len()
        && packet.len() > layout.header_bytes
        && is_right())
    .then_some(layout)
}

/// Whether nothing may be joined after this packet.
fn ends_with(layout: Layout, packet: &[u8]) -> bool {
    layout.transport == Transport::Tcp && packet[layout.network_bytes + tcp::FLAGS_AT] & LAST != 0
}
