//! pcapng (draft-ietf-opsawg-pcapng): sections in either byte order, several interfaces, enhanced packets and obsolete ones. Simple
//! packets have no time and are counted only; other blocks are skipped.

use super::{ByteOrder, CapturedPacket, FileNotes, MAX_BLOCK_BYTES, Step};
use crate::CaptureError;
use crate::link::LinkType;

pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// Type, length, and the length again.
const FRAME_BYTES: usize = 12;
const MAX_INTERFACES: usize = 4096;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

#[derive(Debug)]
struct Interface {
    link: LinkType,
    ticks: Ticks,
    offset_ns: i64,
}

/// What a unit of a time stamp is.
#[derive(Clone, Copy, Debug)]
enum Ticks {
    /// Nanoseconds per tick.
    Whole(u64),
    PerSecond(u64),
}

#[derive(Debug)]
pub(super) struct Pcapng {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

impl Default for Pcapng {
    fn default() -> Self {
        Self {
            order: ByteOrder::Little,
            interfaces: Vec::new(),
        }
    }
}

impl Pcapng {
    pub(super) fn step<'a>(
        &mut self,
        bytes: &'a [u8],
        offset: u64,
        notes: &mut FileNotes,
    ) -> Result<Step<'a>, CaptureError> {
        let Some(head) = bytes.first_chunk::<FRAME_BYTES>() else {
            return Ok(Step::More {
                needed: FRAME_BYTES,
            });
        };
        let is_section = head[..4] == SECTION_HEADER.to_ne_bytes();
        if is_section {
            self.order = order_of(head, offset)?;
            self.interfaces.clear();
        }
        let length = self.order.u32_at(head, 4) as usize;
        if !(FRAME_BYTES..=MAX_BLOCK_BYTES).contains(&length) || !length.is_multiple_of(4) {
            return Err(CaptureError::invalid(
                offset,
                "length of a block",
                "a multiple of 4 from 12 to 16777216 bytes",
                length,
            ));
        }
        let Some(block) = bytes.get(..length) else {
            return Ok(Step::More { needed: length });
        };
        let again = self.order.u32_at(block, length - 4) as usize;
        if again != length {
            return Err(CaptureError::invalid(
                offset + length as u64 - 4,
                "length at the end of a block",
                "the length at its beginning",
                format_args!("{again} instead of {length}"),
            ));
        }
        let body = &block[8..length - 4];
        let packet = match self.order.u32_at(head, 0) {
            SECTION_HEADER => {
                least(body, 16, offset, "section header")?;
                None
            }
            INTERFACE_DESCRIPTION => {
                self.describe(body, offset)?;
                None
            }
            ENHANCED_PACKET => {
                least(body, 20, offset, "enhanced packet block")?;
                let interface = self.order.u32_at(body, 0) as usize;
                Some(self.packet(interface, body, offset)?)
            }
            OBSOLETE_PACKET => {
                least(body, 20, offset, "obsolete packet block")?;
                let interface = usize::from(self.order.u16_at(body, 0));
                Some(self.packet(interface, body, offset)?)
            }
            SIMPLE_PACKET => {
                notes.untimed_packets += 1;
                None
            }
            INTERFACE_STATISTICS => {
                let options = body.get(12..).unwrap_or_default();
                for (code, value) in self.options(options) {
                    if matches!(code, ISB_IFDROP | ISB_OSDROP) && value.len() == 8 {
                        let missed = self.order.u64_at(value, 0);
                        notes.missed_packets = notes.missed_packets.saturating_add(missed);
                    }
                }
                None
            }
            _ => None,
        };
        Ok(
            packet.map_or(Step::Skip { consumed: length }, |packet| Step::Packet {
                consumed: length,
                packet,
            }),
        )
    }

    fn describe(&mut self, body: &[u8], offset: u64) -> Result<(), CaptureError> {
        least(body, 8, offset, "interface description")?;
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(CaptureError::invalid(
                offset,
                "interface description",
                "at most 4096 interfaces in a section",
                "one more",
            ));
        }
        let mut interface = Interface {
            link: LinkType(self.order.u16_at(body, 0)),
            ticks: Ticks::Whole(1000),
            offset_ns: 0,
        };
        for (code, value) in self.options(&body[8..]) {
            match (code, value) {
                (IF_TSRESOL, [resolution, ..]) => {
                    interface.ticks = Ticks::of(*resolution).ok_or_else(|| {
                        CaptureError::invalid(
                            offset,
                            "time resolution of an interface (if_tsresol)",
                            "at most 10^-18 s or 2^-63 s",
                            format_args!("{resolution:#04x}"),
                        )
                    })?;
                }
                (IF_TSOFFSET, seconds) if seconds.len() == 8 => {
                    let seconds = self.order.u64_at(seconds, 0) as i64;
                    interface.offset_ns = seconds.saturating_mul(1_000_000_000);
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// Enhanced and obsolete blocks differ in their first four bytes only. `body` has at least 20 bytes.
    #[inline]
    fn packet<'a>(
        &self,
        interface: usize,
        body: &'a [u8],
        offset: u64,
    ) -> Result<CapturedPacket<'a>, CaptureError> {
        let Some(interface) = self.interfaces.get(interface) else {
            return Err(CaptureError::invalid(
                offset,
                "interface of a packet",
                "the number of an interface described before it",
                format_args!("{interface} where {} are described", self.interfaces.len()),
            ));
        };
        let word = |at| self.order.u32_at(body, at);
        let length = word(12) as usize;
        let Some(bytes) = body[20..].get(..length) else {
            return Err(CaptureError::invalid(
                offset,
                "captured length of a packet",
                "no more bytes than the block has",
                format_args!("{length} where there are {}", body.len() - 20),
            ));
        };
        let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
        Ok(CapturedPacket {
            at_ns: interface
                .ticks
                .ns(ticks)
                .saturating_add(interface.offset_ns),
            link: interface.link,
            wire_bytes: (word(16) as usize).max(length),
            bytes,
        })
    }

    /// Codes and values, as far as they are whole.
    fn options<'a>(&self, mut rest: &'a [u8]) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        let order = self.order;
        core::iter::from_fn(move || {
            let head = rest.first_chunk::<4>()?;
            let (code, length) = (order.u16_at(head, 0), usize::from(order.u16_at(head, 2)));
            if code == 0 {
                return None;
            }
            let value = rest.get(4..4 + length)?;
            rest = rest
                .get(4 + length.next_multiple_of(4)..)
                .unwrap_or_default();
            Some((code, value))
        })
    }
}

impl Ticks {
    fn of(resolution: u8) -> Option<Self> {
        let exponent = u32::from(resolution & 0x7f);
        if resolution & 0x80 != 0 {
            return (exponent <= 63).then(|| Self::PerSecond(1 << exponent));
        }
        Some(match exponent {
            0..=9 => Self::Whole(10_u64.pow(9 - exponent)),
            10..=18 => Self::PerSecond(10_u64.pow(exponent)),
            _ => return None,
        })
    }

    #[inline]
    fn ns(self, ticks: u64) -> i64 {
        let ns = match self {
            Self::Whole(each) => ticks.saturating_mul(each),
            Self::PerSecond(rate) => {
                let ns = u128::from(ticks) * 1_000_000_000 / u128::from(rate);
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        };
        i64::try_from(ns).unwrap_or(i64::MAX)
    }
}

fn order_of(head: &[u8; FRAME_BYTES], offset: u64) -> Result<ByteOrder, CaptureError> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find(|order| order.u32_at(head, 8) == BYTE_ORDER_MAGIC)
        .ok_or_else(|| {
            CaptureError::invalid(
                offset,
                "section header",
                "the byte-order magic 1a2b3c4d",
                format_args!("{:02x?}", &head[8..]),
            )
        })
}

fn least(body: &[u8], bytes: usize, offset: u64, what: &'static str) -> Result<(), CaptureError> {
    if body.len() < bytes {
        return Err(CaptureError::invalid(
            offset,
            what,
            "its fixed fields",
            format_args!("{} of their {bytes} bytes", body.len()),
        ));
    }
    Ok(())
}
