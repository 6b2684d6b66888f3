//! What is under way, and how fast it is delivered (draft-ietf-ccwg-bbr-04, section 4.1, Delivery Rate Samples).
//!
//! 1. Whatever was sent before the newest packet that came is no longer under way: it came, or it is lost.
//! 2. What a full queue dropped is not delivered. What the channel lost behind the bottleneck is: the bottleneck has carried it.
//! 3. What was sent again is not reported by itself. It leaves with the next new packet, or when it is too old.

use super::Sending;
use bentpipe_base::{Nanos, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    bytes: u64,
    at: Time,
    /// As they were when it left.
    delivered: f64,
    delivered_at: Time,
    first_sent: Time,
    limited: bool,
}

/// How fast the path delivered, over about a round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RateSample {
    pub bit_s: f64,
    pub span: Nanos,
    /// The hosts had nothing more to send: the path may be faster.
    pub limited: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    entries: VecDeque<Entry>,
    under_way: u64,
    /// Bytes, ever.
    sent: u64,
    passed: u64,
    delivered: f64,
    delivered_at: Option<Time>,
    first_sent: Option<Time>,
    /// What is sent before so many bytes have left the path is limited by the hosts.
    limited_until: Option<u64>,
}

impl Flight {
    pub fn under_way(&self) -> u64 {
        self.under_way
    }

    /// Bytes that were ever sent, and those of them that have left the path.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    pub fn passed(&self) -> u64 {
        self.passed
    }

    pub fn on_sent(&mut self, now: Time, sending: Sending) {
        if self.under_way == 0 {
            self.delivered_at = Some(now);
            self.first_sent = Some(now);
        }
        self.entries.push_back(Entry {
            number: sending.number,
            bytes: sending.bytes,
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at.unwrap_or(now),
            first_sent: self.first_sent.unwrap_or(now),
            limited: self.limited_until.is_some(),
        });
        self.under_way += sending.bytes;
        self.sent += sending.bytes;
    }

    pub fn on_nothing_to_send(&mut self) {
        self.limited_until = Some(self.sent);
    }

    /// `overflow_bytes`: of what has left the path, a full queue is taken to have dropped so much.
    pub fn on_report(
        &mut self,
        newest: u64,
        came: Time,
        overflow_bytes: f64,
    ) -> Option<RateSample> {
        let mut last = None;
        let mut bytes = 0;
        while let Some(entry) = self.entries.pop_front_if(|it| it.number <= newest) {
            bytes += entry.bytes;
            last = Some(entry);
        }
        self.pass(bytes);
        self.delivered += (bytes as f64 - overflow_bytes).max(0.0);
        let last = last?;
        self.delivered_at = Some(came.max(self.delivered_at.unwrap_or(came)));
        self.first_sent = Some(last.at);
        let sending = last.at - last.first_sent;
        let coming = came - last.delivered_at;
        let span = sending.max(coming);
        (span > Nanos::ZERO).then(|| RateSample {
            bit_s: (self.delivered - last.delivered) * 8e9 / span.0 as f64,
            span,
            limited: last.limited,
        })
    }

    /// What left before `than` is no longer under way, reported or not.
    pub fn forget_older(&mut self, than: Time) {
        let mut bytes = 0;
        while let Some(entry) = self.entries.pop_front_if(|it| it.at < than) {
            bytes += entry.bytes;
        }
        self.pass(bytes);
    }

    fn pass(&mut self, bytes: u64) {
        self.under_way -= bytes;
        self.passed += bytes;
        if self.limited_until.is_some_and(|it| it < self.passed) {
            self.limited_until = None;
        }
    }
}
