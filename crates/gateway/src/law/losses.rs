//! Which losses tell of a full queue.
//!
//! 1. The receiver's times tell where the queue is ours alone. Where others share it they do not: then every loss counts that
//!    comes while packets wait long, less what the channel loses in any case.
//! 2. What the channel loses is learned while no packet waits: a queue that drops none then is not full.
//! 3. The receiver's times tell where a packet was lost only while the path is busy. It is not at the begin, and where the hosts have little to
//!    send. So a few packets are no overflow: BBR, too, leaves its startup after six losses in a round at the least.

use super::Heard;

/// More than this is no channel but an outage.
const MOST_CHANNEL: f64 = 0.7;
/// Where the channel loses as much as this, the receiver's times tell nothing.
const MOST_JUDGED: f64 = 0.2;
/// So many packets of a round must have overflowed by the receiver's times (draft-ietf-ccwg-bbr-04, 5.3.1.3).
const LEAST_JUDGED: f64 = 6.0;
/// The channel's share is the mean over about so many packets.
const MEMORY: f64 = 4000.0;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    decided: f64,
    lost: f64,
    overflow: f64,
    /// While packets waited.
    waiting_decided: f64,
    waiting_lost: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// The share that the channel loses, and of how many packets it is known.
    channel: f64,
    known: f64,
    round: Counts,
    /// Of rounds that may have met a queue, until it is known whose it was.
    unsure: Counts,
}

impl Losses {
    /// How many packets a full queue dropped. `waiting`: packets wait long, or have until just now.
    pub fn on_report(&mut self, heard: &Heard, waiting: bool) -> f64 {
        let decided = heard.decided as f64;
        let lost = heard.lost as f64;
        let judged = if self.channel < MOST_JUDGED {
            heard.overflow as f64
        } else {
            0.0
        };
        let round = &mut self.round;
        round.decided += decided;
        round.lost += lost;
        round.overflow += judged;
        if waiting {
            round.waiting_decided += decided;
            round.waiting_lost += lost;
            (lost - self.channel * decided).max(0.0)
        } else {
            judged.min(lost)
        }
    }

    /// The share of the round that a full queue dropped, as far as it is more than chance. `lone`: the queue is ours alone.
    pub fn overflow_share(&self, lone: bool) -> f64 {
        let it = &self.round;
        let decided = it.decided.max(1.0);
        let excess = self.excess(it.waiting_lost, it.waiting_decided) / decided;
        let judged = if lone && it.overflow >= LEAST_JUDGED {
            it.overflow / decided
        } else {
            0.0
        };
        excess.max(judged)
    }

    /// Packets beyond the channel's share, where they are more than chance.
    fn excess(&self, lost: f64, decided: f64) -> f64 {
        let expected = self.channel * decided;
        let more = lost - expected;
        if more > 2.5 * expected.sqrt() + 0.5 {
            more
        } else {
            0.0
        }
    }

    /// The round is over. `quiet`: no packet waited in it.
    pub fn end_round(&mut self, quiet: bool) {
        let it = core::mem::take(&mut self.round);
        if quiet {
            self.learn(it);
        } else {
            self.unsure.decided += it.decided;
            self.unsure.lost += it.lost;
            self.unsure.overflow += it.overflow;
        }
    }

    /// The queue was others': what was lost tells nothing of the channel.
    pub fn forget_unsure(&mut self) {
        self.unsure = Counts::default();
    }

    /// There was no queue: the channel lost it.
    pub fn learn_unsure(&mut self) {
        let it = core::mem::take(&mut self.unsure);
        self.learn(it);
    }

    fn learn(&mut self, it: Counts) {
        if it.decided < 1.0 {
            return;
        }
        // A probe loses less than a third in the shortest queue.
        let judged = if it.overflow < it.decided / 3.0 {
            it.overflow
        } else {
            0.0
        };
        let share = (it.lost - judged).max(0.0) / it.decided;
        if share <= MOST_CHANNEL {
            self.known = (self.known + it.decided).min(MEMORY);
            self.channel += (share - self.channel) * (it.decided / self.known).min(1.0);
        }
    }

    /// What was lost in an outage tells nothing.
    pub fn forget_round(&mut self) {
        self.round = Counts::default();
    }
}
