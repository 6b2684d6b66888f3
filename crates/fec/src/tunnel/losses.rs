//! What the channel lost before any repair, counted once it is decided.

use super::gaps::LostAt;

/// A packet is taken for lost once so many newer ones have been named: RFC 9002's packet threshold, wider, since a path below the
/// transport may reorder more.
pub(crate) const REORDERING_PACKETS: u64 = 16;

/// Whether a packet came as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub lost: bool,
    /// Where it was lost if it was. `None`: that cannot be told.
    pub at: Option<LostAt>,
}

/// Cumulative, modulo 2^32.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    decided_before: u64,
    in_run: bool,
    pub decided: u32,
    pub lost: u32,
    pub runs: u32,
    pub judged: u32,
    /// Of the lost: on the channel; by overflow; and where it is not known, of these the runs. The last two are not in `runs`.
    pub channel: u32,
    pub overflow: u32,
    pub unknown: u32,
    pub unknown_runs: u32,
    in_unknown_run: bool,
}

impl Losses {
    /// Numbers before `end` are known to have been sent. Of those that are kept, `fate` says what became of each; those no
    /// longer kept did not come.
    pub fn advance(&mut self, end: u64, first_kept: u64, fate: impl Fn(u64) -> Fate) {
        let before = end.saturating_sub(REORDERING_PACKETS);
        let gone = first_kept.min(before).saturating_sub(self.decided_before);
        if gone > 0 {
            let fate = Fate {
                lost: true,
                at: None,
            };
            self.count(gone, fate);
        }
        for id in self.decided_before..before {
            self.count(1, fate(id));
        }
    }

    fn count(&mut self, packets: u64, Fate { lost, at }: Fate) {
        self.decided_before += packets;
        let packets = packets as u32;
        self.decided = self.decided.wrapping_add(packets);
        if at.is_some() {
            self.judged = self.judged.wrapping_add(packets);
        }
        if lost {
            self.lost = self.lost.wrapping_add(packets);
            // Losses of one kind neither end a run of another kind nor are part of it.
            match at {
                Some(LostAt::Queue) => self.overflow = self.overflow.wrapping_add(packets),
                Some(LostAt::Unknown) => {
                    self.unknown = self.unknown.wrapping_add(packets);
                    let begins = u32::from(!self.in_unknown_run);
                    self.unknown_runs = self.unknown_runs.wrapping_add(begins);
                    self.in_unknown_run = true;
                }
                Some(LostAt::Channel) | None => {
                    if at.is_some() {
                        self.channel = self.channel.wrapping_add(packets);
                    }
                    self.runs = self.runs.wrapping_add(u32::from(!self.in_run));
                    self.in_run = true;
                }
            }
        } else {
            self.in_run = false;
            self.in_unknown_run = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_and_their_runs_are_counted_and_late_packets_are_none() {
        let mut losses = Losses::default();
        let lost = [3, 4, 9, 10, 11, 20];
        let fate = |id: u64| Fate {
            lost: lost.contains(&id),
            at: None,
        };
        losses.advance(20, 0, fate);
        assert_eq!((losses.decided, losses.lost, losses.runs), (4, 1, 1));
        losses.advance(60, 0, fate);
        assert_eq!((losses.decided, losses.lost, losses.runs), (44, 6, 3));
        // A jump: what is no longer kept is one run.
        let came = Fate {
            lost: false,
            at: None,
        };
        losses.advance(1_000_000, 999_000, |_| came);
        assert_eq!(losses.lost, 6 + 999_000 - 44);
        assert_eq!(losses.runs, 4);
        assert_eq!((losses.judged, losses.overflow), (0, 0));
    }

    #[test]
    fn losses_by_overflow_and_unknown_ones_are_counted_apart_and_are_in_no_run() {
        let mut losses = Losses::default();
        // Two on the channel, three in the queue between others, and one that nobody can place.
        let fate = |id: u64| Fate {
            lost: [3, 4, 5, 7, 9, 20, 30, 31].contains(&id),
            at: match id {
                4 | 7 | 9 => Some(LostAt::Queue),
                20 => None,
                30 | 31 => Some(LostAt::Unknown),
                _ => Some(LostAt::Channel),
            },
        };
        losses.advance(60, 0, fate);
        assert_eq!((losses.decided, losses.judged), (44, 43));
        assert_eq!((losses.lost, losses.channel, losses.overflow), (8, 2, 3));
        assert_eq!(losses.runs, 2);
        assert_eq!((losses.unknown, losses.unknown_runs), (2, 1));
    }
}
