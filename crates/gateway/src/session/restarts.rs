//! What a gateway does for hosts whose connections were opened while the other gateway was started anew.
//!
//! The old far may have acted on any packet that reached it. A packet that left near after the new far had taken the port cannot have reached the
//! old one. The new far's HELLO tells how old it is; the rest here is about clocks that do not agree.

use super::{Role, Session};
use crate::hello::Hello;
use bentpipe_base::{Nanos, Time};

/// What two clocks may differ by in a second.
const DRIFT: i128 = 1000;
/// Two HELLOs may be so differently late, in microseconds.
const SLACK_US: i128 = 1_000_000;

impl Session {
    /// Tells the other gateway how long this one is there. `began`: when it had taken its port, or later. `clock_us`: the machine's clock at that moment
    /// ([`Hello::clock_us`]).
    pub fn set_began(&mut self, began: Time, clock_us: u64) {
        self.began = Some((began, clock_us));
    }

    /// From now on, a flow of which the other gateway has got nothing is given back when its session is over.
    pub fn give_back_flows(&mut self) {
        self.gives_back = true;
    }

    pub(super) fn age_and_clock(&self, now: Time) -> (u64, u64) {
        let Some((began, clock_us)) = self.began else {
            return (0, 0);
        };
        let age_us = ((now - began).0 / 1000).max(0).unsigned_abs();
        (age_us, clock_us.saturating_add(age_us))
    }

    /// The other gateway has begun anew with this HELLO. What left after this moment has not reached the one before it.
    pub(super) fn safe_since(&self, now: Time, hello: &Hello) -> Option<Time> {
        let (then, old) = self.greeted.as_ref()?;
        if self.role != Role::Near || hello.epoch == old.epoch {
            return None;
        }
        let safe = safe_since_us(
            (now - *then).0 / 1000,
            (old.clock_us, hello.clock_us),
            hello.age_us,
        );
        Some(*then + Nanos(safe?.checked_mul(1000)?))
    }
}

/// Microseconds after the old HELLO. `elapsed`: until the new one came, on the own clock. `clocks`: what both HELLOs say.
fn safe_since_us(elapsed: i64, clocks: (u64, u64), age: u64) -> Option<i64> {
    if clocks.0 == 0 || clocks.1 == 0 || age == 0 {
        return None;
    }
    let (elapsed, age) = (i128::from(elapsed), i128::from(age));
    let theirs = i128::from(clocks.1) - i128::from(clocks.0);
    // It was there before: two gateways have this key.
    if age >= theirs {
        return None;
    }
    // The own machine slept, or the HELLOs were late: as if the other gateway were younger.
    let ahead = theirs - elapsed;
    // It is not the machine from before, or it was started anew, too.
    if ahead < -(SLACK_US + elapsed / DRIFT) {
        return None;
    }
    let safe = elapsed - age + age / DRIFT + ahead.max(0);
    i64::try_from(safe.max(0)).ok()
}

#[cfg(test)]
mod tests {
    use super::safe_since_us;

    const S: u64 = 1_000_000;

    /// The old HELLO came when far's clock was at 1000 s.
    fn at(elapsed_s: i64, clock_s: u64, age_s: u64) -> Option<i64> {
        safe_since_us(elapsed_s * S as i64, (1000 * S, clock_s * S), age_s * S)
    }

    #[test]
    fn what_left_after_the_new_far_was_there_is_safe() {
        // 100 s later, far is 10 s old: from 90 s on, and a thousandth of its age more.
        assert_eq!(at(100, 1100, 10), Some(90_010_000));
        // It was late by up to a second on either side.
        assert_eq!(at(100, 1101, 10), Some(91_010_000));
        assert_eq!(at(101, 1100, 10), Some(91_010_000));
    }

    #[test]
    fn a_machine_that_slept_takes_the_time_into_account() {
        // Near slept for an hour, in which far was started: by near's clock it would have been before the old HELLO.
        assert_eq!(at(100, 1000 + 3700, 1800), Some(1_901_800_000));
        // So nothing that left until now is safe.
        assert!(at(100, 4700, 1800).unwrap() > 100 * S as i64);
    }

    #[test]
    fn another_machine_or_another_far_beside_it_is_not_believed() {
        // Its clock is another one: it began anew, or is behind.
        assert_eq!(at(100, 50, 10), None);
        assert_eq!(at(100, 1010, 5), None);
        // It has been there for longer than the session.
        assert_eq!(at(100, 1100, 100), None);
        // It is ahead: nothing is safe.
        assert!(at(100, 90_000, 10).unwrap() > 100 * S as i64);
    }

    #[test]
    fn a_far_that_does_not_say_is_not_believed() {
        assert_eq!(at(100, 1100, 0), None);
        assert_eq!(safe_since_us(100, (0, 5), 3), None);
        assert_eq!(safe_since_us(100, (5, 0), 3), None);
        // Any numbers are taken.
        let _ = safe_since_us(i64::MAX, (1, u64::MAX), u64::MAX - 5);
        let _ = safe_since_us(0, (u64::MAX, 1), u64::MAX);
    }
}
