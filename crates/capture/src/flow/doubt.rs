//! Sequence numbers that are out of place: of a damaged header, or after a part that the capture does not have. Only another one near
//! to it tells the latter.

#[derive(Clone, Copy, Debug, Default)]
pub struct Doubt {
    last: Option<u64>,
}

/// Whether a sequence number is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Usual,
    /// Out of place, as the one before it: a part is missing.
    Confirmed,
    Doubtful,
}

impl Doubt {
    /// Usual are those from `lowest` to `highest`; `reach` is how far apart two near ones are.
    #[inline]
    pub fn place(&mut self, seq: u64, lowest: u64, highest: u64, reach: u64) -> Place {
        if (lowest.saturating_sub(reach)..=highest.saturating_add(reach)).contains(&seq) {
            self.last = None;
            return Place::Usual;
        }
        let before = self.last.replace(seq);
        if before.is_some_and(|before| seq.abs_diff(before) <= reach) {
            Place::Confirmed
        } else {
            Place::Doubtful
        }
    }
}
