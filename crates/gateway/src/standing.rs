//! Whether a queue stands on the path though the rate should leave none: others send there too, or the rate is a little too high. Then the
//! gateway sends a little slower until it has drained. Each time it leaves a hundredth more of the rate to the others, and takes it back in ten
//! seconds.

use bentpipe_base::{Nanos, Time};

/// The queueing delay from which on it is drained, and to which.
const HIGH: Nanos = Nanos::from_millis(8);
const LOW: Nanos = Nanos::from_millis(2);
/// The shortest round trip of the last one to two such spans is that of the empty path.
const BASE_SPAN: Nanos = Nanos::from_secs(30);
/// Delays are looked at in spans of so long at least: the shortest of each says what no jitter explains.
const LEAST_SPAN: Nanos = Nanos::from_millis(100);
/// So many parts of a hundred of what is sent otherwise are sent while it drains.
const DRAINING_PERCENT: u64 = 94;
/// In thousandths of the rate: what is left to others with each queue, at most, and how much of it is taken back per second.
const LEFT: u64 = 10;
const MOST_LEFT: u64 = 100;
const BACK_PER_SECOND: u64 = 1;

#[derive(Clone, Copy, Debug)]
pub(crate) struct StandingQueue {
    /// The shortest round trip of the last span, and of this one.
    base: [Nanos; 2],
    base_since: Time,
    recent: Nanos,
    recent_since: Time,
    /// The shortest of the last two spans, and the mean of how far one lies off the line between its neighbours: what jitter does, and a
    /// queue that grows does not.
    before: [Nanos; 2],
    scatter: i64,
    /// Since when it is drained, and how long it was then.
    draining: Option<(Time, Nanos)>,
    /// Thousandths of the rate that are left to others, as of a time.
    left: u64,
    left_since: Time,
}

/// The shortest of a few delays lies above the shortest of all by chance: by so many times their scatter at most.
const SCATTERS: i64 = 6;
const LONGEST: Nanos = Nanos(i64::MAX / 4);

impl Default for StandingQueue {
    fn default() -> Self {
        Self {
            base: [LONGEST; 2],
            base_since: Time(i64::MIN / 2),
            recent: LONGEST,
            recent_since: Time(i64::MIN / 2),
            before: [LONGEST; 2],
            scatter: 0,
            draining: None,
            left: 0,
            left_since: Time::ZERO,
        }
    }
}

impl StandingQueue {
    /// A round trip has been measured. The rate to send at from now on.
    pub fn on_round_trip(&mut self, now: Time, round_trip: Nanos, rate_bit_s: u64) -> u64 {
        if now - self.base_since >= BASE_SPAN {
            self.base = [self.base[1], LONGEST];
            self.base_since = now;
        }
        self.base[1] = self.base[1].min(round_trip);
        self.recent = self.recent.min(round_trip);
        let span = LEAST_SPAN.max(Nanos(round_trip.0 / 4));
        if now - self.recent_since >= span {
            self.judge(now, round_trip);
            self.recent = LONGEST;
            self.recent_since = now;
        }
        let share = rate_bit_s / 1000 * (1000 - self.left_now(now));
        match self.draining {
            Some(_) => share * DRAINING_PERCENT / 100,
            None if self.left_now(now) == 0 => rate_bit_s,
            None => share,
        }
    }

    fn left_now(&self, now: Time) -> u64 {
        let back = (now - self.left_since).0.max(0) as u64 * BACK_PER_SECOND / 1_000_000_000;
        self.left.saturating_sub(back)
    }

    fn leave(&mut self, now: Time, thousandths: u64) {
        self.left = thousandths.min(MOST_LEFT);
        self.left_since = now;
    }

    fn judge(&mut self, now: Time, round_trip: Nanos) {
        let base = self.base[0].min(self.base[1]);
        let standing = Nanos(self.recent.0 - base.0);
        if self.before[0] < LONGEST {
            let between = i64::midpoint(self.before[0].0, self.recent.0);
            let off = (self.before[1].0 - between).abs();
            self.scatter += (off - self.scatter) / 8;
        }
        self.before = [self.before[1], self.recent];
        let chance = SCATTERS * self.scatter;
        let (high, low) = (Nanos(HIGH.0 + chance), Nanos(LOW.0 + chance));
        match self.draining {
            None if standing > high => {
                self.draining = Some((now, standing));
                self.leave(now, self.left_now(now) + LEFT);
            }
            Some(_) if standing < low => self.draining = None,
            Some((since, before)) => {
                // What has not become shorter when it should have been drained is no queue: the path is longer now.
                let drained = before.0 * 100 / (100 - DRAINING_PERCENT as i64);
                let answered = 2 * round_trip.0;
                if now - since > Nanos(2 * drained + answered) {
                    self.draining = None;
                    if standing.0 > before.0 / 2 {
                        self.base = [self.recent; 2];
                        self.leave(now, self.left_now(now).saturating_sub(LEFT));
                    }
                }
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u64 = 1000;

    /// Reports round trips in ms, 20 ms apart, and returns the last rate.
    fn report(queue: &mut StandingQueue, now: &mut Time, times: usize, millis: i64) -> u64 {
        let mut rate = 0;
        for _ in 0..times {
            *now += Nanos::from_millis(20);
            rate = queue.on_round_trip(*now, Nanos::from_millis(millis), RATE);
        }
        rate
    }

    #[test]
    fn a_queue_that_stands_is_drained_and_then_the_whole_rate_is_used() {
        let (mut queue, mut now) = (StandingQueue::default(), Time::ZERO);
        assert_eq!(report(&mut queue, &mut now, 50, 100), RATE);
        assert_eq!(report(&mut queue, &mut now, 20, 106), RATE);
        assert_eq!(report(&mut queue, &mut now, 20, 118), 930);
        // A hundredth is left to the others.
        assert_eq!(report(&mut queue, &mut now, 20, 101), 990);
        assert_eq!(report(&mut queue, &mut now, 500, 101), RATE);
    }

    #[test]
    fn single_late_packets_are_no_queue() {
        let (mut queue, mut now) = (StandingQueue::default(), Time::ZERO);
        for _ in 0..100 {
            assert_eq!(report(&mut queue, &mut now, 1, 100), RATE);
            assert_eq!(report(&mut queue, &mut now, 3, 160), RATE);
        }
    }

    #[test]
    fn jitter_is_no_queue() {
        let (mut queue, mut now) = (StandingQueue::default(), Time::ZERO);
        let mut random = bentpipe_base::SplitMix64(1);
        let mut slow = 0;
        for _ in 0..3000 {
            // Two draws of up to 30 ms each, as on a path that delays each packet anew.
            let millis = 60 + random.draw_below(30) + random.draw_below(30);
            slow += usize::from(report(&mut queue, &mut now, 1, i64::from(millis)) < RATE);
        }
        assert!(slow < 30, "{slow} of 3000");
    }

    #[test]
    fn a_path_that_has_become_longer_is_not_taken_for_a_queue_for_long() {
        let (mut queue, mut now) = (StandingQueue::default(), Time::ZERO);
        report(&mut queue, &mut now, 100, 100);
        assert_eq!(report(&mut queue, &mut now, 10, 130), 930);
        // 30 ms would have been drained in half a second at 6 % less.
        assert_eq!(report(&mut queue, &mut now, 80, 130), RATE);
        assert_eq!(report(&mut queue, &mut now, 500, 130), RATE);
    }
}
