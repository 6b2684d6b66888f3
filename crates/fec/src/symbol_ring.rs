//! The newest symbols by their numbers, in memory that is allocated once and used again. What is no longer needed gives its memory to the
//! next symbols, so that few packets under way need little of it, and find it in the processor's cache.
//!
//! A symbol is a packet behind its length in two bytes, so packets of any length are coded together without padding: shorter
//! symbols are taken to end in zeros, and the length that is decoded with a packet says where it ends.

use crate::ring::Ring;
use core::ops::Range;

/// Bytes of the length before each packet.
pub(crate) const LENGTH_BYTES: usize = 2;

#[derive(Clone, Debug)]
pub(crate) struct SymbolRing {
    /// Empty where the symbol is not known.
    slots: Ring<Vec<u8>>,
    capacity: usize,
    next: u64,
    /// Numbers before this one are known, and have given back their memory.
    released: u64,
    spare: Vec<Vec<u8>>,
}

impl SymbolRing {
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self {
            slots: Ring::new(capacity),
            capacity,
            next: 0,
            released: 0,
            spare: Vec::new(),
        }
    }

    /// The numbers that have a place.
    pub fn range(&self) -> Range<u64> {
        self.next.saturating_sub(self.capacity as u64)..self.next
    }

    /// The symbol with its length in front.
    pub fn get(&self, id: u64) -> Option<&[u8]> {
        let slot = self.slots.get(id)?;
        (self.range().contains(&id) && !slot.is_empty()).then_some(slot)
    }

    /// Whether the number has a place and its symbol is known, also where its memory was given back.
    pub fn has(&self, id: u64) -> bool {
        (id < self.released && self.range().contains(&id)) || self.get(id).is_some()
    }

    /// Numbers before this one have no bytes any more.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// The bytes of the numbers before `id` are not asked for any more, and all of them are known.
    pub fn release_before(&mut self, id: u64) {
        let id = id.min(self.next);
        for gone in self.released.max(self.range().start)..id {
            if let Some(slot) = self.slots.get_mut(gone)
                && slot.capacity() > 0
            {
                self.spare.push(core::mem::take(slot));
            }
        }
        self.released = self.released.max(id);
    }

    pub fn packet(&self, id: u64) -> Option<&[u8]> {
        self.get(id)?.get(LENGTH_BYTES..)
    }

    /// Gives the numbers before `next` a place; the oldest lose theirs.
    pub fn advance_to(&mut self, next: u64) {
        let first_new = self.next.max(next.saturating_sub(self.capacity as u64));
        for id in first_new..next {
            match self.slots.get_mut(id) {
                Some(slot) => slot.clear(),
                None => self.slots.set(id, Vec::new()),
            }
        }
        self.next = self.next.max(next);
    }

    /// Keeps a packet, which has at most 65,535 bytes. The number has a place.
    pub fn set_packet(&mut self, id: u64, packet: &[u8]) {
        debug_assert!(packet.len() <= crate::PACKET_MAX_BYTES);
        debug_assert!(self.range().contains(&id));
        let slot = &mut self.slots[id];
        if slot.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *slot = spare;
        }
        slot.clear();
        slot.extend_from_slice(&(packet.len() as u16).to_be_bytes());
        slot.extend_from_slice(packet);
    }

    /// Keeps a symbol and gives the place's old memory in exchange. The number has a place.
    pub fn swap_symbol(&mut self, id: u64, symbol: &mut Vec<u8>) {
        debug_assert!(self.range().contains(&id));
        core::mem::swap(&mut self.slots[id], symbol);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_numbers_stay_known_and_their_memory_is_used_again() {
        let mut ring = SymbolRing::new(1 << 16);
        for id in 0..10_000_u64 {
            ring.advance_to(id + 1);
            ring.set_packet(id, &[id as u8; 100]);
            ring.release_before((id + 1).saturating_sub(8));
            assert_eq!(ring.packet(id), Some(&[id as u8; 100][..]));
        }
        assert!(ring.has(0) && ring.has(9_991) && ring.has(9_992) && !ring.has(10_000));
        assert_eq!(
            (ring.packet(9_991), ring.packet(9_992).is_some()),
            (None, true)
        );
        let memory: usize = (0..10_000).map(|id| ring.slots[id].capacity()).sum();
        let spare: usize = ring.spare.iter().map(Vec::capacity).sum();
        assert!(memory + spare <= 10 * 128, "{memory} and {spare} bytes");
        // Beyond what has a place nothing is known.
        ring.advance_to(1 << 17);
        assert!(!ring.has(9_992) && !ring.has((1 << 17) - 1));
    }
}
