//! The decoder: keeps the newest packets, and recovers missing ones from repair symbols.
//!
//! A packet that arrives is stored; only if an equation waits for it there is more to do. A repair symbol that covers nothing
//! missing, or tells nothing new, is thrown away before its bytes are touched. One that tells something new costs a
//! multiply-add for each symbol that it covers.
//!
//! What the caller gives may be anything: memory and the time of a call have limits that [`DecoderConfig`] sets. Whoever
//! can insert packets can make the decoder recover wrong ones, so packets must be authenticated below.

mod equations;

use crate::encoder::{PACKET_MAX_BYTES, RepairId, WINDOW_MAX_SYMBOLS};
use crate::field::Kernel;
use crate::symbol_ring::{LENGTH_BYTES, SymbolRing};
use core::ops::Range;
use equations::{Equations, Prospect};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecoderConfig {
    /// How many of the newest packets are kept. A repair symbol whose window begins before them is of no use, so this is the
    /// encoder's window and as many more as repair symbols may be late.
    pub kept_symbols: usize,
    /// The longest packet, at most [`PACKET_MAX_BYTES`].
    pub packet_max_bytes: usize,
    /// The most missing packets in equations at once. The equations have at most as many rows of as many bytes and a
    /// packet each.
    pub max_unknowns: usize,
}

/// What became of a source packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceOutcome {
    New,
    /// It was received or recovered before.
    Known,
    /// It is older than the packets that are kept.
    Expired,
    /// It is longer than [`DecoderConfig::packet_max_bytes`].
    TooLong,
}

/// What became of a repair symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepairOutcome {
    /// It is an equation more.
    Innovative,
    /// Nothing that it covers is missing.
    NothingMissing,
    /// It follows from earlier ones.
    Dependent,
    /// It covers packets that are no longer kept.
    Expired,
    /// More packets are missing than [`DecoderConfig::max_unknowns`].
    NoRoom,
    /// Its length or its window cannot be.
    Malformed,
}

#[derive(Clone, Debug)]
pub struct Decoder {
    config: DecoderConfig,
    kernel: Kernel,
    ring: SymbolRing,
    equations: Equations,
    recovered: VecDeque<u64>,
    corrupt: u64,
    /// Reused for each repair symbol: its coefficients of unknown symbols, and all of them.
    unknown_coefficients: Vec<(u64, u8)>,
    coefficients: Vec<u8>,
}

impl Decoder {
    pub fn new(config: DecoderConfig, kernel: Kernel) -> Self {
        let packet_max_bytes = config.packet_max_bytes.min(PACKET_MAX_BYTES);
        Self {
            config: DecoderConfig {
                packet_max_bytes,
                ..config
            },
            kernel,
            ring: SymbolRing::new(config.kept_symbols),
            equations: Equations::new(config.max_unknowns, kernel),
            recovered: VecDeque::new(),
            corrupt: 0,
            unknown_coefficients: Vec::new(),
            coefficients: Vec::new(),
        }
    }

    /// The numbers of the packets that are kept or missing: up to the newest that a source or repair symbol has named.
    pub fn kept(&self) -> Range<u64> {
        self.ring.range()
    }

    pub fn is_known(&self, id: u64) -> bool {
        self.ring.has(id)
    }

    /// Gives back the memory of the packets before this number, which all are known. They stay known, and repair symbols that cover one of them and
    /// a missing packet are of no use any more.
    pub fn release_before(&mut self, id: u64) {
        self.ring.release_before(id);
    }

    /// A packet that was received or recovered, while it is kept.
    pub fn packet(&self, id: u64) -> Option<&[u8]> {
        self.ring.packet(id)
    }

    /// Independent equations that wait for more. As many missing packets are known once the others are.
    pub fn rank(&self) -> usize {
        self.equations.rank()
    }

    /// Whether a missing packet has an equation of its own: it is known once those missing packets that have none are. To ask
    /// for exactly the packets without one is enough to know all, but no better than to wait while new losses join the equations:
    /// see [`Self::needed`].
    pub fn has_equation(&self, id: u64) -> bool {
        self.equations.is_pivot(id)
    }

    /// Which packets must come for this missing one to be known, but for those that are promised: the packet itself, where it
    /// has no equation.
    pub fn needed(&self, id: u64) -> Vec<u64> {
        self.equations.needed(id)
    }

    /// A missing packet has been asked for and is expected. Equations that contain it are then taken to say which other packet they
    /// will give.
    pub fn promise(&mut self, id: u64) {
        if self.kept().contains(&id) && !self.is_known(id) {
            self.equations.promise(id);
        }
    }

    /// A missing packet has been asked for as often as may be, and none came: it is one of those that must come again, see
    /// [`Self::needed`].
    pub fn break_promise(&mut self, id: u64) {
        self.equations.break_promise(id);
    }

    /// Recovered packets whose length was impossible: a repair symbol was not what the encoder had sent.
    pub fn corrupt(&self) -> u64 {
        self.corrupt
    }

    /// The next packet that was recovered. Each is named once, in the order of recovery.
    pub fn poll_recovered(&mut self) -> Option<u64> {
        self.recovered.pop_front()
    }

    /// Gives the packets before `next` a place, as if a packet had named them; the oldest are no longer kept.
    pub fn advance_to(&mut self, next: u64) {
        self.ring.advance_to(next);
        self.equations.forget_before(self.ring.range().start);
        let kept = self.ring.range();
        while self.recovered.front().is_some_and(|id| !kept.contains(id)) {
            self.recovered.pop_front();
        }
    }

    pub fn source(&mut self, id: u64, packet: &[u8]) -> SourceOutcome {
        if packet.len() > self.config.packet_max_bytes {
            return SourceOutcome::TooLong;
        }
        if id >= self.ring.range().end {
            self.advance_to(id.saturating_add(1));
        }
        if !self.ring.range().contains(&id) {
            return SourceOutcome::Expired;
        }
        if self.is_known(id) {
            return SourceOutcome::Known;
        }
        self.ring.set_packet(id, packet);
        let symbol = self.ring.get(id).unwrap_or_default();
        if self.equations.substitute(id, symbol) {
            self.take_solved();
        }
        SourceOutcome::New
    }

    /// `symbol` is what [`Encoder::repair`](crate::Encoder::repair) has appended.
    pub fn repair(&mut self, id: &RepairId, symbol: &[u8]) -> RepairOutcome {
        let window = id.window();
        let count = usize::from(id.symbols);
        let fits =
            (LENGTH_BYTES..=LENGTH_BYTES + self.config.packet_max_bytes).contains(&symbol.len());
        if count == 0
            || count > WINDOW_MAX_SYMBOLS
            || window.end - window.start != count as u64
            || !fits
        {
            return RepairOutcome::Malformed;
        }
        if window.end > self.ring.range().end {
            self.advance_to(window.end);
        }
        if window.start < self.ring.range().start {
            return RepairOutcome::Expired;
        }
        if window.clone().all(|id| self.is_known(id)) {
            return RepairOutcome::NothingMissing;
        }
        if window.start < self.ring.released() {
            return RepairOutcome::Expired;
        }
        self.coefficients.clear();
        self.coefficients.extend(id.coefficients());
        self.unknown_coefficients.clear();
        for (id, &coefficient) in window.clone().zip(&self.coefficients) {
            match self.ring.get(id) {
                Some(known) if known.len() > symbol.len() => return RepairOutcome::Malformed,
                None if coefficient != 0 => self.unknown_coefficients.push((id, coefficient)),
                _ => {}
            }
        }
        match self.equations.prepare(&self.unknown_coefficients) {
            Prospect::NoRoom => RepairOutcome::NoRoom,
            Prospect::Dependent => RepairOutcome::Dependent,
            Prospect::Innovative => {
                self.equations.insert(|value| {
                    value.extend_from_slice(symbol);
                    for (id, &coefficient) in window.zip(&self.coefficients) {
                        if let Some(known) = self.ring.get(id).filter(|_| coefficient != 0) {
                            self.kernel.add_scaled(value, known, coefficient);
                        }
                    }
                });
                self.take_solved();
                RepairOutcome::Innovative
            }
        }
    }

    fn take_solved(&mut self) {
        let (ring, recovered, corrupt) = (&mut self.ring, &mut self.recovered, &mut self.corrupt);
        while self.equations.take_solved(|id, symbol| {
            if cut_at_its_length(symbol) && ring.range().contains(&id) {
                ring.swap_symbol(id, symbol);
                recovered.push_back(id);
            } else {
                *corrupt += 1;
            }
        }) {}
    }

    #[cfg(test)]
    fn check(&self) {
        self.equations.check();
    }
}

/// Cuts a symbol where its length says that the packet ends; behind that there are only zeros, or it is not a symbol.
fn cut_at_its_length(symbol: &mut Vec<u8>) -> bool {
    let Some((length, rest)) = symbol.split_first_chunk::<LENGTH_BYTES>() else {
        return false;
    };
    let length = usize::from(u16::from_be_bytes(*length));
    let sound = rest
        .get(length..)
        .is_some_and(|padding| padding.iter().all(|&it| it == 0));
    if sound {
        symbol.truncate(LENGTH_BYTES + length);
    }
    sound
}

#[cfg(test)]
mod tests;
