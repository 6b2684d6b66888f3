//! The format of tcpdump's first twenty years (draft-ietf-opsawg-pcap), with microseconds or nanoseconds, in either byte order.

use super::{ByteOrder, CapturedPacket, Step};
use crate::CaptureError;
use crate::link::LinkType;

pub(super) const HEADER_BYTES: usize = 24;
const RECORD_BYTES: usize = 16;
/// Wireshark's limit is 256 KiB; super-packets of "big TCP" are up to 512 KiB.
const MAX_PACKET_BYTES: usize = 1 << 20;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;

#[derive(Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    tick_ns: i64,
    link: LinkType,
}

/// The byte order and how many nanoseconds a tick has; `None`: another file.
pub(super) fn kind_of(magic: [u8; 4]) -> Option<(ByteOrder, i64)> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .find_map(|order| match order.u32(magic) {
            MICROSECONDS => Some((order, 1000)),
            NANOSECONDS => Some((order, 1)),
            _ => None,
        })
}

impl Pcap {
    pub(super) fn new(order: ByteOrder, tick_ns: i64, head: &[u8; HEADER_BYTES]) -> Self {
        // The upper bits say whether a frame check sequence follows.
        let link = order.u32_at(head, 20) as u16;
        Self {
            order,
            tick_ns,
            link: LinkType(link),
        }
    }

    #[inline]
    pub(super) fn step<'a>(&self, bytes: &'a [u8], offset: u64) -> Result<Step<'a>, CaptureError> {
        let Some(head) = bytes.first_chunk::<RECORD_BYTES>() else {
            return Ok(Step::More {
                needed: RECORD_BYTES,
            });
        };
        let word = |at| self.order.u32_at(head, at);
        let length = word(8) as usize;
        if length > MAX_PACKET_BYTES {
            return Err(CaptureError::invalid(
                offset,
                "packet record",
                "a captured length of at most 1048576 bytes",
                length,
            ));
        }
        let end = RECORD_BYTES + length;
        let Some(packet) = bytes.get(RECORD_BYTES..end) else {
            return Ok(Step::More { needed: end });
        };
        Ok(Step::Packet {
            consumed: end,
            packet: CapturedPacket {
                at_ns: i64::from(word(0)) * 1_000_000_000 + i64::from(word(4)) * self.tick_ns,
                link: self.link,
                wire_bytes: (word(12) as usize).max(length),
                bytes: packet,
            },
        })
    }
}
