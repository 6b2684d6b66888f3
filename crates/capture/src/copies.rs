//! Copies of a packet in one capture: a mirror port or a bridge shows each packet twice, and so do captures of both ends that were
//! merged. A copy has the same fields of IP and TCP. Not compared are those that change on the way, such as the hop limit, and the
//! checksum, which a network card may fill in behind the capture.
//!
//! What a sender sends again is no copy: it has another identification (IPv4) or another time stamp. Where a packet has neither, only
//! time tells: a copy comes at once.

use crate::segment::Segment;

/// A copy at the other end comes so much later at most.
const WITHIN: u32 = ticks(1_000_000_000) as u32;
/// The same where neither identification nor time stamps tell it from a repetition.
const AT_ONCE: u32 = ticks(1_000_000) as u32;
/// A power of two.
const SETS: usize = 1 << 14;
/// Packets that are remembered of those with the same set. More push out the oldest.
const IN_A_SET: usize = 4;

/// When packets passed, by a hash of their fields: the latest of each set.
#[derive(Debug)]
pub struct Copies {
    /// A part of the hash, and ticks: small, because each packet looks at another place.
    sets: Vec<[(u32, u32); IN_A_SET]>,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            sets: vec![[(0, 0); IN_A_SET]; SETS],
        }
    }
}

impl Copies {
    /// How long ago the packet passed that this one is a copy of, in nanoseconds, exact to a tick.
    #[inline]
    pub fn passed_ago_ns(&mut self, at_ns: i64, segment: &Segment) -> Option<u64> {
        let hash = hash(segment);
        let set = &mut self.sets[hash as usize % SETS];
        let (tag, now) = ((hash >> 32) as u32, ticks(at_ns) as u32);
        let within = if segment.identification != 0 || segment.options.timestamps.is_some() {
            WITHIN
        } else {
            AT_ONCE
        };
        let Some(place) = set.iter_mut().find(|place| place.0 == tag) else {
            set.rotate_right(1);
            set[0] = (tag, now);
            return None;
        };
        // Ticks go round within an hour and more.
        let ago = (now.wrapping_sub(place.1) as i32).unsigned_abs();
        if ago <= within {
            return Some(u64::from(ago) << TICK_BITS);
        }
        place.1 = now;
        None
    }
}

/// A tick has so many nanoseconds, as a power of two: about a microsecond.
const TICK_BITS: u32 = 10;

const fn ticks(ns: i64) -> i64 {
    ns >> TICK_BITS
}

/// Never 0, which stands for nothing.
#[inline]
fn hash(segment: &Segment) -> u64 {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let (from, to) = (segment.from, segment.to);
    let addresses = from.address ^ to.address.rotate_left(64);
    let (value, echo) = segment.options.timestamps.unwrap_or_default();
    let words = [
        addresses as u64,
        (addresses >> 64) as u64,
        pair(
            u32::from(from.port) << 16 | u32::from(to.port),
            segment.payload_bytes,
        ),
        pair(segment.seq, segment.ack),
        u64::from(segment.identification) << 32
            | u64::from(segment.window) << 16
            | u64::from(segment.flags),
        pair(value, echo),
    ];
    let blocks = segment
        .options
        .sack()
        .iter()
        .map(|&(left, right)| pair(left, right));
    let mixed = words.into_iter().chain(blocks).fold(0, mix);
    (mixed ^ mixed >> 32) | 1 << 63
}

/// A step of a multiplicative hash (as Firefox's); the odd number has the golden ratio's bits.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
