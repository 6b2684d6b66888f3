//! The encoder: keeps the newest packets and combines any window of them to a repair symbol.

use crate::coefficients::{Coefficients, Density};
use crate::field::Kernel;
use crate::symbol_ring::{LENGTH_BYTES, SymbolRing};
use core::ops::Range;

/// The most symbols that one repair symbol covers: their count has 16 bits.
pub const WINDOW_MAX_SYMBOLS: usize = 65_535;
/// A packet's length has 16 bits.
pub const PACKET_MAX_BYTES: usize = 65_535;

/// What a repair symbol is made of: with it, the receiver draws the same coefficients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairId {
    /// The first source symbol that it covers.
    pub first: u64,
    pub symbols: u16,
    pub key: u16,
    pub density: Density,
}

impl RepairId {
    pub fn window(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.symbols.into())
    }

    pub(crate) fn coefficients(&self) -> impl Iterator<Item = u8> {
        Coefficients::new(self.key, self.density).take(self.symbols.into())
    }
}

#[derive(Clone, Debug)]
pub struct Encoder {
    ring: SymbolRing,
    kernel: Kernel,
}

impl Encoder {
    /// An encoder that keeps the newest `capacity` packets.
    pub fn new(capacity: usize, kernel: Kernel) -> Self {
        Self {
            ring: SymbolRing::new(capacity),
            kernel,
        }
    }

    /// The numbers of the packets that are kept. The first packet of all has the number 0.
    pub fn kept(&self) -> Range<u64> {
        self.ring.range()
    }

    pub fn packet(&self, id: u64) -> Option<&[u8]> {
        self.ring.packet(id)
    }

    /// Keeps a packet and returns its number; `None` for a packet longer than [`PACKET_MAX_BYTES`].
    pub fn push(&mut self, packet: &[u8]) -> Option<u64> {
        if packet.len() > PACKET_MAX_BYTES {
            return None;
        }
        let id = self.ring.range().end;
        self.ring.advance_to(id + 1);
        self.ring.set_packet(id, packet);
        Some(id)
    }

    /// The packets before this number are not needed any more. Their memory is used for the next ones.
    pub fn release_before(&mut self, id: u64) {
        self.ring.release_before(id);
    }

    /// Appends the repair symbol of `id` to `out`: two bytes of coded lengths, then as many bytes as the longest packet of the
    /// window has. False, and nothing is appended, where the window is empty or a packet of it is no longer kept.
    pub fn repair(&self, id: &RepairId, out: &mut Vec<u8>) -> bool {
        let window = id.window();
        let Some(longest) = self.longest(window.clone()) else {
            return false;
        };
        let start = out.len();
        out.resize(start + longest, 0);
        for (symbol, coefficient) in window.zip(id.coefficients()) {
            let symbol = self.ring.get(symbol).unwrap_or_default();
            if coefficient != 0 {
                self.kernel
                    .add_scaled(&mut out[start..], symbol, coefficient);
            }
        }
        true
    }

    /// Bytes of the longest symbol of the window.
    fn longest(&self, window: Range<u64>) -> Option<usize> {
        let mut longest = None;
        for id in window {
            let bytes = self.ring.get(id)?.len();
            longest = longest.max(Some(bytes));
        }
        debug_assert!(longest.is_none_or(|it| it >= LENGTH_BYTES));
        longest
    }
}
