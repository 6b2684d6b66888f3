//! A super-packet and its cutting into wire segments, or into smaller super-packets, as the kernel's own
//! segmentation does it (`net/ipv4/tcp_offload.c`, `udp_offload.c`, `af_inet.c`): lengths, the IPv4 id, TCP's
//! sequence number, FIN and PSH on the last only, CWR on the first only, checksums.
//!
//! Departures:
//! 1. What is not understood (no IP, a header beyond [`MAX_HEAD_BYTES`], GSO of another kind) is one packet to
//!    the model and leaves as it came.

use super::checksum;
use super::pool::Frame;
use super::vnet::{self, VnetHeader};
use super::wire::{Headers, Transport, Version, tcp, udp};
use bentpipe_path::packet::{Ecn, FlowKey, Segment};
use bentpipe_path::time::Nanos;
use std::ops::Range;

/// Headers longer than this are not rewritten.
pub const MAX_HEAD_BYTES: usize = 512;

/// Headers as they leave, and where to find the payload that follows them.
#[derive(Debug)]
pub struct Head {
    pub vnet: VnetHeader,
    bytes: [u8; MAX_HEAD_BYTES],
    used: usize,
    /// In [`SuperPacket::packet`].
    pub payload: Range<usize>,
}

/// Consecutive segments of one super-packet that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    pub first: u16,
    pub count: u16,
    /// Marked CE on the way.
    pub ce: bool,
}

/// Who finishes the transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// The receiving kernel may take it as good, as it does from a device with offload.
    AsItCame,
    /// It is computed here; only for a run of one segment.
    Full,
}

#[derive(Debug)]
pub struct SuperPacket {
    frame: Frame,
    vnet_bytes: usize,
    /// Where the packet ends in `frame`.
    end: usize,
    vnet: VnetHeader,
    headers: Option<Headers>,
    /// Payload bytes of each segment but the last; all of the payload where there is one segment.
    segment_bytes: usize,
    segments: u16,
    flow: FlowKey,
    ecn: Ecn,
    tcp: Option<Segment>,
    /// It came at most this much earlier than the model was told.
    pub late_read: Nanos,
}

/// A frame that ends before its packet does: it cannot be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncated;

impl SuperPacket {
    /// Reads a frame: a vnet header of `vnet_bytes`, then an IP packet.
    pub fn parse(frame: Frame, vnet_bytes: usize) -> Result<Self, Truncated> {
        let vnet = VnetHeader::parse(&frame[..vnet_bytes.min(frame.len())]).ok_or(Truncated)?;
        let packet = frame.get(vnet_bytes..).ok_or(Truncated)?;
        let mut end = frame.len();
        let mut headers = Headers::parse(packet);
        if let Some(found) = headers {
            if found.total_bytes > packet.len() {
                return Err(Truncated);
            }
            if found.total_bytes < found.header_bytes || found.header_bytes > MAX_HEAD_BYTES {
                headers = None;
            } else {
                end = vnet_bytes + found.total_bytes;
            }
        }
        let packet = &frame[vnet_bytes..end];
        let (flow, ecn) = headers.map_or((FlowKey::default(), Ecn::NotEct), |headers| {
            (headers.flow(packet), headers.ecn(packet))
        });
        let payload_bytes = packet.len() - headers.map_or(0, |headers| headers.header_bytes);
        let segment_bytes = headers
            .and_then(|headers| segment_bytes(vnet, headers, payload_bytes))
            .unwrap_or(payload_bytes);
        let segments = if payload_bytes > segment_bytes {
            payload_bytes.div_ceil(segment_bytes) as u16
        } else {
            1
        };
        let tcp = headers
            .filter(|headers| headers.transport == Transport::Tcp)
            .map(|headers| {
                let header = &packet[headers.network_bytes..];
                let syn = header[tcp::FLAGS_AT] & tcp::SYN != 0;
                Segment {
                    seq: tcp::seq(header).wrapping_add(u32::from(syn)),
                    payload_bytes: payload_bytes as u32,
                    syn,
                }
            });
        Ok(Self {
            frame,
            vnet_bytes,
            end,
            vnet,
            headers,
            segment_bytes,
            segments,
            flow,
            ecn,
            tcp,
            late_read: Nanos::ZERO,
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

    /// The vnet header and the packet as they came.
    pub fn frame(&self) -> &[u8] {
        &self.frame[..self.end]
    }

    pub fn flow(&self) -> FlowKey {
        self.flow
    }

    pub fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn header_bytes(&self) -> usize {
        self.headers.map_or(0, |headers| headers.header_bytes)
    }

    fn payload(&self, run: Run) -> Range<usize> {
        let header_bytes = self.header_bytes();
        let start = header_bytes + usize::from(run.first) * self.segment_bytes;
        let end = start + usize::from(run.count) * self.segment_bytes;
        start..end.min(self.packet().len())
    }

    /// The IP length of one segment on the wire.
    pub fn wire_bytes(&self, index: u16) -> u32 {
        let payload = self.payload(Run {
            first: index,
            count: 1,
            ce: false,
        });
        (self.header_bytes() + payload.len()) as u32
    }

    /// The TCP sequence space of one segment.
    pub fn segment(&self, index: u16) -> Option<Segment> {
        let whole = self.tcp?;
        let offset = u32::from(index) * self.segment_bytes as u32;
        Some(Segment {
            seq: whole.seq.wrapping_add(offset),
            payload_bytes: (whole.payload_bytes - offset).min(self.segment_bytes as u32),
            syn: whole.syn && index == 0,
        })
    }

    /// Whether a run is the whole of it, unchanged, so that [`SuperPacket::frame`] may leave as it is.
    pub fn is_whole(&self, run: Run) -> bool {
        run.count == self.segments && !run.ce
    }

    /// Headers for a run of segments.
    pub fn head(&self, run: Run, checksum: Checksum) -> Head {
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
        let Some(headers) = self.headers else {
            return head;
        };
        let cut = self.segments > 1;
        let bytes = &mut head.bytes[..header_bytes];
        if cut {
            self.cut_transport(headers, run, payload.len(), bytes);
            cut_network(headers, run, payload.len(), bytes);
            head.vnet.hdr_len = header_bytes as u16;
            if run.count == 1 {
                head.vnet.gso_type = vnet::GSO_NONE;
                head.vnet.gso_size = 0;
            } else if run.first > 0 {
                head.vnet.gso_type &= !vnet::GSO_ECN;
            }
        }
        if run.ce {
            mark_ce(headers.version, bytes);
        }
        if headers.version == Version::V4 && (cut || run.ce) {
            let bytes = &mut bytes[..headers.network_bytes];
            bytes[10..12].fill(0);
            let sum = checksum::fold(checksum::sum(bytes));
            bytes[10..12].copy_from_slice(&(!sum).to_be_bytes());
        }
        if checksum == Checksum::Full && self.vnet.needs_csum() {
            self.finish_checksum(&mut head);
        }
        head
    }

    /// The checksum field of what is cut holds the pseudo-header's sum, of which the length is a part.
    fn cut_transport(&self, headers: Headers, run: Run, payload_bytes: usize, bytes: &mut [u8]) {
        let transport = &mut bytes[headers.network_bytes..];
        let old_length = (self.packet().len() - headers.network_bytes) as u16;
        let length = (transport.len() + payload_bytes) as u16;
        let checksum_at = if headers.transport == Transport::Tcp {
            let seq =
                tcp::seq(transport).wrapping_add(u32::from(run.first) * self.segment_bytes as u32);
            transport[tcp::SEQ_AT..tcp::SEQ_AT + 4].copy_from_slice(&seq.to_be_bytes());
            if run.first + run.count < self.segments {
                transport[tcp::FLAGS_AT] &= !(tcp::FIN | tcp::PSH);
            }
            if run.first > 0 && self.vnet.gso_type & vnet::GSO_ECN != 0 {
                transport[tcp::FLAGS_AT] &= !tcp::CWR;
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
        // RFC 768: a sum of zero is sent as all ones. In one's complement both are zero, so TCP may have it too.
        let sum = if sum == 0 { 0xffff } else { sum };
        head.bytes[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        head.vnet = VnetHeader {
            flags: self.vnet.flags & !vnet::NEEDS_CSUM,
            csum_start: 0,
            csum_offset: 0,
            ..head.vnet
        };
    }

    /// One segment as it stands on the wire, its checksum finished, and where its transport header begins.
    pub fn wire_segment(&self, index: u16, ce: bool) -> Wire {
        let run = Run {
            first: index,
            count: 1,
            ce,
        };
        let head = self.head(run, Checksum::Full);
        let mut bytes = head.bytes().to_vec();
        bytes.extend_from_slice(&self.packet()[head.payload.clone()]);
        Wire {
            vnet: head.vnet,
            bytes,
            network_bytes: self.headers.map_or(0, |headers| headers.network_bytes),
        }
    }
}

impl Head {
    /// The headers, without the vnet header.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

/// A packet on the wire: one that no offload helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wire {
    pub vnet: VnetHeader,
    pub bytes: Vec<u8>,
    network_bytes: usize,
}

impl Wire {
    /// Flips one bit beyond the IP header, chosen by `draw`. A packet that is all IP header stays as it is.
    ///
    /// A flip that would leave an UDP checksum of zero (which says that there is none) takes the bit beside it.
    pub fn flip_bit(&mut self, draw: u64) {
        let bits = (self.bytes.len() - self.network_bytes) as u64 * 8;
        if bits == 0 {
            return;
        }
        let bit = draw % bits;
        let at = self.network_bytes + (bit / 8) as usize;
        self.bytes[at] ^= 1 << (bit % 8);
        let udp = Headers::parse(&self.bytes).is_some_and(|it| it.transport == Transport::Udp);
        let field = self.network_bytes + udp::CHECKSUM_AT;
        if udp && (at == field || at == field + 1) && self.bytes[field..field + 2] == [0, 0] {
            self.bytes[at] ^= (1 << (bit % 8)) | (1 << ((bit + 1) % 8));
        }
    }
}

/// The payload of each segment where the frame is a super-packet that can be cut here.
fn segment_bytes(vnet: VnetHeader, headers: Headers, payload_bytes: usize) -> Option<usize> {
    let checksum_at = match (
        vnet.gso_type & !vnet::GSO_ECN,
        headers.version,
        headers.transport,
    ) {
        (vnet::GSO_TCPV4, Version::V4, Transport::Tcp)
        | (vnet::GSO_TCPV6, Version::V6, Transport::Tcp) => tcp::CHECKSUM_AT,
        (vnet::GSO_UDP_L4, _, Transport::Udp) => udp::CHECKSUM_AT,
        _ => return None,
    };
    let partial = vnet.needs_csum()
        && usize::from(vnet.csum_start) == headers.network_bytes
        && usize::from(vnet.csum_offset) == checksum_at;
    let size = usize::from(vnet.gso_size);
    (partial && size > 0 && payload_bytes > size).then_some(size)
}

fn cut_network(headers: Headers, run: Run, payload_bytes: usize, bytes: &mut [u8]) {
    let total = headers.header_bytes + payload_bytes;
    match headers.version {
        Version::V4 => {
            let id = u16::from_be_bytes([bytes[4], bytes[5]]).wrapping_add(run.first);
            bytes[2..4].copy_from_slice(&(total as u16).to_be_bytes());
            bytes[4..6].copy_from_slice(&id.to_be_bytes());
        }
        Version::V6 => bytes[4..6].copy_from_slice(&((total - 40) as u16).to_be_bytes()),
    }
}

fn mark_ce(version: Version, bytes: &mut [u8]) {
    bytes[1] |= match version {
        Version::V4 => 0x03,
        Version::V6 => 0x30,
    };
}
