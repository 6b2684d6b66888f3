//! The newest symbols by their numbers, in memory that is allocated once and used again.
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
}

impl SymbolRing {
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self {
            slots: Ring::new(capacity),
            capacity,
            next: 0,
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
        let slot = self.slot_mut(id);
        slot.clear();
        slot.extend_from_slice(&(packet.len() as u16).to_be_bytes());
        slot.extend_from_slice(packet);
    }

    /// Keeps a symbol and gives the place's old memory in exchange. The number has a place.
    pub fn swap_symbol(&mut self, id: u64, symbol: &mut Vec<u8>) {
        core::mem::swap(self.slot_mut(id), symbol);
    }

    fn slot_mut(&mut self, id: u64) -> &mut Vec<u8> {
        debug_assert!(self.range().contains(&id));
        &mut self.slots[id]
    }
}
