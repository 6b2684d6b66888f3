//! The shift of a receiver's advertised window: known from the handshake, or estimated from the data that the sender had
//! outstanding, which is never more than the window.

/// A window counts as used up where less than this many segments would still fit.
const EDGE_SEGMENTS: u64 = 1;
/// So many segments at the edge of the window make an estimate certain enough to be used.
const SURE: u64 = 32;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowScale {
    known: Option<u8>,
    /// Smallest that the data allow.
    least: u8,
    /// Segments that filled the window, with the least shift.
    at_edge: u64,
}

impl WindowScale {
    pub fn set(&mut self, shift: u8) {
        self.known = Some(shift);
    }

    pub fn is_known(&self) -> bool {
        self.known.is_some()
    }

    /// Known, or estimated with enough to rest on.
    pub fn shift(&self) -> Option<u8> {
        self.known.or((self.at_edge >= SURE).then_some(self.least))
    }

    /// The sender had so much outstanding when it knew of this window.
    #[inline]
    pub fn outstanding(&mut self, bytes: u64, window: u32, mss_bytes: u64) {
        if self.known.is_some() || window == 0 {
            return;
        }
        while self.least < 14 && bytes > u64::from(window) << self.least {
            self.least += 1;
            self.at_edge = 0;
        }
        if self.least > 0 && bytes + EDGE_SEGMENTS * mss_bytes > u64::from(window) << self.least {
            self.at_edge += 1;
        }
    }

    /// The window in bytes as far as is known now.
    #[inline]
    pub fn bytes(&self, window: u32) -> u64 {
        u64::from(window) << self.known.unwrap_or(self.least)
    }
}
