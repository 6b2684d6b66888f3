//! Reads the packets of a capture out of bytes that are handed over piece by piece. The caller does the I/O.

mod pcap;
mod pcapng;

use crate::CaptureError;
use crate::link::LinkType;

/// A record or block longer than this is taken for a damaged file.
pub const MAX_BLOCK_BYTES: usize = 16 << 20;

/// One packet as the capture has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedPacket<'a> {
    /// Since 1970.
    pub at_ns: i64,
    pub link: LinkType,
    /// Length on the wire; the capture may hold fewer bytes.
    pub wire_bytes: usize,
    pub bytes: &'a [u8],
}

/// What stands at the head of the bytes given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The next step begins after `consumed` bytes.
    Packet {
        consumed: usize,
        packet: CapturedPacket<'a>,
    },
    /// A header, or a block without a packet.
    Skip { consumed: usize },
    /// At least this many bytes are needed, counted from the same place.
    More { needed: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

#[derive(Debug, Default)]
enum Format {
    #[default]
    Unknown,
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
}

/// A parser of pcap and pcapng. It holds the interfaces of the section and no packet.
#[derive(Debug, Default)]
pub struct FileReader {
    format: Format,
    offset: u64,
    notes: FileNotes,
}

/// What a capture says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileNotes {
    /// Packets that the capturing program missed, as it counted them.
    pub missed_packets: u64,
    /// Packets without a time (pcapng's simple packet blocks): they cannot be used.
    pub untimed_packets: u64,
}

impl FileReader {
    /// Byte of the file at which the next step begins.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    pub fn notes(&self) -> FileNotes {
        self.notes
    }

    /// `bytes` begin at [`Self::offset`].
    #[inline]
    pub fn step<'a>(&mut self, bytes: &'a [u8]) -> Result<Step<'a>, CaptureError> {
        let step = match &mut self.format {
            Format::Pcap(pcap) => pcap.step(bytes, self.offset)?,
            Format::Pcapng(pcapng) => pcapng.step(bytes, self.offset, &mut self.notes)?,
            Format::Unknown => self.begin(bytes)?,
        };
        if let Step::Packet { consumed, .. } | Step::Skip { consumed } = step {
            self.offset += consumed as u64;
        }
        Ok(step)
    }

    /// The error of a file that ends with `rest` where `needed` bytes should follow.
    pub fn cut_off(&self, rest: usize, needed: usize) -> CaptureError {
        CaptureError {
            offset: self.offset,
            what: match self.format {
                Format::Unknown => "head of a capture",
                Format::Pcap(_) => "packet record",
                Format::Pcapng(_) => "block",
            },
            expected: "whole",
            found: format!("only {rest} of {needed} bytes: the file is cut off here"),
            cut_off: true,
        }
    }

    fn begin<'a>(&mut self, bytes: &'a [u8]) -> Result<Step<'a>, CaptureError> {
        let Some(magic) = bytes.first_chunk::<4>() else {
            return Ok(Step::More { needed: 4 });
        };
        if *magic == pcapng::SECTION_HEADER.to_ne_bytes() {
            self.format = Format::Pcapng(pcapng::Pcapng::default());
            return Ok(Step::Skip { consumed: 0 });
        }
        if let Some((order, ticks)) = pcap::kind_of(*magic) {
            let Some(head) = bytes.first_chunk() else {
                return Ok(Step::More {
                    needed: pcap::HEADER_BYTES,
                });
            };
            self.format = Format::Pcap(pcap::Pcap::new(order, ticks, head));
            return Ok(Step::Skip {
                consumed: pcap::HEADER_BYTES,
            });
        }
        let found = match magic {
            [0x1f, 0x8b, ..] => "a gzip file: decompress it first".into(),
            [0x28, 0xb5, 0x2f, 0xfd] => "a zstd file: decompress it first".into(),
            [0xfd, b'7', b'z', b'X'] => "an xz file: decompress it first".into(),
            other => format!(
                "bytes {:02x} {:02x} {:02x} {:02x}",
                other[0], other[1], other[2], other[3]
            ),
        };
        Err(CaptureError::invalid(
            0,
            "head of a capture",
            "the magic number of pcap or pcapng",
            found,
        ))
    }
}

impl ByteOrder {
    #[inline]
    fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }

    #[inline]
    fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }

    /// 0 where the bytes end too early: the caller has looked at their length.
    #[inline]
    fn u32_at(self, bytes: &[u8], at: usize) -> u32 {
        bytes
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |chunk| self.u32(*chunk))
    }

    #[inline]
    fn u16_at(self, bytes: &[u8], at: usize) -> u16 {
        bytes
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .map_or(0, |chunk| self.u16(*chunk))
    }

    fn u64_at(self, bytes: &[u8], at: usize) -> u64 {
        let (first, second) = (
            u64::from(self.u32_at(bytes, at)),
            u64::from(self.u32_at(bytes, at + 4)),
        );
        match self {
            Self::Little => second << 32 | first,
            Self::Big => first << 32 | second,
        }
    }
}
