//! Whether a thread was kept from its work: by waiting for a processor, or by standing still altogether.

use bentpipe_path::time::Nanos;
use rustix::fs::{Mode, OFlags, open};
use std::os::fd::OwnedFd;

/// How long the calling thread has been runnable without running (`/proc/thread-self/schedstat`, second field:
/// Documentation/scheduler/sched-stats.rst).
#[derive(Debug)]
pub struct RunQueue {
    /// `None` where the kernel does not count it.
    schedstat: Option<OwnedFd>,
    waited: Nanos,
}

impl RunQueue {
    /// Of the calling thread.
    pub fn new() -> Self {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let mut queue = Self {
            schedstat: open("/proc/thread-self/schedstat", flags, Mode::empty()).ok(),
            waited: Nanos::ZERO,
        };
        queue.waited_since();
        queue
    }

    /// The time waited since the last call.
    pub fn waited_since(&mut self) -> Nanos {
        let Some(waited) = self.schedstat.as_ref().and_then(waited) else {
            return Nanos::ZERO;
        };
        let since = waited - self.waited;
        self.waited = waited;
        since
    }
}

fn waited(schedstat: &OwnedFd) -> Option<Nanos> {
    let mut text = [0; 64];
    let length = rustix::io::pread(schedstat, &mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split(' ').nth(1)?.parse().ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_how_long_a_thread_waited_for_a_processor() {
        let mut queue = RunQueue::new();
        std::thread::yield_now();
        assert!(queue.waited_since() >= Nanos::ZERO);
        assert!(
            queue.waited > Nanos::ZERO,
            "a thread waits before it first runs"
        );
    }
}
