//! The IPv4 header (RFC 791, RFC 2474, RFC 3168).

use crate::bytes::{array, be16};
use crate::{WireError, checksum};
use bentpipe_base::Ecn;
use core::net::Ipv4Addr;

const MIN_BYTES: usize = 20;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;
pub(crate) const CHECKSUM_AT: usize = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header<'a> {
    /// Six bits.
    pub dscp: u8,
    pub ecn: Ecn,
    /// Of the packet, this header included.
    pub total_bytes: u16,
    pub identification: u16,
    pub dont_fragment: bool,
    pub more_fragments: bool,
    /// In units of 8 bytes; 13 bits.
    pub fragment_offset: u16,
    pub ttl: u8,
    pub protocol: u8,
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    /// A multiple of 4 bytes, at most 40.
    pub options: &'a [u8],
}

impl<'a> Ipv4Header<'a> {
    pub const MIN_BYTES: usize = MIN_BYTES;
    pub const MAX_BYTES: usize = 60;

    /// Does not look at the checksum ([`Self::is_checksum_right`]), nor whether the packet is as long as it says.
    pub fn parse(packet: &'a [u8]) -> Result<Self, WireError> {
        let fixed: [u8; MIN_BYTES] =
            array(packet, 0).ok_or_else(|| Self::too_short(packet, Self::MIN_BYTES))?;
        if fixed[0] >> 4 != 4 {
            return Err(WireError::Invalid {
                what: "IP version",
                found: usize::from(fixed[0] >> 4),
                expected: "4",
            });
        }
        let header_bytes = usize::from(fixed[0] & 0x0f) * 4;
        if header_bytes < Self::MIN_BYTES {
            return Err(WireError::Invalid {
                what: "IPv4 header length in bytes",
                found: header_bytes,
                expected: "at least 20",
            });
        }
        let options = packet
            .get(Self::MIN_BYTES..header_bytes)
            .ok_or_else(|| Self::too_short(packet, header_bytes))?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let address =
            |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
        Ok(Self {
            dscp: fixed[1] >> 2,
            ecn: Ecn::from_bits(fixed[1]),
            total_bytes: word(2),
            identification: word(4),
            dont_fragment: word(6) & DONT_FRAGMENT != 0,
            more_fragments: word(6) & MORE_FRAGMENTS != 0,
            fragment_offset: word(6) & FRAGMENT_OFFSET,
            ttl: fixed[8],
            protocol: fixed[9],
            source: address(12),
            destination: address(16),
            options,
        })
    }

    fn too_short(packet: &[u8], needed: usize) -> WireError {
        WireError::TooShort {
            what: "IPv4 header",
            needed,
            found: packet.len(),
        }
    }

    pub fn header_bytes(&self) -> usize {
        Self::MIN_BYTES + self.options.len()
    }

    /// A fragment has no transport header, or not all that belongs to it.
    pub fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }

    /// Writes the header with its checksum to the beginning of `out`, and returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let header_bytes = self.header_bytes();
        if !header_bytes.is_multiple_of(4) || header_bytes > Self::MAX_BYTES {
            return Err(WireError::Invalid {
                what: "length of the IPv4 options in bytes",
                found: self.options.len(),
                expected: "a multiple of 4, at most 40",
            });
        }
        for (what, found, most, expected) in [
            ("DSCP", u16::from(self.dscp), 0x3f, "6 bits"),
            (
                "IPv4 fragment offset",
                self.fragment_offset,
                FRAGMENT_OFFSET,
                "13 bits",
            ),
        ] {
            if found > most {
                return Err(WireError::Invalid {
                    what,
                    found: found.into(),
                    expected,
                });
            }
        }
        WireError::unless_long_enough("buffer for an IPv4 header", out.len(), header_bytes)?;
        let out = &mut out[..header_bytes];
        let mut fragment = self.fragment_offset;
        if self.dont_fragment {
            fragment |= DONT_FRAGMENT;
        }
        if self.more_fragments {
            fragment |= MORE_FRAGMENTS;
        }
        out[0] = 0x40 | (header_bytes / 4) as u8;
        out[1] = self.dscp << 2 | self.ecn.bits();
        out[2..4].copy_from_slice(&self.total_bytes.to_be_bytes());
        out[4..6].copy_from_slice(&self.identification.to_be_bytes());
        out[6..8].copy_from_slice(&fragment.to_be_bytes());
        out[8] = self.ttl;
        out[9] = self.protocol;
        out[12..16].copy_from_slice(&self.source.octets());
        out[16..20].copy_from_slice(&self.destination.octets());
        out[20..].copy_from_slice(self.options);
        write_checksum(out);
        Ok(header_bytes)
    }

    /// Whether the checksum of the header at the beginning of `packet` is right. `false` where there is no whole header.
    pub fn is_checksum_right(packet: &[u8]) -> bool {
        let header_bytes = packet
            .first()
            .map_or(0, |byte| usize::from(byte & 0x0f) * 4);
        header_bytes >= Self::MIN_BYTES
            && packet
                .get(..header_bytes)
                .is_some_and(|header| checksum::fold(checksum::sum(header)) == 0xffff)
    }

    /// The checksum field, 0 where there is none.
    pub fn checksum_of(packet: &[u8]) -> u16 {
        be16(packet, CHECKSUM_AT).unwrap_or(0)
    }
}

/// Sums a whole header anew.
pub(crate) fn write_checksum(header: &mut [u8]) {
    header[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    let sum = !checksum::fold(checksum::sum(header));
    header[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
}
