//! One captured packet as a TCP segment. A snapped packet is read as far as it goes: lengths come from the IP header, or from the
//! length on the wire where the IP header says none (super-packets before the device cuts them).

use bentpipe_wire::{Layout, TcpOption, TcpOptions, Version, protocol, tcp::flag};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address and a port. IPv4 addresses are mapped into IPv6's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub address: u128,
    pub port: u16,
}

/// What the analysis needs of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    pub from: Endpoint,
    pub to: Endpoint,
    pub seq: u32,
    pub ack: u32,
    /// Of [`bentpipe_wire::tcp::flag`].
    pub flags: u16,
    /// Not scaled.
    pub window: u16,
    pub payload_bytes: u32,
    /// Tells a packet that was captured twice from one that was sent twice.
    pub identification: u16,
    pub hop_limit: u8,
    pub is_marked: bool,
    pub options: Options,
}

/// The options that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The packet was snapped within them: those that are absent may be among what was cut off.
    pub are_cut_off: bool,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// Value and echo.
    pub timestamps: Option<(u32, u32)>,
    sack: [(u32, u32); 4],
    sack_blocks: u8,
}

/// What a packet that is not a usable TCP segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTcp {
    /// UDP and the like.
    OtherProtocol,
    /// ICMP "fragmentation needed" or `ICMPv6` "packet too big".
    TooBig,
    Fragment,
    /// Not an IP packet, or cut or damaged before its sequence number could be read.
    Unreadable,
}

impl Endpoint {
    pub fn ip(self) -> IpAddr {
        Ipv6Addr::from_bits(self.address).to_canonical()
    }
}

impl Options {
    pub fn sack(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_blocks)]
    }

    fn read(bytes: &[u8]) -> Self {
        let mut read = Self::default();
        for option in TcpOptions::new(bytes) {
            match option {
                Ok(TcpOption::MaximumSegmentSize(mss)) => read.mss = Some(mss),
                Ok(TcpOption::WindowScale(shift)) => read.window_scale = Some(shift.min(14)),
                Ok(TcpOption::SackPermitted) => read.sack_permitted = true,
                Ok(TcpOption::Timestamps { value, echo }) => read.timestamps = Some((value, echo)),
                Ok(TcpOption::Sack(blocks)) => {
                    for (place, block) in read.sack.iter_mut().zip(blocks.iter()) {
                        *place = block;
                        read.sack_blocks += 1;
                    }
                }
                Ok(_) => {}
                Err(_) => break,
            }
            if read.sack_blocks > 0 {
                break;
            }
        }
        // Time stamps may stand behind the blocks.
        if read.sack_blocks > 0 && read.timestamps.is_none() {
            read.timestamps = TcpOptions::new(bytes).find_map(|option| match option {
                Ok(TcpOption::Timestamps { value, echo }) => Some((value, echo)),
                _ => None,
            });
        }
        read
    }
}

impl Segment {
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// `wire_bytes`: of the IP packet on the wire, of which `packet` may hold less.
    pub fn parse(packet: &[u8], wire_bytes: usize) -> Result<Self, NotTcp> {
        let layout = Layout::parse(packet).map_err(|_| NotTcp::Unreadable)?;
        let (from, to, identification, hop_limit, is_fragment) = network(packet, &layout);
        if is_fragment {
            return Err(NotTcp::Fragment);
        }
        let rest = &packet[layout.network_bytes..];
        match layout.protocol {
            protocol::TCP => {}
            protocol::ICMP if rest.starts_with(&[3, 4]) => return Err(NotTcp::TooBig),
            protocol::ICMP_V6 if rest.starts_with(&[2]) => return Err(NotTcp::TooBig),
            _ => return Err(NotTcp::OtherProtocol),
        }
        let fixed: &[u8; 20] = rest.first_chunk().ok_or(NotTcp::Unreadable)?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let double = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let transport_bytes = usize::from(fixed[12] >> 4) * 4;
        if transport_bytes < 20 {
            return Err(NotTcp::Unreadable);
        }
        let options = &rest[20..transport_bytes.min(rest.len())];
        let total = match layout.total_bytes {
            0 => wire_bytes,
            total => total,
        };
        let headers = layout.network_bytes + transport_bytes;
        Ok(Self {
            from: Endpoint {
                address: from,
                port: word(0),
            },
            to: Endpoint {
                address: to,
                port: word(2),
            },
            seq: double(4),
            ack: double(8),
            flags: word(12) & 0xfff,
            window: word(14),
            payload_bytes: total.saturating_sub(headers).min(1 << 24) as u32,
            identification,
            hop_limit,
            is_marked: layout.ecn(packet).bits() == 3,
            options: Options {
                are_cut_off: rest.len() < transport_bytes,
                ..Options::read(options)
            },
        })
    }

    /// Payload, and one each for SYN and FIN.
    pub fn sequence_bytes(&self) -> u32 {
        self.payload_bytes + u32::from(self.has(flag::SYN)) + u32::from(self.has(flag::FIN))
    }
}

/// Addresses, identification, hop limit, and whether it is a fragment.
#[inline]
fn network(packet: &[u8], layout: &Layout) -> (u128, u128, u16, u8, bool) {
    match layout.version {
        Version::V4 => {
            let address = |at: usize| {
                let bits = [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
                Ipv4Addr::from(bits).to_ipv6_mapped().to_bits()
            };
            let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            (
                address(12),
                address(16),
                word(4),
                packet[8],
                word(6) & 0x3fff != 0,
            )
        }
        Version::V6 => {
            let address = |at: usize| {
                packet[at..]
                    .first_chunk()
                    .map_or(0, |octets| u128::from_be_bytes(*octets))
            };
            (
                address(8),
                address(24),
                0,
                packet[7],
                has_fragment_header(packet),
            )
        }
    }
}

fn has_fragment_header(packet: &[u8]) -> bool {
    let (mut next, mut at) = (packet[6], 40);
    // As many extension headers as `Layout` walks at most.
    for _ in 0..32 {
        match next {
            44 => return true,
            0 | 43 | 60 => {
                let (Some(after), Some(eights)) = (packet.get(at), packet.get(at + 1)) else {
                    return false;
                };
                next = *after;
                at += (usize::from(*eights) + 1) * 8;
            }
            _ => return false,
        }
    }
    false
}
