//! Tail-loss probe (RFC 8985, section 7): when it is due, and what the acknowledgements after it say.

use crate::ack_context::Flags;
use crate::rtt::{RTO_INITIAL, RTO_MIN};
use bentpipe_base::time::Nanos;

/// `TCP_TIMEOUT_MIN`: two milliseconds.
pub const TIMEOUT_MIN: Nanos = Nanos::from_millis(2);

#[derive(Clone, Copy, Debug, Default)]
pub struct Tlp {
    /// `snd_nxt` when the probe was sent, while its episode lasts.
    high_seq: Option<u64>,
    /// The probe was a retransmission, not new data.
    retransmitted: bool,
}

impl Tlp {
    /// How long to wait for an ACK before a probe: two round trips, and no longer than what is left of the timeout.
    pub fn timeout(srtt: Option<Nanos>, packets_out: u32, rto_left: Nanos) -> Nanos {
        let timeout = match srtt {
            // A lone segment's ACK may be delayed at the receiver.
            Some(srtt) if packets_out == 1 => Nanos(srtt.0 * 2) + RTO_MIN,
            Some(srtt) => Nanos(srtt.0 * 2) + TIMEOUT_MIN,
            None => RTO_INITIAL,
        };
        if rto_left.0 > 0 {
            timeout.min(rto_left)
        } else {
            timeout
        }
    }

    /// A probe left. `again`: it was a retransmission.
    pub fn sent(&mut self, snd_nxt: u64, again: bool) {
        self.high_seq = Some(snd_nxt);
        self.retransmitted = again;
    }

    pub fn end_episode(&mut self) {
        self.high_seq = None;
    }

    pub fn is_out(&self) -> bool {
        self.high_seq.is_some()
    }

    /// A retransmission is out that nothing marks in the scoreboard.
    pub fn has_retransmitted(&self) -> bool {
        self.is_out() && self.retransmitted
    }

    /// Whether a duplicate that ends here may be the probe's.
    pub fn ends_at(&self, end: u64) -> bool {
        self.high_seq == Some(end)
    }

    /// Ends the episode where this acknowledgement does. Returns whether the probe repaired a loss; the episode then ends with the
    /// reduction of the window.
    pub fn repaired_loss(&mut self, ack: u64, flags: &Flags) -> bool {
        let Some(high_seq) = self.high_seq.filter(|&high_seq| ack >= high_seq) else {
            return false;
        };
        if !self.retransmitted || flags.dsack_of_probe {
            self.high_seq = None;
        } else if ack > high_seq {
            // No DSACK came for the probe and data beyond it is acknowledged: the original was lost.
            return true;
        } else if !(flags.advanced || flags.is_not_duplicate() || flags.data_sacked) {
            self.high_seq = None;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn probed(again: bool) -> Tlp {
        let mut tlp = Tlp::default();
        tlp.sent(5000, again);
        tlp
    }

    #[test]
    fn a_probe_is_due_after_two_round_trips_or_with_the_timeout() {
        let far = ms(9000);
        assert_eq!(Tlp::timeout(Some(ms(100)), 2, far), ms(202));
        assert_eq!(Tlp::timeout(Some(ms(100)), 1, far), ms(400), "delayed ACK");
        assert_eq!(Tlp::timeout(None, 5, far), ms(1000));
        assert_eq!(Tlp::timeout(Some(ms(100)), 2, ms(50)), ms(50));
        assert_eq!(Tlp::timeout(Some(ms(100)), 2, ms(-5)), ms(202), "overdue");
    }

    #[test]
    fn a_probe_of_new_data_repairs_nothing() {
        let mut tlp = probed(false);
        assert!(!tlp.has_retransmitted());
        assert!(!tlp.repaired_loss(4999, &Flags::default()) && tlp.is_out());
        assert!(!tlp.repaired_loss(5000, &Flags::default()) && !tlp.is_out());
    }

    #[test]
    fn a_repeated_segment_repaired_a_loss_unless_a_dsack_says_that_both_came() {
        let advanced = Flags {
            advanced: true,
            ..Flags::default()
        };
        let mut tlp = probed(true);
        assert!(!tlp.repaired_loss(5000, &advanced) && tlp.is_out());
        assert!(tlp.repaired_loss(6000, &advanced));
        let dsack = Flags {
            dsack_of_probe: true,
            ..advanced
        };
        let mut tlp = probed(true);
        assert!(!tlp.repaired_loss(6000, &dsack) && !tlp.is_out());
    }

    #[test]
    fn a_pure_duplicate_at_the_probes_end_is_its_answer_from_a_receiver_without_dsack() {
        let mut tlp = probed(true);
        assert!(!tlp.repaired_loss(5000, &Flags::default()) && !tlp.is_out());
    }
}
