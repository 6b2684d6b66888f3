//! Steps of the capture's own clock within a connection: it was set, or its host was asleep. The time stamps of the ends (RFC 7323) go
//! on over a step, and an outage of such a length would show in them.

use crate::analysis::LONGEST_NS;

/// Shorter pauses may be outages in which a link holds packets: their time stamps are old when they come.
const LEAST_FORWARD_NS: i64 = 60_000_000_000;
/// Packets that are less out of order are in their order already.
const LEAST_BACK_NS: i64 = 1_000_000_000;
/// A pause in which the ends' clocks went on by less than this part is none: one in so many.
const MOST_OF_PAUSE: i64 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub struct ClockSteps {
    /// What is added to the capture's times.
    shift_ns: i64,
    pub count: u64,
    pub largest_ns: i64,
    /// Packets that are earlier than one before them, without a step: their times say nothing.
    pub late: u64,
}

impl ClockSteps {
    /// The time of a packet, no earlier than `last_ns` of the one before it. `sent_ns`: when it was sent at the latest, by its sender's
    /// clock and the corrected times before.
    #[inline]
    pub fn corrected(
        &mut self,
        at_ns: i64,
        last_ns: i64,
        sent_ns: impl FnOnce() -> Option<i64>,
    ) -> i64 {
        let at_ns = self.shifted(at_ns);
        let passed_ns = at_ns.saturating_sub(last_ns);
        if (0..LEAST_FORWARD_NS).contains(&passed_ns) {
            return at_ns;
        }
        if let Some(sent_ns) = sent_ns()
            && (passed_ns <= -LEAST_BACK_NS || is_step(passed_ns, sent_ns.saturating_sub(last_ns)))
        {
            let most_ns = at_ns.max(last_ns.saturating_add(LEAST_BACK_NS));
            return self.step(at_ns, sent_ns.clamp(last_ns, most_ns).min(LONGEST_NS));
        }
        self.late += u64::from(passed_ns < 0);
        at_ns.max(last_ns)
    }

    /// Whether a packet is earlier than the one before it.
    #[inline]
    pub fn is_late(&self, at_ns: i64, last_ns: i64) -> bool {
        self.shifted(at_ns) < last_ns
    }

    fn shifted(&self, at_ns: i64) -> i64 {
        (at_ns.saturating_add(self.shift_ns)).clamp(-LONGEST_NS, LONGEST_NS)
    }

    fn step(&mut self, seen_ns: i64, at_ns: i64) -> i64 {
        let step_ns = seen_ns.saturating_sub(at_ns);
        self.shift_ns = self.shift_ns.saturating_sub(step_ns);
        self.count += 1;
        if step_ns.saturating_abs() > self.largest_ns.saturating_abs() {
            self.largest_ns = step_ns;
        }
        at_ns
    }
}

fn is_step(passed_ns: i64, by_sender_ns: i64) -> bool {
    passed_ns >= LEAST_FORWARD_NS && by_sender_ns < passed_ns / MOST_OF_PAUSE
}
