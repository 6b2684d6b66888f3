//! ICMP's echo and its reply (RFC 792; RFC 4443, section 4).

use crate::bytes::array;
use crate::{Version, WireError, checksum};

const CHECKSUM_AT: usize = 2;

/// The header of an echo. Its checksum covers a pseudo-header in IPv6 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IcmpEcho {
    pub reply: bool,
    pub identifier: u16,
    pub sequence: u16,
    /// As it stands. [`IcmpEcho::finish_checksum`] computes it.
    pub checksum: u16,
}

impl IcmpEcho {
    pub const BYTES: usize = 8;

    /// By version: request, reply.
    fn types(version: Version) -> [u8; 2] {
        match version {
            Version::V4 => [8, 0],
            Version::V6 => [128, 129],
        }
    }

    /// `message` begins at the header. An ICMP message of another kind is an error.
    pub fn parse(message: &[u8], version: Version) -> Result<Self, WireError> {
        let fixed: [u8; Self::BYTES] = array(message, 0).ok_or(WireError::TooShort {
            what: "ICMP echo",
            needed: Self::BYTES,
            found: message.len(),
        })?;
        let reply = Self::types(version)
            .iter()
            .position(|&kind| kind == fixed[0]);
        let (Some(reply), 0) = (reply, fixed[1]) else {
            return Err(WireError::Invalid {
                what: "ICMP type and code",
                found: usize::from(fixed[0]) << 8 | usize::from(fixed[1]),
                expected: "those of an echo or its reply",
            });
        };
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        Ok(Self {
            reply: reply == 1,
            checksum: word(CHECKSUM_AT),
            identifier: word(4),
            sequence: word(6),
        })
    }

    /// Writes the header to the beginning of `out`, and returns its length.
    pub fn write(&self, version: Version, out: &mut [u8]) -> Result<usize, WireError> {
        WireError::unless_long_enough("buffer for an ICMP echo", out.len(), Self::BYTES)?;
        out[0] = Self::types(version)[usize::from(self.reply)];
        out[1] = 0;
        out[2..4].copy_from_slice(&self.checksum.to_be_bytes());
        out[4..6].copy_from_slice(&self.identifier.to_be_bytes());
        out[6..8].copy_from_slice(&self.sequence.to_be_bytes());
        Ok(Self::BYTES)
    }

    /// Computes the checksum of a message (header and payload) and puts it in its place. `pseudo_header_sum`: 0 for IPv4.
    pub fn finish_checksum(message: &mut [u8], pseudo_header_sum: u64) -> Result<(), WireError> {
        WireError::unless_long_enough("ICMP echo", message.len(), Self::BYTES)?;
        checksum::finish(message, CHECKSUM_AT, pseudo_header_sum);
        Ok(())
    }
}
