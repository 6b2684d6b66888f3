//! The repairs that a ratio owes to the packets sent so far.

/// Sending packets raises the debt, sending a repair pays one. When packets stop, one repair may be sent ahead of the debt, so
/// that the last packets are covered too; it counts for later packets. However long it goes on, the repairs are at most the ratio's
/// share and one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RepairDebt {
    owed: f64,
    /// Whether a packet was sent since the last repair.
    uncovered: bool,
}

impl RepairDebt {
    /// A packet was sent at this ratio. Returns how many repairs are due.
    pub fn on_source(&mut self, ratio: f64) -> u32 {
        self.owed += ratio;
        self.uncovered = true;
        let due = self.owed.floor().max(0.0);
        self.owed -= due;
        if due > 0.0 {
            self.uncovered = false;
        }
        due as u32
    }

    /// Whether packets could be covered by a repair that is not owed yet.
    pub fn may_end_burst(&self) -> bool {
        self.uncovered && self.owed > 0.0
    }

    /// No packet was sent for a while. Whether a repair is sent ahead.
    pub fn end_burst(&mut self) -> bool {
        let ahead = self.may_end_burst();
        if ahead {
            self.owed -= 1.0;
            self.uncovered = false;
        }
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn repairs_are_the_ratios_share_and_at_most_one_more(
            ratio in 0.0..0.99_f64, pauses in prop::collection::vec(any::<bool>(), 1..500),
        ) {
            let mut debt = RepairDebt::default();
            let mut repairs = 0.0;
            for (sent, &pause) in pauses.iter().enumerate() {
                repairs += f64::from(debt.on_source(ratio));
                if pause {
                    repairs += f64::from(u8::from(debt.end_burst()));
                }
                let share = ratio * (sent + 1) as f64;
                prop_assert!(repairs < share + 1.0 + 1e-9 && repairs > share - 1.0 - 1e-9);
            }
        }
    }

    #[test]
    fn a_burst_is_covered_to_its_end_by_one_repair() {
        let mut debt = RepairDebt::default();
        assert!(!debt.end_burst());
        assert_eq!(debt.on_source(0.1), 0);
        assert!(debt.end_burst());
        assert!(!debt.end_burst());
    }

    #[test]
    fn without_redundancy_there_is_no_repair_at_the_end_of_a_burst() {
        let mut debt = RepairDebt::default();
        debt.on_source(0.0);
        assert!(!debt.end_burst());
    }
}
