//! One row of the `link` table, and the sums it is made from.

use crate::time::{Nanos, Time};
use crate::totals::DropCause;

/// What happened in one pipe from `start` for one bin's width (less in the last bin of a run).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bin {
    /// A multiple of the bin's width, perhaps before time zero.
    pub start: Time,
    pub offered_bytes: u64,
    /// All IP bytes that left the pipe.
    pub throughput_bytes: u64,
    /// TCP payload that left the pipe for the first time.
    pub goodput_bytes: u64,
    pub offered_packets: u64,
    pub throughput_packets: u64,
    /// Over the bin's time.
    pub queue_bytes_mean: f64,
    pub queue_bytes_max: u64,
    pub queue_bytes_end: u64,
    /// Over the packets that left the queue for the shaper; `None` where there were none.
    pub queue_delay_s_mean: Option<f64>,
    pub queue_delay_s_max: Option<f64>,
    /// Packets, indexed by [`DropCause::index`].
    pub drops: [u64; DropCause::COUNT],
    pub marks: u64,
    pub duplicates: u64,
    pub corrupted: u64,
}

impl Bin {
    pub fn drops_by(&self, cause: DropCause) -> u64 {
        self.drops[cause.index()]
    }
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    pub bin: Bin,
    queue_bytes: u64,
    /// From when on `queue_bytes` holds, and the sum of bytes x ns up to then.
    since: Time,
    byte_nanos: u128,
    delay_nanos: i128,
    delay_max: Nanos,
    delays: u64,
}

impl Sums {
    pub fn begin(&mut self, start: Time) {
        self.since = start;
    }

    #[inline]
    pub fn queue_holds(&mut self, now: Time, bytes: u64) {
        self.weigh(now);
        self.queue_bytes = bytes;
        self.bin.queue_bytes_max = self.bin.queue_bytes_max.max(bytes);
    }

    fn weigh(&mut self, now: Time) {
        self.byte_nanos += u128::from(self.queue_bytes) * (now - self.since).0 as u128;
        self.since = now;
    }

    #[inline]
    pub fn left_queue(&mut self, delay: Nanos) {
        self.delays += 1;
        self.delay_nanos += i128::from(delay.0);
        self.delay_max = self.delay_max.max(delay);
    }

    /// The bin from `start` to `end`; what waits goes on into the next.
    pub fn finish(&mut self, start: Time, end: Time) -> Bin {
        self.weigh(end);
        let mut bin = core::mem::take(&mut self.bin);
        bin.start = start;
        bin.queue_bytes_mean = self.byte_nanos as f64 / (end - start).0 as f64;
        bin.queue_bytes_end = self.queue_bytes;
        if self.delays > 0 {
            bin.queue_delay_s_mean = Some(self.delay_nanos as f64 / self.delays as f64 / 1e9);
            bin.queue_delay_s_max = Some(self.delay_max.as_secs_f64());
        }
        self.byte_nanos = 0;
        self.delay_nanos = 0;
        self.delay_max = Nanos::ZERO;
        self.delays = 0;
        self.bin.queue_bytes_max = self.queue_bytes;
        bin
    }
}
