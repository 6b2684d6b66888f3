//! What the channel lost before any repair, counted once it is decided.

use super::Arrival;

/// A packet is taken for lost once so many newer ones have been named: RFC 9002's packet threshold, wider, since a path below the
/// transport may reorder more.
pub(crate) const REORDERING_PACKETS: u64 = 16;

/// Cumulative, modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    decided_before: u64,
    last_was_lost: bool,
    pub decided: u32,
    pub lost: u32,
    pub runs: u32,
}

impl Losses {
    /// Numbers before `end` are known to have been sent. Of those that are kept, the arrival of each is `arrival`; those no
    /// longer kept did not come.
    pub fn advance(&mut self, end: u64, first_kept: u64, arrival: impl Fn(u64) -> Option<Arrival>) {
        let before = end.saturating_sub(REORDERING_PACKETS);
        let gone = first_kept.min(before).saturating_sub(self.decided_before);
        if gone > 0 {
            self.count(gone, true);
        }
        for id in self.decided_before..before {
            self.count(1, arrival(id) != Some(Arrival::AsSource));
        }
    }

    fn count(&mut self, packets: u64, lost: bool) {
        self.decided_before += packets;
        self.decided = self.decided.wrapping_add(packets as u32);
        if lost {
            self.lost = self.lost.wrapping_add(packets as u32);
            self.runs = self.runs.wrapping_add(u32::from(!self.last_was_lost));
        }
        self.last_was_lost = lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_their_runs_are_counted_and_late_packets_are_none() {
        let mut losses = Losses::default();
        let lost = [3, 4, 9, 10, 11, 20];
        let arrival = |id: u64| match id {
            4 => Some(Arrival::Recovered),
            9 => Some(Arrival::AsExactRepair),
            _ => (!lost.contains(&id)).then_some(Arrival::AsSource),
        };
        losses.advance(20, 0, arrival);
        assert_eq!((losses.decided, losses.lost, losses.runs), (4, 1, 1));
        losses.advance(60, 0, arrival);
        assert_eq!((losses.decided, losses.lost, losses.runs), (44, 6, 3));
        // A jump: what is no longer kept is one run.
        losses.advance(1_000_000, 999_000, |_| Some(Arrival::AsSource));
        assert_eq!(losses.lost, 6 + 999_000 - 44);
        assert_eq!(losses.runs, 4);
    }
}
