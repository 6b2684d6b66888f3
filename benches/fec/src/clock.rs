//! Processor time of this thread, so that other programs on the machine count little.

use rustix::time::{ClockId, clock_gettime};

pub fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Adds what `work` takes to `seconds`.
pub fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> T) -> T {
    let start = processor_seconds();
    let result = work();
    *seconds += processor_seconds() - start;
    result
}
