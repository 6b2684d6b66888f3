//! RACK: loss by time (RFC 8985, section 6; `net/ipv4/tcp_recovery.c`). A segment is lost when one sent sufficiently later has
//! been delivered. The reordering window grows with DSACKs and shrinks back after 16 recoveries.
//!
//! 1. Of the segments inside the reordering window only the first 64 are looked at for the timer; beyond them the
//!    latest delivered one bounds it. The timer is then late by at most the spread of their send times.

use crate::congestion::{AckSample, CaState, View};
use crate::scoreboard::{LOST, RETRANS, Scoreboard};
use bentpipe_base::time::{Nanos, Time};

/// `tcp_max_reordering`.
pub const MAX_REORDERING: u32 = 300;

/// Recoveries without DSACK after which the window is as at first.
const PERSIST: u8 = 16;

#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// Send time and end of the latest-sent segment delivered.
    sent_at: Time,
    end_seq: u64,
    rtt: Nanos,
    /// Something was delivered, or a loss taken back, since losses were last looked for.
    advanced: bool,
    /// The path reorders (`reord_seen`).
    reordering_seen: bool,
    dsack_seen: bool,
    /// The reordering window in quarters of the minimum RTT.
    steps: u8,
    /// Recoveries for which it stays.
    persist: u8,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: Time(i64::MIN >> 2),
            end_seq: 0,
            rtt: Nanos::ZERO,
            advanced: false,
            reordering_seen: false,
            dsack_seen: false,
            steps: 1,
            persist: 0,
            last_delivered: 0,
        }
    }
}

impl Rack {
    /// A segment with these flags was delivered.
    pub fn advance(
        &mut self,
        now: Time,
        min_rtt: Option<Nanos>,
        sent_at: Time,
        end: u64,
        retransmitted: bool,
    ) {
        let rtt = now - sent_at;
        // Too early for the retransmission: it was the original, whose time is unknown.
        if retransmitted && min_rtt.is_some_and(|least| rtt < least) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if (sent_at, end) > (self.sent_at, self.end_seq) {
            self.sent_at = sent_at;
            self.end_seq = end;
        }
    }

    /// Takes DSACKs into account, at most once a round trip (RFC 8985, section 6.2, step 4).
    pub fn adapt(&mut self, sample: &AckSample, delivered: u64) {
        if sample.prior_delivered == 0 {
            return;
        }
        if sample.prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.steps = self.steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    pub fn undone_by_dsack(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// A recovery ended without being undone.
    pub fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A segment was delivered although a later one came first.
    pub fn saw_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// A DSACK came for a retransmission that was not a probe. Without reordering it was no fault of the window's.
    pub fn saw_dsack(&mut self) {
        self.dsack_seen |= self.reordering_seen;
    }

    /// Losses were taken back: what is lost is to be found anew.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Whether there is reason to look for losses; asked once.
    pub fn take_advanced(&mut self) -> bool {
        core::mem::take(&mut self.advanced)
    }

    /// How much later than its successors a segment may arrive and not be lost (RFC 8985, section 6.2, step 4).
    pub fn reordering_window(&self, w: &View) -> Nanos {
        if !self.reordering_seen && (w.state >= CaState::Recovery || w.sacked_out >= w.reordering) {
            return Nanos::ZERO;
        }
        let quarter = w.min_rtt.map_or(0, |least| least.0 >> 2);
        Nanos((quarter * i64::from(self.steps)).min(w.srtt.0))
    }

    /// How long from `now` a segment sent at `sent_at` may still be on its way.
    pub fn time_to_loss(&self, now: Time, sent_at: Time, reordering: Nanos) -> Nanos {
        (sent_at + self.rtt + reordering) - now
    }

    /// Calls `mark` with each segment that is lost, in order of transmission; returns how long until more may be (step 5).
    pub fn detect_loss(
        &self,
        now: Time,
        reordering: Nanos,
        board: &mut Scoreboard,
        mut mark: impl FnMut(&mut Scoreboard, u64),
    ) -> Option<Nanos> {
        let mut timeout = None;
        let mut waiting = 0;
        let mut next = board.earliest_sent();
        while let Some(id) = next {
            let segment = *board.get(id);
            next = board.sent_after(id);
            if segment.is(LOST) && !segment.is(RETRANS) {
                board.pass_over(id);
                continue;
            }
            if (segment.sent_at, segment.end()) >= (self.sent_at, self.end_seq) {
                break;
            }
            let left = self.time_to_loss(now, segment.sent_at, reordering);
            if left.0 <= 0 {
                mark(board, id);
                board.unlist(id);
            } else {
                timeout = timeout.max(Some(left));
                waiting += 1;
                if waiting == 64 {
                    let bound = self.time_to_loss(now, self.sent_at, reordering);
                    timeout = timeout.max(Some(bound));
                    break;
                }
            }
        }
        timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Window;
    use crate::scoreboard::Sent;

    fn at_ms(ms: i64) -> Time {
        Time(ms * 1_000_000)
    }

    fn ms(millis: i64) -> Nanos {
        Nanos::from_millis(millis)
    }

    /// Segments of 1000 bytes, one sent each millisecond from time zero.
    fn flight(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        for number in 0..segments {
            let mut sent = Sent::new(1 + number * 1000, 1000, 0);
            sent.sent_at = at_ms(number as i64);
            board.push(sent);
        }
        board
    }

    fn lost(
        rack: &Rack,
        board: &mut Scoreboard,
        now: Time,
        window: Nanos,
    ) -> (Vec<u64>, Option<Nanos>) {
        let mut found = vec![];
        let more = rack.detect_loss(now, window, board, |board, id| {
            board.get_mut(id).flags |= LOST;
            found.push(id);
        });
        (found, more)
    }

    #[test]
    fn what_left_a_reordering_window_before_a_delivered_segment_is_lost() {
        let mut board = flight(8);
        let mut rack = Rack::default();
        // Segment 5 is delivered after 100 ms.
        rack.advance(at_ms(105), Some(ms(100)), at_ms(5), 6001, false);
        let (found, more) = lost(&rack, &mut board, at_ms(105), ms(3));
        assert_eq!(found, [0, 1, 2]);
        assert_eq!(more, Some(ms(2)), "segment 4 is lost in 2 ms");
        let (found, more) = lost(&rack, &mut board, at_ms(107), ms(3));
        assert_eq!((found, more), (vec![3, 4], None), "and no later one");
    }

    #[test]
    fn a_retransmission_answered_sooner_than_any_round_trip_tells_nothing() {
        let mut rack = Rack::default();
        rack.advance(at_ms(105), Some(ms(100)), at_ms(50), 1001, true);
        assert!(!rack.take_advanced());
        rack.advance(at_ms(155), Some(ms(100)), at_ms(50), 1001, true);
        assert!(rack.take_advanced());
        assert!(!rack.take_advanced(), "asked once");
    }

    #[test]
    fn of_many_that_wait_the_latest_delivered_bounds_the_timer() {
        let mut board = flight(200);
        let mut rack = Rack::default();
        rack.advance(at_ms(299), Some(ms(100)), at_ms(199), 200_001, false);
        let (found, more) = lost(&rack, &mut board, at_ms(299), ms(250));
        assert_eq!((found, more), (vec![], Some(ms(250))));
    }

    #[test]
    fn the_window_is_a_quarter_of_the_minimum_and_grows_with_dsacks_on_a_path_that_reorders() {
        let mut w = Window::new(10, 1);
        w.view.min_rtt = Some(ms(100));
        w.view.srtt = ms(120);
        let mut rack = Rack::default();
        assert_eq!(rack.reordering_window(&w), ms(25));
        w.view.sacked_out = 3;
        assert_eq!(rack.reordering_window(&w), Nanos::ZERO, "three duplicates");
        let sample = |prior_delivered| AckSample {
            prior_delivered,
            ..AckSample::default()
        };
        rack.saw_dsack();
        rack.adapt(&sample(1), 9);
        rack.saw_reordering();
        assert_eq!(rack.reordering_window(&w), ms(25), "no DSACK counted yet");
        rack.saw_dsack();
        rack.adapt(&sample(10), 20);
        assert_eq!(rack.reordering_window(&w), ms(50));
        rack.saw_dsack();
        rack.adapt(&sample(15), 25);
        assert_eq!(rack.reordering_window(&w), ms(50), "once a round trip");
        for _ in 0..10 {
            rack.saw_dsack();
            rack.adapt(&sample(30), 30);
        }
        assert_eq!(rack.reordering_window(&w), ms(120), "at most srtt");
        for _ in 0..16 {
            assert_eq!(rack.reordering_window(&w), ms(120));
            rack.recovery_ended();
            rack.adapt(&sample(40), 40);
        }
        assert_eq!(rack.reordering_window(&w), ms(25));
    }
}
