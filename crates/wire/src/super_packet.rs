//! A super-packet and its cutting into wire segments, or into smaller super-packets, as the kernel's own
//! segmentation does it (`net/ipv4/tcp_offload.c`, `udp_offload.c`, `af_inet.c`): lengths, the IPv4 id, TCP's
//! sequence number, FIN and PSH on the last only, CWR on the first only, checksums.
//!
//! Departures:
//! 1. What is not understood (no IP, a header beyond [`MAX_HEAD_BYTES`], GSO of another kind) is one packet to
//!    the model and leaves as it came.

use crate::bytes::{be16, be32};
use crate::layout::Transport;
use crate::tcp::{self, SequenceRange, flag};
use crate::virtio_net::{self, VirtioNetHeader};
use crate::{Layout, Version, WireError, checksum, ipv4, protocol, udp};
use bentpipe_base::Ecn;
use core::ops::{Deref, Range};

/// Headers longer than this are not rewritten.
pub const MAX_HEAD_BYTES: usize = 512;

/// Headers as they leave, and where to find the payload that follows them.
#[derive(Debug)]
pub struct Head {
    pub vnet: VirtioNetHeader,
    bytes: [u8; MAX_HEAD_BYTES],
    used: usize,
    /// In [`SuperPacket::packet`].
    pub payload: Range<usize>,
}

/// Consecutive segments of one super-packet that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentRun {
    pub first: u16,
    pub count: u16,
    /// Marked CE on the way.
    pub ce: bool,
}

/// Who finishes the transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The receiving kernel may take it as good, as it does from a device with offload.
    Unchanged,
    /// It is computed here; only for a run of one segment.
    Full,
}

#[derive(Debug)]
pub struct SuperPacket<B> {
    frame: B,
    vnet_bytes: usize,
    /// Where the packet ends in `frame`.
    end: usize,
    vnet: VirtioNetHeader,
    layout: Option<Layout>,
    /// Payload bytes of each segment but the last; all of the payload where there is one segment.
    segment_bytes: usize,
    segments: u16,
    flow_hash: u64,
    ecn: Ecn,
    tcp: Option<SequenceRange>,
}

impl<B: Deref<Target = [u8]>> SuperPacket<B> {
    /// Reads a frame: a virtio-net header of `vnet_bytes`, then an IP packet. An error where the frame ends before its packet
    /// does, so that it cannot be passed on.
    pub fn parse(frame: B, vnet_bytes: usize) -> Result<Self, WireError> {
        let bytes = &*frame;
        let vnet = VirtioNetHeader::parse(&bytes[..vnet_bytes.min(bytes.len())])?;
        let packet = bytes.get(vnet_bytes..).ok_or(WireError::TooShort {
            what: "frame",
            needed: vnet_bytes,
            found: bytes.len(),
        })?;
        let mut end = bytes.len();
        let mut layout = Layout::parse(packet).ok();
        if let Some(found) = layout {
            WireError::unless_long_enough("IP packet", packet.len(), found.total_bytes)?;
            if found.total_bytes < found.header_bytes || found.header_bytes > MAX_HEAD_BYTES {
                layout = None;
            } else {
                end = vnet_bytes + found.total_bytes;
            }
        }
        let packet = &bytes[vnet_bytes..end];
        let (flow_hash, ecn) = layout.map_or((0, Ecn::NotEct), |layout| {
            (layout.flow_hash(packet), layout.ecn(packet))
        });
        let payload_bytes = packet.len() - layout.map_or(0, |layout| layout.header_bytes);
        let segment_bytes = layout
            .and_then(|layout| segment_bytes(vnet, layout, payload_bytes))
            .unwrap_or(payload_bytes);
        let segments = if payload_bytes > segment_bytes {
            payload_bytes.div_ceil(segment_bytes) as u16
        } else {
            1
        };
        let tcp = layout
            .filter(|layout| layout.transport == Transport::Tcp)
            .map(|layout| {
                let header = &packet[layout.network_bytes..];
                let syn = header[tcp::FLAGS_AT] & flag::SYN as u8 != 0;
                SequenceRange {
                    seq: seq(header).wrapping_add(u32::from(syn)),
                    payload_bytes: payload_bytes as u32,
                    syn,
                }
            });
        Ok(Self {
            frame,
            vnet_bytes,
            end,
            vnet,
            layout,
            segment_bytes,
            segments,
            flow_hash,
            ecn,
            tcp,
        })
    }

    /// How many packets this is on the wire, and to the model.
    pub fn segments(&self) -> u16 {
        self.segments
    }

    /// The IP packet as it came.
    pub fn packet(&self) -> &[u8] {
        &self.frame[self.vnet_bytes..self.end]
    }

    /// The virtio-net header and the packet as they came.
    pub fn frame(&self) -> &[u8] {
        &self.frame[..self.end]
    }

    /// As [`Layout::flow_hash`]; 0 for anything but an IP packet.
    pub fn flow_hash(&self) -> u64 {
        self.flow_hash
    }

    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// TCP's ports: the source's and the destination's. `None` for anything else.
    pub fn tcp_ports(&self) -> Option<[u16; 2]> {
        let layout = self.layout.filter(|it| it.transport == Transport::Tcp)?;
        let ports = be32(self.packet(), layout.network_bytes)?;
        Some([(ports >> 16) as u16, ports as u16])
    }

    /// Whether it is an ICMP echo or its answer (RFC 792, RFC 4443). A fragment is none, nor what IPv6 puts extension headers before.
    pub fn is_echo(&self) -> bool {
        let Some(layout) = self.layout else {
            return false;
        };
        let packet = self.packet();
        let kind = packet.get(layout.network_bytes).copied();
        match layout.version {
            Version::V4 => {
                let is_fragment = be16(packet, 6).is_none_or(|word| word & 0x3fff != 0);
                packet[9] == protocol::ICMP && !is_fragment && matches!(kind, Some(0 | 8))
            }
            Version::V6 => packet[6] == protocol::ICMP_V6 && matches!(kind, Some(128 | 129)),
        }
    }

    fn header_bytes(&self) -> usize {
        self.layout.map_or(0, |layout| layout.header_bytes)
    }

    fn payload(&self, run: SegmentRun) -> Range<usize> {
        let header_bytes = self.header_bytes();
        let start = header_bytes + usize::from(run.first) * self.segment_bytes;
        let end = start + usize::from(run.count) * self.segment_bytes;
        start..end.min(self.packet().len())
    }

    /// The IP length of one segment on the wire.
    pub fn wire_bytes(&self, index: u16) -> u32 {
        let payload = self.payload(SegmentRun {
            first: index,
            count: 1,
            ce: false,
        });
        (self.header_bytes() + payload.len()) as u32
    }

    /// The TCP sequence space of one segment.
    pub fn segment(&self, index: u16) -> Option<SequenceRange> {
        let whole = self.tcp?;
        let offset = u32::from(index) * self.segment_bytes as u32;
        Some(SequenceRange {
            seq: whole.seq.wrapping_add(offset),
            payload_bytes: (whole.payload_bytes - offset).min(self.segment_bytes as u32),
            syn: whole.syn && index == 0,
        })
    }

    /// Whether a run is the whole of it, unchanged, so that [`SuperPacket::frame`] may leave as it is.
    pub fn is_whole(&self, run: SegmentRun) -> bool {
        run.count == self.segments && !run.ce
    }

    /// Headers for a run of segments.
    pub fn head(&self, run: SegmentRun, checksum: Checksum) -> Head {
        let packet = self.packet();
        let payload = self.payload(run);
        let header_bytes = self.header_bytes();
        let mut head = Head {
            vnet: self.vnet,
            bytes: [0; MAX_HEAD_BYTES],
            used: header_bytes,
            payload: payload.clone(),
        };
        head.bytes[..header_bytes].copy_from_slice(&packet[..header_bytes]);
        let Some(layout) = self.layout else {
            return head;
        };
        let cut = self.segments > 1;
        let bytes = &mut head.bytes[..header_bytes];
        if cut {
            self.cut_transport(layout, run, payload.len(), bytes);
            cut_network(layout, run, payload.len(), bytes);
            head.vnet.hdr_len = header_bytes as u16;
            if run.count == 1 {
                head.vnet.gso_type = virtio_net::GSO_NONE;
                head.vnet.gso_size = 0;
            } else if run.first > 0 {
                head.vnet.gso_type &= !virtio_net::GSO_ECN;
            }
        }
        if run.ce {
            mark_ce(layout.version, bytes);
        }
        if layout.version == Version::V4 && (cut || run.ce) {
            ipv4::write_checksum(&mut bytes[..layout.network_bytes]);
        }
        if checksum == Checksum::Full && self.vnet.needs_csum() {
            self.finish_checksum(&mut head);
        }
        head
    }

    /// The checksum field of what is cut holds the pseudo-header's sum, of which the length is a part.
    fn cut_transport(
        &self,
        layout: Layout,
        run: SegmentRun,
        payload_bytes: usize,
        bytes: &mut [u8],
    ) {
        let transport = &mut bytes[layout.network_bytes..];
        let old_length = (self.packet().len() - layout.network_bytes) as u16;
        let length = (transport.len() + payload_bytes) as u16;
        let checksum_at = if layout.transport == Transport::Tcp {
            let seq = seq(transport).wrapping_add(u32::from(run.first) * self.segment_bytes as u32);
            transport[tcp::SEQ_AT..tcp::SEQ_AT + 4].copy_from_slice(&seq.to_be_bytes());
            if run.first + run.count < self.segments {
                transport[tcp::FLAGS_AT] &= !(flag::FIN | flag::PSH) as u8;
            }
            if run.first > 0 && self.vnet.gso_type & virtio_net::GSO_ECN != 0 {
                transport[tcp::FLAGS_AT] &= !flag::CWR as u8;
            }
            tcp::CHECKSUM_AT
        } else {
            transport[udp::LENGTH_AT..udp::LENGTH_AT + 2].copy_from_slice(&length.to_be_bytes());
            udp::CHECKSUM_AT
        };
        let pseudo = u16::from_be_bytes([transport[checksum_at], transport[checksum_at + 1]]);
        let pseudo = checksum::adjust(pseudo, old_length, length);
        transport[checksum_at..checksum_at + 2].copy_from_slice(&pseudo.to_be_bytes());
    }

    fn finish_checksum(&self, head: &mut Head) {
        let start = usize::from(self.vnet.csum_start);
        let field = start + usize::from(self.vnet.csum_offset);
        if field + 2 > head.used {
            return;
        }
        let header = checksum::sum(&head.bytes[start..head.used]);
        // The headers that are cut have an even length, so the payload's words stay aligned with the sum.
        let sum = !checksum::fold(header + checksum::sum(&self.packet()[head.payload.clone()]));
        // RFC 768: a sum of zero is sent as all ones. No other transport has its checksum there.
        let is_udp = usize::from(self.vnet.csum_offset) == udp::CHECKSUM_AT;
        let sum = if sum == 0 && is_udp { 0xffff } else { sum };
        head.bytes[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        head.vnet = VirtioNetHeader {
            flags: self.vnet.flags & !virtio_net::NEEDS_CSUM,
            csum_start: 0,
            csum_offset: 0,
            ..head.vnet
        };
    }

    /// Puts one segment as it stands on the wire, its checksum finished, into `out`, replacing what is there. Returns its
    /// virtio-net header.
    pub fn write_segment(&self, index: u16, ce: bool, out: &mut Vec<u8>) -> VirtioNetHeader {
        let run = SegmentRun {
            first: index,
            count: 1,
            ce,
        };
        let head = self.head(run, Checksum::Full);
        out.clear();
        out.extend_from_slice(head.bytes());
        out.extend_from_slice(&self.packet()[head.payload.clone()]);
        head.vnet
    }
}

impl Head {
    /// The headers, without the virtio-net header.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// Flips one bit beyond the IP header, chosen by `draw`, of a packet as it stands on the wire. One that is all IP header
/// stays as it is; where there is no IP header any bit may flip.
///
/// A flip that would leave an UDP checksum of zero (which says that there is none) takes the bit beside it.
pub fn flip_bit(packet: &mut [u8], draw: u64) {
    let layout = Layout::parse(packet).ok();
    let start = layout.map_or(0, |layout| layout.network_bytes);
    let bits = (packet.len() - start) as u64 * 8;
    if bits == 0 {
        return;
    }
    let bit = draw % bits;
    let at = start + (bit / 8) as usize;
    packet[at] ^= 1 << (bit % 8);
    let is_udp = layout.is_some_and(|layout| layout.transport == Transport::Udp);
    let field = start + udp::CHECKSUM_AT;
    if is_udp && (at == field || at == field + 1) && packet[field..field + 2] == [0, 0] {
        packet[at] ^= (1 << (bit % 8)) | (1 << ((bit + 1) % 8));
    }
}

/// The payload of each segment where the frame is a super-packet that can be cut here.
fn segment_bytes(vnet: VirtioNetHeader, layout: Layout, payload_bytes: usize) -> Option<usize> {
    let checksum_at = match (
        vnet.gso_type & !virtio_net::GSO_ECN,
        layout.version,
        layout.transport,
    ) {
        (virtio_net::GSO_TCPV4, Version::V4, Transport::Tcp)
        | (virtio_net::GSO_TCPV6, Version::V6, Transport::Tcp) => tcp::CHECKSUM_AT,
        (virtio_net::GSO_UDP_L4, _, Transport::Udp) => udp::CHECKSUM_AT,
        _ => return None,
    };
    let partial = vnet.needs_csum()
        && usize::from(vnet.csum_start) == layout.network_bytes
        && usize::from(vnet.csum_offset) == checksum_at;
    let size = usize::from(vnet.gso_size);
    (partial && size > 0 && payload_bytes > size).then_some(size)
}

fn cut_network(layout: Layout, run: SegmentRun, payload_bytes: usize, bytes: &mut [u8]) {
    let total = layout.header_bytes + payload_bytes;
    match layout.version {
        Version::V4 => {
            let id = u16::from_be_bytes([bytes[4], bytes[5]]).wrapping_add(run.first);
            bytes[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            bytes[4..6].copy_from_slice(&id.to_be_bytes());
        }
        Version::V6 => bytes[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes()),
    }
}

/// Marks an IP packet as having met congestion (RFC 3168). What is no IP packet stays as it is.
pub fn mark_congestion(packet: &mut [u8]) {
    let Ok(layout) = Layout::parse(packet) else {
        return;
    };
    mark_ce(layout.version, packet);
    if layout.version == Version::V4 {
        ipv4::write_checksum(&mut packet[..layout.network_bytes]);
    }
}

fn mark_ce(version: Version, bytes: &mut [u8]) {
    bytes[1] |= match version {
        Version::V4 => 0x03,
        Version::V6 => 0x30,
    };
}

fn seq(tcp: &[u8]) -> u32 {
    be32(tcp, tcp::SEQ_AT).unwrap_or(0)
}
