//! Whether a thread was kept from its work by waiting for a processor.

use super::priority::Priority;
use bentpipe_path::time::Nanos;
use rustix::fs::{Mode, OFlags, open};
use std::os::fd::OwnedFd;

/// How long the calling thread has been runnable without running (`/proc/thread-self/schedstat`, second field:
/// Documentation/scheduler/sched-stats.rst), and how often it stopped running (getrusage(2)).
#[derive(Debug)]
pub struct RunQueue {
    /// `None` where the kernel does not count it.
    schedstat: Option<OwnedFd>,
    waited: Nanos,
    switches: Switches,
    priority: Priority,
    /// It has not stopped running between the last look and [`RunQueue::about_to_sleep`].
    ran_on: bool,
}

/// What happened since the last look.
#[derive(Clone, Copy, Debug)]
pub struct Waited {
    pub nanos: Nanos,
    /// The thread slept once since [`RunQueue::about_to_sleep`], and before that was kept from running by nothing:
    /// all of the wait followed that sleep. Known of real-time threads alone: what the kernel counts of others may
    /// begin before they were woken. (On Linux 6.18, two busy cores, 10 ms each way: 16 of 8400 round trips shorter
    /// than the path where that was believed of an ordinary user's threads, and none of 8400 of root's.)
    pub after_sleep: bool,
}

/// How often a thread gave its processor up, and had it taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Switches {
    voluntary: i64,
    involuntary: i64,
}

impl RunQueue {
    /// Of the calling thread, which has this priority.
    pub fn new(priority: Priority) -> Self {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mut queue = Self {
            schedstat: open("/proc/thread-self/schedstat", flags, Mode::empty()).ok(),
            waited: Nanos::ZERO,
            switches: Switches::default(),
            priority,
            ran_on: false,
        };
        queue.since();
        queue
    }

    /// To be called right before a sleep.
    pub fn about_to_sleep(&mut self) {
        self.ran_on = switches() == self.switches;
    }

    /// What happened since the last call.
    pub fn since(&mut self) -> Waited {
        let waited = self.schedstat.as_ref().and_then(waited);
        let waited = waited.unwrap_or(self.waited);
        let nanos = waited - self.waited;
        self.waited = waited;
        let switches = switches();
        let after_sleep = std::mem::take(&mut self.ran_on)
            && self.priority == Priority::RealTime
            && switches.voluntary - self.switches.voluntary == 1
            && switches.involuntary == self.switches.involuntary;
        self.switches = switches;
        Waited { nanos, after_sleep }
    }
}

fn waited(schedstat: &OwnedFd) -> Option<Nanos> {
    let mut text = [0; 64];
    let length = rustix::io::pread(schedstat, &mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split(' ').nth(1)?.parse().ok().map(Nanos)
}

fn switches() -> Switches {
    // SAFETY: an rusage of zeros is valid, and getrusage fills it for the calling thread and keeps no reference.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    Switches {
        voluntary: usage.ru_nvcsw,
        involuntary: usage.ru_nivcsw,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    /// Keeps the calling thread on the first processor that it may use.
    fn pin() {
        let allowed = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu));
        let mut one = CpuSet::new();
        one.set(first.unwrap());
        sched_setaffinity(None, &one).unwrap();
    }

    #[test]
    fn the_kernel_says_how_long_a_thread_waited_for_a_processor() {
        let done = AtomicBool::new(false);
        let waited = std::thread::scope(|threads| {
            threads.spawn(|| {
                pin();
                while !done.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let beside = threads.spawn(|| {
                pin();
                let mut queue = RunQueue::new(Priority::Ordinary);
                let mut waited = Nanos::ZERO;
                let until = Instant::now() + Duration::from_secs(10);
                while waited == Nanos::ZERO && Instant::now() < until {
                    waited = queue.since().nanos;
                }
                done.store(true, Ordering::Relaxed);
                waited
            });
            beside.join().unwrap()
        });
        assert!(
            waited > Nanos::ZERO,
            "two threads that want one processor wait for each other"
        );
    }

    #[test]
    fn one_sleep_is_told_from_two_and_from_one_before() {
        let sleep = || std::thread::sleep(Duration::from_millis(1));
        let mut queue = RunQueue::new(Priority::RealTime);
        queue.about_to_sleep();
        sleep();
        sleep();
        assert!(!queue.since().after_sleep);
        sleep();
        queue.about_to_sleep();
        assert!(!queue.since().after_sleep);
    }

    #[test]
    fn of_a_thread_without_real_time_priority_no_wait_is_believed_to_follow_its_sleep() {
        for priority in [Priority::ShortSlice, Priority::Ordinary] {
            let mut queue = RunQueue::new(priority);
            queue.about_to_sleep();
            std::thread::sleep(Duration::from_millis(1));
            assert!(!queue.since().after_sleep);
        }
    }
}
