//! When to ask whether the other end is still there.
//!
//! QUIC's own probes back off to one in two seconds (noq-proto 1.4.0, `MAX_PTO_INTERVAL`), and to 1.5 RTT on paths of more than
//! 1.33 s. After an outage that would be the time lost, so an end that hears nothing asks four times a second. Such a packet has about 40
//! bytes: 1.3 kbit/s, and only while nothing arrives.

use std::time::{Duration, Instant};

/// Between two questions while nothing arrives.
pub(super) const PROBE_EVERY: Duration = Duration::from_millis(250);
/// What silence is allowed to last beyond two round trips after something was sent: acknowledgements may be held back, and a
/// lost one is followed by another.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Liveness {
    heard: Instant,
    /// Since when an answer is due.
    waiting: Option<Instant>,
    probed: Option<Instant>,
    /// How long silence may last without anything sent. `None`: the other end takes care of it.
    keep_alive: Option<Duration>,
}

impl Liveness {
    pub fn new(now: Instant, keep_alive: Option<Duration>) -> Self {
        Self {
            heard: now,
            waiting: None,
            probed: None,
            keep_alive,
        }
    }

    /// When a packet last arrived.
    pub fn last_heard(&self) -> Instant {
        self.heard
    }

    /// Since when an answer is due.
    pub fn waiting(&self) -> Option<Instant> {
        self.waiting
    }

    /// A packet arrived.
    pub fn heard(&mut self, now: Instant) {
        self.heard = now;
        self.waiting = None;
        self.probed = None;
    }

    /// Something leaves that the other end acknowledges.
    pub fn sent(&mut self, now: Instant) {
        self.waiting.get_or_insert(now);
    }

    pub fn timeout(&self, rtt: Duration) -> Option<Instant> {
        match (self.waiting, self.probed) {
            (Some(_), Some(probed)) => Some(probed + PROBE_EVERY),
            (Some(since), None) => Some(since + 2 * rtt + PATIENCE),
            (None, _) => self.keep_alive.map(|silence| self.heard + silence),
        }
    }

    /// Whether a packet must be sent now that the other end answers.
    pub fn probe_due(&mut self, now: Instant, rtt: Duration) -> bool {
        if self.timeout(rtt).is_none_or(|at| at > now) {
            return false;
        }
        // The keep-alive's own packet gets the usual patience.
        if self.waiting.is_some() {
            self.probed = Some(now);
        }
        self.sent(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(600);

    #[test]
    fn silence_is_asked_about_at_once_four_times_a_second_and_only_after_something_was_sent() {
        let start = Instant::now();
        let mut far = Liveness::new(start, None);
        assert_eq!(far.timeout(RTT), None);
        far.sent(start);
        far.sent(start + RTT);
        let due = start + 2 * RTT + PATIENCE;
        assert_eq!(far.timeout(RTT), Some(due));
        assert!(!far.probe_due(start + 2 * RTT, RTT));
        assert!(far.probe_due(due, RTT));
        assert_eq!(far.timeout(RTT), Some(due + PROBE_EVERY));
        assert!(far.probe_due(due + PROBE_EVERY, RTT));
        far.heard(due + 2 * PROBE_EVERY);
        assert_eq!(
            (far.timeout(RTT), far.last_heard()),
            (None, due + 2 * PROBE_EVERY)
        );
    }

    #[test]
    fn the_near_end_keeps_an_idle_connection_alive() {
        let start = Instant::now();
        let every = Duration::from_secs(5);
        let mut near = Liveness::new(start, Some(every));
        assert_eq!(near.timeout(RTT), Some(start + every));
        assert!(near.probe_due(start + every, RTT));
        assert_eq!(near.timeout(RTT), Some(start + every + 2 * RTT + PATIENCE));
        near.heard(start + every + RTT);
        assert_eq!(near.timeout(RTT), Some(start + every + RTT + every));
    }
}
