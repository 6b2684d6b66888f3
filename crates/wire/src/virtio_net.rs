//! The header that a TUN device with `IFF_VNET_HDR` puts before each packet (`include/uapi/linux/virtio_net.h`):
//! how far the checksum is done, and how a super-packet is to be cut.

use crate::WireError;
use crate::bytes::array;

/// Lengths that `TUNSETVNETHDRSZ` may have set: with and without `num_buffers`, which a TUN device does not use.
pub const MAX_BYTES: usize = 12;
/// The shorter of them.
pub const BYTES: usize = 10;

pub const NEEDS_CSUM: u8 = 1;

pub const GSO_NONE: u8 = 0;
pub const GSO_TCPV4: u8 = 1;
pub const GSO_TCPV6: u8 = 4;
pub const GSO_UDP_L4: u8 = 5;
/// Joined to a TCP type: CWR stands in the first segment only.
pub const GSO_ECN: u8 = 0x80;

/// In this machine's byte order, which is what a TUN device uses unless asked otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VirtioNetHeader {
    pub flags: u8,
    pub gso_type: u8,
    /// Bytes of headers before the payload.
    pub hdr_len: u16,
    /// Payload bytes of each segment.
    pub gso_size: u16,
    /// Where the checksum begins to be summed, from the start of the packet, and where it is put, from there.
    pub csum_start: u16,
    pub csum_offset: u16,
}

impl VirtioNetHeader {
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let bytes: [u8; BYTES] = array(bytes, 0).ok_or(WireError::TooShort {
            what: "virtio-net header",
            needed: BYTES,
            found: bytes.len(),
        })?;
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Ok(Self {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: word(2),
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
        })
    }

    pub fn to_bytes(self) -> [u8; MAX_BYTES] {
        let mut bytes = [0; MAX_BYTES];
        bytes[0] = self.flags;
        bytes[1] = self.gso_type;
        for (at, word) in [
            (2, self.hdr_len),
            (4, self.gso_size),
            (6, self.csum_start),
            (8, self.csum_offset),
        ] {
            bytes[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    pub fn needs_csum(self) -> bool {
        self.flags & NEEDS_CSUM != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_round_trip() {
        let header = VirtioNetHeader {
            flags: NEEDS_CSUM,
            gso_type: GSO_TCPV4 | GSO_ECN,
            hdr_len: 52,
            gso_size: 1448,
            csum_start: 20,
            csum_offset: 16,
        };
        assert_eq!(VirtioNetHeader::parse(&header.to_bytes()), Ok(header));
        assert!(VirtioNetHeader::parse(&header.to_bytes()[..9]).is_err());
    }
}
