//! RACK: loss by time (RFC 8985, section 6; `net/ipv4/tcp_recovery.c`). A segment is lost when one sent sufficiently later has
//! been delivered. The reordering window grows with DSACKs and shrinks back after 16 recoveries.
//!
//! 1. Of the segments inside the reordering window only the first 64 are looked at for the timer; beyond them the
//!    latest delivered one bounds it. The timer is then late by at most the spread of their send times.

use super::Socket;
use super::scoreboard::{APP_LIMITED, LOST, RETRANS, SACKED};
use super::socket::Outbox;
use super::timers::Retransmit;
use super::tlp::TIMEOUT_MIN;
use crate::congestion::{AckSample, CaState, LostSegment};
use bentpipe_base::time::{Nanos, Time};

/// Recoveries without DSACK after which the window is as at first.
const PERSIST: u8 = 16;

#[derive(Clone, Copy, Debug)]
pub struct Rack {
    /// Send time and end of the latest-sent segment delivered.
    sent_at: Time,
    end_seq: u64,
    rtt: Nanos,
    pub advanced: bool,
    pub dsack_seen: bool,
    steps: u8,
    pub persist: u8,
    last_delivered: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: Time(i64::MIN >> 2),
            end_seq: 0,
            rtt: Nanos::ZERO,
            advanced: false,
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
}

impl Socket {
    fn reordering_window(&self) -> Nanos {
        let w = &self.window;
        if !self.recovery.reordering_seen
            && (w.state >= CaState::Recovery || w.sacked_out >= w.reordering)
        {
            return Nanos::ZERO;
        }
        let quarter = w.min_rtt.map_or(0, |least| least.0 >> 2);
        Nanos((quarter * i64::from(self.rack.steps)).min(w.srtt.0))
    }

    /// How long a segment sent at `sent_at` may still be on its way.
    pub(super) fn time_to_loss(&self, sent_at: Time, reordering: Nanos) -> Nanos {
        (sent_at + self.rack.rtt + reordering) - self.window.now
    }

    /// Marks what is lost; returns how long until more may be.
    fn detect_loss(&mut self) -> Option<Nanos> {
        let reordering = self.reordering_window();
        let mut timeout = None;
        let mut waiting = 0;
        let mut next = self.board.earliest_sent();
        while let Some(id) = next {
            let segment = *self.board.get(id);
            next = self.board.sent_after(id);
            if segment.is(LOST) && !segment.is(RETRANS) {
                self.board.pass_over(id);
                continue;
            }
            if (segment.sent_at, segment.end()) >= (self.rack.sent_at, self.rack.end_seq) {
                break;
            }
            let left = self.time_to_loss(segment.sent_at, reordering);
            if left.0 <= 0 {
                self.mark_lost(id);
                self.board.unlist(id);
            } else {
                timeout = timeout.max(Some(left));
                waiting += 1;
                if waiting == 64 {
                    let bound = self.time_to_loss(self.rack.sent_at, reordering);
                    timeout = timeout.max(Some(bound));
                    break;
                }
            }
        }
        timeout
    }

    /// At an ACK: returns whether the reordering timer was armed.
    pub(super) fn rack_mark_lost(&mut self) -> bool {
        if !self.rack.advanced {
            return false;
        }
        self.rack.advanced = false;
        match self.detect_loss() {
            Some(timeout) => {
                // Not beyond the retransmission timeout: an original that an outage held back and that arrives after its
                // repair was undone makes the RTT of RACK as long as the outage.
                let after = (timeout + TIMEOUT_MIN).min(self.backed_off_rto());
                self.timers.arm(Retransmit::Reorder, self.window.now, after);
                true
            }
            None => false,
        }
    }

    /// The reordering timer fires.
    pub(super) fn reorder_timeout(&mut self, out: &mut Outbox) {
        let before = self.window.in_flight();
        let lost = self.window.lost;
        self.detect_loss();
        if before != self.window.in_flight() {
            if self.window.state != CaState::Recovery {
                self.enter_recovery(false);
                if !self.control.controls_all() {
                    let newly = (self.window.lost - lost) as u32;
                    self.reduce_cwnd(1, newly, false);
                }
            }
            self.retransmit_lost(out);
        }
        if self.timers.pending() != Some(Retransmit::Timeout) {
            self.rearm_timeout();
        }
    }

    /// A segment is deemed lost (again): it waits for retransmission.
    pub(super) fn mark_lost(&mut self, id: u64) {
        let segment = self.board.get_mut(id);
        if segment.is(SACKED) {
            return;
        }
        if segment.is(LOST) {
            if segment.is(RETRANS) {
                segment.flags &= !RETRANS;
                self.window.view.retrans_out -= 1;
                self.counters.lost_retransmissions += 1;
            } else {
                return;
            }
        } else {
            segment.flags |= LOST;
            self.window.view.lost_out += 1;
        }
        let segment = *segment;
        self.window.view.lost += 1;
        self.control.segment_lost(
            &mut self.window,
            &LostSegment {
                sent_in_flight: segment.in_flight,
                prior_lost: segment.prior_lost,
                prior_delivered: segment.delivered,
                app_limited: segment.is(APP_LIMITED),
            },
        );
        self.board.await_retransmission(id);
    }
}
