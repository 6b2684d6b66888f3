//! A segment as a small value: headers only, the payload is a length. Sequence numbers are 64-bit offsets in the
//! stream (the SYN is 0), so nothing wraps inside; a capture writes them modulo 2^32 over an initial one.

use bentpipe_base::Ecn;

/// TCP header flags as on the wire.
pub mod flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const PSH: u8 = 0x08;
    pub const ACK: u8 = 0x10;
    pub const ECE: u8 = 0x40;
    pub const CWR: u8 = 0x80;
}

/// SACK blocks, first the one of the segment that caused the ACK (RFC 2018); a duplicate's block stands before
/// (RFC 2883). Offsets from the cumulative acknowledgement, so that four fit in 32 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// (0, 0) where there is none: a block is never empty.
    blocks: [(i32, i32); 4],
}

impl SackBlocks {
    pub fn push(&mut self, ack: u64, start: u64, end: u64) {
        let relative = |seq: u64| seq.wrapping_sub(ack) as i64 as i32;
        let count = self.len();
        if count < self.blocks.len() {
            self.blocks[count] = (relative(start), relative(end));
        }
    }

    pub fn iter(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let absolute = move |offset: i32| ack.wrapping_add(i64::from(offset) as u64);
        self.blocks[..self.len()]
            .iter()
            .map(move |&(start, end)| (absolute(start), absolute(end)))
    }

    pub fn len(&self) -> usize {
        let found = self.blocks.iter().position(|&block| block == (0, 0));
        found.unwrap_or(self.blocks.len())
    }

    pub fn is_empty(&self) -> bool {
        self.blocks[0] == (0, 0)
    }

    /// Bytes of the option with its padding: two NOPs, kind, length, 8 per block.
    pub fn wire_bytes(&self) -> u32 {
        match self.len() {
            0 => 0,
            count => 4 + 8 * count as u32,
        }
    }
}

/// Options that only a SYN carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    pub mss: u16,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    pub flags: u8,
    pub ecn: Ecn,
    /// Whole IP packet.
    pub wire_bytes: u32,
    pub seq: u64,
    pub payload: u32,
    pub ack: u64,
    /// The header's 16-bit field, not scaled.
    pub window: u16,
    /// Timestamp option: value and echo, in milliseconds.
    pub timestamps: Option<(u32, u32)>,
    pub sack: SackBlocks,
    pub syn: SynOptions,
    /// Wire segments that this stands for: above 1 only after a receiver's coalescing.
    pub segments: u16,
}

impl Segment {
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Sequence space: payload, and one each for SYN and FIN.
    pub fn end_seq(&self) -> u64 {
        self.seq
            + u64::from(self.payload)
            + u64::from(self.has(flag::SYN))
            + u64::from(self.has(flag::FIN))
    }
}
