//! The clock of a run: `CLOCK_MONOTONIC`, which Python's `time.monotonic_ns` reads too.

use rustix::time::{ClockId, clock_gettime};

pub(crate) fn monotonic_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
