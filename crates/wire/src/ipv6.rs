//! The fixed IPv6 header (RFC 8200, section 3).

use crate::WireError;
use crate::bytes::array;
use bentpipe_base::Ecn;
use core::net::Ipv6Addr;

const FLOW_LABEL: u32 = 0x000f_ffff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6Header {
    /// Six bits.
    pub dscp: u8,
    pub ecn: Ecn,
    /// 20 bits.
    pub flow_label: u32,
    /// All that follows this header. 0: not said (a jumbogram).
    pub payload_bytes: u16,
    /// The protocol, or the number of the first extension header.
    pub next_header: u8,
    pub hop_limit: u8,
    pub source: Ipv6Addr,
    pub destination: Ipv6Addr,
}

impl Ipv6Header {
    pub const BYTES: usize = 40;

    /// Does not look whether the packet is as long as it says.
    pub fn parse(packet: &[u8]) -> Result<Self, WireError> {
        let fixed: [u8; Self::BYTES] = array(packet, 0).ok_or(WireError::TooShort {
            what: "IPv6 header",
            needed: Self::BYTES,
            found: packet.len(),
        })?;
        let first = u32::from_be_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
        if first >> 28 != 6 {
            return Err(WireError::Invalid {
                what: "IP version",
                found: (first >> 28) as usize,
                expected: "6",
            });
        }
        let address =
            |at: usize| array(&fixed, at).map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from_octets);
        let traffic_class = (first >> 20) as u8;
        Ok(Self {
            dscp: traffic_class >> 2,
            ecn: Ecn::from_bits(traffic_class),
            flow_label: first & FLOW_LABEL,
            payload_bytes: u16::from_be_bytes([fixed[4], fixed[5]]),
            next_header: fixed[6],
            hop_limit: fixed[7],
            source: address(8),
            destination: address(24),
        })
    }

    /// Writes the header to the beginning of `out`, and returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WireError> {
        for (what, found, most, expected) in [
            ("DSCP", u32::from(self.dscp), 0x3f, "6 bits"),
            ("IPv6 flow label", self.flow_label, FLOW_LABEL, "20 bits"),
        ] {
            if found > most {
                return Err(WireError::Invalid {
                    what,
                    found: found as usize,
                    expected,
                });
            }
        }
        WireError::unless_long_enough("buffer for an IPv6 header", out.len(), Self::BYTES)?;
        let traffic_class = self.dscp << 2 | self.ecn.bits();
        let first = 6 << 28 | u32::from(traffic_class) << 20 | self.flow_label;
        out[0..4].copy_from_slice(&first.to_be_bytes());
        out[4..6].copy_from_slice(&self.payload_bytes.to_be_bytes());
        out[6] = self.next_header;
        out[7] = self.hop_limit;
        out[8..24].copy_from_slice(&self.source.octets());
        out[24..40].copy_from_slice(&self.destination.octets());
        Ok(Self::BYTES)
    }
}
