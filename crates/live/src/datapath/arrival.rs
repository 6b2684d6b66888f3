//! When a packet came that a read has found: a device keeps no time stamp.
//!
//! The time given to the model is never earlier than the real one, or a packet could leave before its time, and the
//! hosts would see a round trip shorter than the path. So it is the time of the read, but for one case: a thread that
//! was woken by input, and by nothing else, was made ready to run by the first packet. So that packet had come when
//! the wait for a processor began ([`super::absence`] says when that is known). How much earlier than the time given
//! a packet may have come is known as well, and is part of its lateness.

use bentpipe_path::time::{Nanos, Time};

/// What is known about what the next reads find.
#[derive(Clone, Copy, Debug)]
pub struct Arrivals {
    /// Nothing that will be found came before this.
    since: Time,
    /// The first packet had come by then.
    first_by: Option<Time>,
}

/// A packet's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// For the model: it had come by then.
    pub at: Time,
    /// It came at most this much earlier.
    pub late: Nanos,
}

/// How a sleep ended.
#[derive(Clone, Copy, Debug)]
pub struct Sleep {
    /// When it was to end without input.
    pub until: Time,
    pub woke: Time,
    /// Runnable without running, at most.
    pub waited: Nanos,
    /// All of `waited` came at the sleep's end.
    pub proven: bool,
    /// What a wake-up usually costs beyond `waited`: the processor's own waking.
    pub wake_cost: Nanos,
}

impl Arrivals {
    pub fn new(now: Time) -> Self {
        Self {
            since: now,
            first_by: None,
        }
    }

    pub fn since(&self) -> Time {
        self.since
    }

    /// The device had nothing when it was looked at, which was not before `at`.
    pub fn none_at(&mut self, at: Time) {
        *self = Self::new(at);
    }

    /// Input ends a sleep at once, so what is there now came not before the thread was made ready to run.
    pub fn slept(&mut self, sleep: &Sleep) {
        let overslept = (sleep.woke - sleep.until).max(Nanos::ZERO);
        let by_input = overslept == Nanos::ZERO;
        let cost = if by_input {
            sleep.wake_cost
        } else {
            Nanos::ZERO
        };
        let behind = overslept.max(Nanos(sleep.waited.0 + cost.0));
        self.since = self.since.max(Time(sleep.woke.0 - behind.0));
        self.first_by =
            (by_input && sleep.proven).then(|| Time(sleep.woke.0 - sleep.waited.0).max(self.since));
    }

    /// A read that ended at `now` gave a packet.
    pub fn read(&mut self, now: Time) -> Arrival {
        let at = self.first_by.take().unwrap_or(now).min(now);
        Arrival {
            at,
            late: (at - self.since).max(Nanos::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn woken_by_input() -> Sleep {
        Sleep {
            until: Time(1_000_000),
            woke: Time(500_000),
            waited: Nanos(100_000),
            proven: true,
            wake_cost: Nanos(20_000),
        }
    }

    fn arrival(at: i64, late: i64) -> Arrival {
        Arrival {
            at: Time(at),
            late: Nanos(late),
        }
    }

    #[test]
    fn the_packet_that_woke_the_thread_had_come_when_the_wait_for_a_processor_began() {
        let mut arrivals = Arrivals::new(Time(0));
        arrivals.slept(&woken_by_input());
        assert_eq!(arrivals.read(Time(501_000)), arrival(400_000, 20_000));
        assert_eq!(
            arrivals.read(Time(502_000)),
            arrival(502_000, 122_000),
            "of those behind it nothing is known"
        );
    }

    #[test]
    fn a_wait_that_may_have_been_before_the_sleep_proves_nothing() {
        let mut arrivals = Arrivals::new(Time(0));
        arrivals.slept(&Sleep {
            proven: false,
            ..woken_by_input()
        });
        assert_eq!(arrivals.read(Time(501_000)), arrival(501_000, 121_000));
    }

    #[test]
    fn after_a_sleep_that_went_on_too_long_a_packet_came_when_it_is_read_and_may_be_late_by_all_of_it()
     {
        let mut arrivals = Arrivals::new(Time(0));
        arrivals.slept(&Sleep {
            woke: Time(31_000_000),
            ..woken_by_input()
        });
        let late = Nanos(30_001_000);
        let expected = Arrival {
            at: Time(31_001_000),
            late,
        };
        assert_eq!(arrivals.read(Time(31_001_000)), expected);
    }

    #[test]
    fn without_a_sleep_a_packet_came_since_the_device_was_last_empty() {
        let mut arrivals = Arrivals::new(Time(0));
        arrivals.none_at(Time(10_000));
        assert_eq!(arrivals.read(Time(310_000)), arrival(310_000, 300_000));
        assert_eq!(
            arrivals.read(Time(320_000)),
            arrival(320_000, 310_000),
            "the queue was never seen empty in between"
        );
    }

    #[test]
    fn nothing_came_before_the_device_was_seen_empty() {
        let mut arrivals = Arrivals::new(Time(0));
        arrivals.none_at(Time(450_000));
        arrivals.slept(&woken_by_input());
        assert_eq!(arrivals.read(Time(500_500)), arrival(450_000, 0));
    }
}
