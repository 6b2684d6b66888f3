//! The UDP header (RFC 768).

use crate::bytes::array;
use crate::{WireError, checksum};

pub(crate) const LENGTH_AT: usize = 4;
pub(crate) const CHECKSUM_AT: usize = 6;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpHeader {
    pub source_port: u16,
    pub destination_port: u16,
    /// Of the datagram, this header included.
    pub length_bytes: u16,
    /// As it stands. 0: there is none. [`UdpHeader::finish_checksum`] computes it.
    pub checksum: u16,
}

impl UdpHeader {
    pub const BYTES: usize = 8;

    /// `datagram` begins at the header. Does not look whether it is as long as it says.
    pub fn parse(datagram: &[u8]) -> Result<Self, WireError> {
        let fixed: [u8; Self::BYTES] = array(datagram, 0).ok_or(WireError::TooShort {
            what: "UDP header",
            needed: Self::BYTES,
            found: datagram.len(),
        })?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        Ok(Self {
            source_port: word(0),
            destination_port: word(2),
            length_bytes: word(LENGTH_AT),
            checksum: word(CHECKSUM_AT),
        })
    }

    /// Writes the header to the beginning of `out`, and returns its length.
    pub fn write(&self, out: &mut [u8]) -> Result<usize, WireError> {
        WireError::unless_long_enough("buffer for a UDP header", out.len(), Self::BYTES)?;
        for (at, word) in [
            (0, self.source_port),
            (2, self.destination_port),
            (LENGTH_AT, self.length_bytes),
            (CHECKSUM_AT, self.checksum),
        ] {
            out[at..at + 2].copy_from_slice(&word.to_be_bytes());
        }
        Ok(Self::BYTES)
    }

    /// Computes the checksum of a datagram (header and payload) and puts it in its place. One of zero is sent as all ones,
    /// since zero says that there is none.
    pub fn finish_checksum(datagram: &mut [u8], pseudo_header_sum: u64) -> Result<(), WireError> {
        WireError::unless_long_enough("UDP header", datagram.len(), Self::BYTES)?;
        checksum::finish(datagram, CHECKSUM_AT, pseudo_header_sum);
        let field = &mut datagram[CHECKSUM_AT..CHECKSUM_AT + 2];
        if *field == [0, 0] {
            field.fill(0xff);
        }
        Ok(())
    }
}
