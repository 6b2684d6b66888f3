//! Whether a reduction of the window was needless: by timestamps (Eifel, RFC 4015) and by DSACK (RFC 3708). F-RTO
//! (RFC 5682) is part of the state Loss (socket/recovery.rs).

use crate::timestamps::Timestamps;

#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    /// `snd_una` when the reduction began, while it may be undone.
    marker: Option<u64>,
    /// Retransmissions not yet shown needless by DSACK; negative: none was made yet.
    unanswered: i64,
    /// ssthresh to restore; 0: nothing to undo.
    pub prior_ssthresh: u32,
    /// Timestamp of the episode's first retransmission.
    first_retransmission: Option<u32>,
}

impl Undo {
    /// A reduction begins with so many retransmissions out.
    pub fn begin(&mut self, snd_una: u64, retransmissions: u32) {
        self.marker = Some(snd_una);
        self.unanswered = match retransmissions {
            0 => -1,
            out => i64::from(out),
        };
    }

    /// The reduction can no longer be undone, or has been.
    pub fn end(&mut self) {
        self.marker = None;
    }

    pub fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// A retransmission left at this timestamp.
    pub fn retransmitted(&mut self, stamp: u32) {
        self.first_retransmission.get_or_insert(stamp);
        self.unanswered = self.unanswered.max(0) + 1;
    }

    /// Nothing that was retransmitted is out any more.
    pub fn forget_retransmissions(&mut self) {
        self.first_retransmission = None;
    }

    /// A DSACK reports so many segments up to `end` as duplicates.
    pub fn duplicated(&mut self, end: u64, segments: i64) {
        if self.unanswered > 0 && self.marker.is_some_and(|marker| end > marker) {
            self.unanswered = (self.unanswered - segments).max(0);
        }
    }

    /// Every retransmission was needless.
    pub fn all_were_needless(&self) -> bool {
        self.is_possible() && self.unanswered == 0
    }

    /// The ACK echoes a time before the first retransmission: it answers an original. `None`: no timestamps. Where nothing was
    /// retransmitted, `unsent` is the answer.
    pub fn answers_original(&self, timestamps: Option<&Timestamps>, unsent: bool) -> bool {
        match self.first_retransmission {
            Some(stamp) => timestamps.is_some_and(|clock| clock.echoes_before(stamp)),
            None => unsent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_is_needless_once_dsacks_answer_every_retransmission() {
        let mut undo = Undo::default();
        assert!(!undo.all_were_needless(), "nothing was reduced");
        undo.begin(1000, 0);
        assert!(!undo.all_were_needless(), "nothing was retransmitted");
        undo.retransmitted(5);
        undo.retransmitted(6);
        undo.duplicated(2000, 1);
        assert!(!undo.all_were_needless());
        undo.duplicated(3000, 1);
        assert!(undo.all_were_needless());
        undo.end();
        assert!(!undo.all_were_needless());
    }

    #[test]
    fn a_dsack_of_what_came_before_the_reduction_does_not_count() {
        let mut undo = Undo::default();
        undo.begin(1000, 1);
        undo.duplicated(1000, 1);
        assert!(!undo.all_were_needless());
        undo.duplicated(1001, 9);
        assert!(undo.all_were_needless(), "and never more than were made");
    }

    #[test]
    fn an_echo_older_than_the_first_retransmission_answers_an_original() {
        let mut undo = Undo::default();
        let mut clock = Timestamps::new(0);
        undo.begin(1, 0);
        undo.retransmitted(500);
        undo.retransmitted(700);
        clock.echoed = 499;
        assert!(undo.answers_original(Some(&clock), false));
        assert!(!undo.answers_original(None, true), "without timestamps");
        clock.echoed = 600;
        assert!(!undo.answers_original(Some(&clock), true));
        undo.forget_retransmissions();
        assert!(undo.answers_original(Some(&clock), true));
    }
}
