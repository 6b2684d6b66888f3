//! The clock of a gateway: nanoseconds since it was made.

use bentpipe_base::{Nanos, Time};
use std::time::{Duration, Instant};

/// One moment on both clocks: the carrier's and the session's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub instant: Instant,
    pub time: Time,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub fn new() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    pub fn now(self) -> Now {
        let instant = Instant::now();
        let since = instant.duration_since(self.start).as_nanos();
        Now {
            instant,
            time: Time(i64::try_from(since).unwrap_or(i64::MAX)),
        }
    }
}

/// How long from now until then; nothing if it is over.
pub(crate) fn until(now: Now, at: Time) -> Duration {
    let Nanos(left) = at - now.time;
    Duration::from_nanos(u64::try_from(left).unwrap_or(0))
}
