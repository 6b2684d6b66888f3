//! `CLOCK_MONOTONIC` against the run's time zero, and waiting for an instant or for input.

use bentpipe_path::time::{Nanos, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::BorrowedFd;

fn nanos(at: Timespec) -> i64 {
    at.tv_sec * 1_000_000_000 + at.tv_nsec
}

/// Now, in nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic_ns() -> i64 {
    nanos(clock_gettime(ClockId::Monotonic))
}

/// What to add to `CLOCK_MONOTONIC` for the time of day, as of now.
pub fn realtime_offset_ns() -> i64 {
    nanos(clock_gettime(ClockId::Realtime)) - monotonic_ns()
}

/// The calling thread's CPU time.
pub fn thread_cpu_ns() -> i64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// The run's clock.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    pub zero_monotonic_ns: i64,
}

impl RunClock {
    pub fn now(self) -> Time {
        Time(monotonic_ns() - self.zero_monotonic_ns)
    }
}

/// Sleeps until one of `sources` is readable or `at_most` has passed. Tells whether the first one alone ended the sleep:
/// where others are readable as well, any of them may have, and the first become readable while the thread waited for
/// a processor.
pub fn sleep<const N: usize>(sources: [BorrowedFd<'_>; N], at_most: Nanos) -> io::Result<bool> {
    let timeout = Timespec {
        tv_sec: at_most.0 / 1_000_000_000,
        tv_nsec: at_most.0 % 1_000_000_000,
    };
    let mut fds = sources.map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN));
    match poll(&mut fds, Some(&timeout)) {
        Ok(ready) => Ok(ready == 1 && !fds[0].revents().is_empty()),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How much of the wait before a departure to spend awake.
///
/// A timer wakes a thread tens of microseconds late (most where the processor has gone to sleep), so the sleep
/// ends that much early and the rest is spun. Two limits keep the spinning from taking the processor that the
/// hosts' programs need: the margin follows what wake-ups really need, and spinning has a budget, a share of all
/// time, so that it stops by itself where departures are dense.
#[derive(Debug)]
pub struct Spin {
    /// What a wake-up overshoots by, smoothed, and how far it strays from that.
    overshoot_ns: i64,
    deviation_ns: i64,
    budget_ns: i64,
    credited: Time,
}

/// Never spin longer than this for one departure.
const MARGIN_MAX_NS: i64 = 120_000;
/// One part in this many of the time may be spun.
const SHARE: i64 = 8;
const BUDGET_MAX_NS: i64 = 2_000_000;

impl Spin {
    pub fn new(now: Time) -> Self {
        Self {
            overshoot_ns: 40_000,
            deviation_ns: 10_000,
            budget_ns: BUDGET_MAX_NS,
            credited: now,
        }
    }

    /// The time before a departure at which to be awake.
    pub fn margin(&mut self, now: Time) -> Nanos {
        let credit = (now - self.credited).0 / SHARE;
        self.credited = now;
        self.budget_ns = (self.budget_ns + credit).min(BUDGET_MAX_NS);
        let wanted = (self.overshoot_ns + 2 * self.deviation_ns).min(MARGIN_MAX_NS);
        Nanos(if self.budget_ns >= wanted { wanted } else { 0 })
    }

    pub fn spent(&mut self, spun: Nanos) {
        self.budget_ns -= spun.0;
    }

    /// A sleep was to end at `wanted` and ended at `woke`.
    pub fn slept(&mut self, wanted: Time, woke: Time) {
        let overshoot = (woke - wanted).0.clamp(0, 2 * MARGIN_MAX_NS);
        let off = overshoot - self.overshoot_ns;
        self.overshoot_ns += off / 8;
        self.deviation_ns += (off.abs() - self.deviation_ns) / 4;
    }

    /// How long a wake-up usually takes.
    pub fn wake_cost(&self) -> Nanos {
        Nanos(self.overshoot_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{EventfdFlags, eventfd};
    use std::os::fd::AsFd;

    #[test]
    fn a_sleep_is_ended_by_the_first_source_only_where_no_other_may_have_ended_it() {
        let [first, other] = [(); 2].map(|()| eventfd(0, EventfdFlags::NONBLOCK).unwrap());
        let by_first = || sleep([first.as_fd(), other.as_fd()], Nanos::ZERO).unwrap();
        let wake = |fd| rustix::io::write(fd, &1_u64.to_ne_bytes()).unwrap();
        assert!(!by_first(), "nothing has come");
        wake(&first);
        assert!(by_first());
        wake(&other);
        assert!(
            !by_first(),
            "both have come, and it is not known which came first"
        );
        rustix::io::read(&first, &mut [0; 8]).unwrap();
        assert!(!by_first());
    }

    #[test]
    fn the_margin_follows_what_wake_ups_need_and_is_bounded() {
        let mut spin = Spin::new(Time::ZERO);
        for _ in 0..100 {
            spin.slept(Time(0), Time(10_000));
        }
        assert!((10_000..14_000).contains(&spin.margin(Time(0)).0));
        for _ in 0..100 {
            spin.slept(Time(0), Time(30_000_000));
        }
        assert_eq!(spin.margin(Time(0)).0, MARGIN_MAX_NS);
    }

    #[test]
    fn spinning_stops_when_its_share_is_spent_and_returns_with_time() {
        let mut spin = Spin::new(Time::ZERO);
        spin.spent(Nanos(BUDGET_MAX_NS));
        assert_eq!(spin.margin(Time(0)), Nanos::ZERO);
        assert!(spin.margin(Time(1_000_000)).0 > 0);
    }
}
