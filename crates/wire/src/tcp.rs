//! The TCP header (RFC 9293, section 3.1; the flags ECE, CWR and AE by RFC 3168 and draft-ietf-tcpm-accurate-ecn).

use crate::bytes::array;
use crate::{TcpOptions, WireError, checksum};

/// The flags, and the reserved bits above them, as one number of 12 bits.
pub mod flag {
    pub const FIN: u16 = 0x001;
    pub const SYN: u16 = 0x002;
    pub const RST: u16 = 0x004;
    pub const PSH: u16 = 0x008;
    pub const ACK: u16 = 0x010;
    pub const URG: u16 = 0x020;
    pub const ECE: u16 = 0x040;
    pub const CWR: u16 = 0x080;
    pub const AE: u16 = 0x100;
    pub(super) const ALL: u16 = 0xfff;
}

const MIN_BYTES: usize = 20;
pub(crate) const SEQ_AT: usize = 4;
/// The lower eight flags.
pub(crate) const FLAGS_AT: usize = 13;
pub(crate) const CHECKSUM_AT: usize = 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader<'a> {
    pub source_port: u16,
    pub destination_port: u16,
    pub seq: u32,
    pub ack: u32,
    /// Of [`flag`].
    pub flags: u16,
    /// As it stands, not scaled.
    pub window: u16,
    /// As it stands. [`TcpHeader::finish_checksum`] computes it.
    pub checksum: u16,
    pub urgent: u16,
    /// A multiple of 4 bytes, at most 40. [`TcpHeader::options`] reads them.
    pub option_bytes: &'a [u8],
}

impl<'a> TcpHeader<'a> {
    pub const MIN_BYTES: usize = MIN_BYTES;
    pub const MAX_BYTES: usize = 60;

    /// `segment` begins at the header.
    pub fn parse(segment: &'a [u8]) -> Result<Self, WireError> {
        let too_short = |needed| WireError::TooShort {
            what: "TCP header",
            needed,
            found: segment.len(),
        };
        let fixed: [u8; MIN_BYTES] = array(segment, 0).ok_or_else(|| too_short(Self::MIN_BYTES))?;
        let header_bytes = usize::from(fixed[12] >> 4) * 4;
        if header_bytes < Self::MIN_BYTES {
            return Err(WireError::Invalid {
                what: "TCP header length in bytes",
                found: header_bytes,
                expected: "at least 20",
            });
        }
        let option_bytes = segment
            .get(Self::MIN_BYTES..header_bytes)
            .ok_or_else(|| too_short(header_bytes))?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let double = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        Ok(Self {
            source_port: word(0),
            destination_port: word(2),
            seq: double(4),
            ack: double(8),
            flags: word(12) & flag::ALL,
            window: word(14),
            checksum: word(16),
            urgent: word(18),
            option_bytes,
        })
    }

    pub fn header_bytes(&self) -> usize {
        Self::MIN_BYTES + self.option_bytes.len()
    }

    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub fn options(&self) -> TcpOptions<'a> {
        TcpOptions::new(self.option_bytes)
    }

    /// Writes the header to the beginning of `out`, and returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let header_bytes = self.header_bytes();
        if !header_bytes.is_multiple_of(4) || header_bytes > Self::MAX_BYTES {
            return Err(WireError::Invalid {
                what: "length of the TCP options in bytes",
                found: self.option_bytes.len(),
                expected: "a multiple of 4, at most 40",
            });
        }
        if self.flags > flag::ALL {
            return Err(WireError::Invalid {
                what: "TCP flags",
                found: self.flags.into(),
                expected: "12 bits",
            });
        }
        WireError::unless_long_enough("buffer for a TCP header", out.len(), header_bytes)?;
        let out = &mut out[..header_bytes];
        let offset_and_flags = (header_bytes as u16 / 4) << 12 | self.flags;
        out[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        out[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        out[4..8].copy_from_slice(&self.seq.to_be_bytes());
        out[8..12].copy_from_slice(&self.ack.to_be_bytes());
        out[12..14].copy_from_slice(&offset_and_flags.to_be_bytes());
        out[14..16].copy_from_slice(&self.window.to_be_bytes());
        out[16..18].copy_from_slice(&self.checksum.to_be_bytes());
        out[18..20].copy_from_slice(&self.urgent.to_be_bytes());
        out[20..].copy_from_slice(self.option_bytes);
        Ok(header_bytes)
    }

    /// Computes the checksum of a segment (header and payload) and puts it in its place. `pseudo_header_sum` is that of
    /// [`crate::IpHeader::pseudo_header_sum`].
    pub fn finish_checksum(segment: &mut [u8], pseudo_header_sum: u64) -> Result<(), WireError> {
        WireError::unless_long_enough("TCP header", segment.len(), Self::MIN_BYTES)?;
        checksum::finish(segment, CHECKSUM_AT, pseudo_header_sum);
        Ok(())
    }
}

/// The sequence space of a segment's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceRange {
    /// Of the first payload byte: a SYN counts before it.
    pub seq: u32,
    pub payload_bytes: u32,
    pub syn: bool,
}
