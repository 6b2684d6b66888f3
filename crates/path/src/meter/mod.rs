//! What a pipe carried, per bin of time: exact, from every event and not from samples.
//!
//! Throughput is what leaves the pipe; goodput is [`Goodput`]'s. An event at the very end of a bin belongs to the next.
//! The queue's delay is counted when a packet leaves the queue for the shaper, in the bin of that instant.

mod bin;
mod goodput;

pub use bin::Bin;
pub use goodput::Goodput;

use crate::packet::FlowKey;
use crate::packet::SequenceRange;
use crate::time::{Nanos, Time};
use crate::totals::DropCause;
use bin::Sums;
use std::collections::{VecDeque, vec_deque::Drain};

/// Counts per bin, and what is needed to go on counting.
#[derive(Debug)]
pub struct Meter {
    bin: Nanos,
    /// End of the bin that is being filled; `None` before the first event.
    end: Option<Time>,
    sums: Sums,
    finished: VecDeque<Bin>,
    goodput: Goodput,
}

impl Meter {
    pub(crate) fn new(bin: Nanos) -> Self {
        Self {
            bin,
            end: None,
            sums: Sums::default(),
            finished: VecDeque::new(),
            goodput: Goodput::new(),
        }
    }

    /// Width of a bin.
    pub fn bin(&self) -> Nanos {
        self.bin
    }

    /// Bins that are whole and not yet taken, oldest first.
    pub fn bins(&self) -> impl ExactSizeIterator<Item = &Bin> {
        self.finished.iter()
    }

    pub(crate) fn take_bins(&mut self) -> Drain<'_, Bin> {
        self.finished.drain(..)
    }

    /// Comes to `now`, finishing the bins before it.
    #[inline]
    pub(crate) fn advance(&mut self, now: Time) {
        match self.end {
            Some(end) if now < end => {}
            Some(end) => self.finish_bins(end, now),
            None => {
                let start = Time(now.0.div_euclid(self.bin.0) * self.bin.0);
                self.end = Some(start + self.bin);
                self.sums.begin(start);
            }
        }
    }

    #[cold]
    fn finish_bins(&mut self, mut end: Time, now: Time) {
        while end <= now {
            self.finished
                .push_back(self.sums.finish(end - self.bin, end));
            end += self.bin;
        }
        self.end = Some(end);
    }

    /// Closes the bin that is being filled at `now`, though it may not be whole.
    pub(crate) fn finish(&mut self, now: Time) {
        self.advance(now);
        if let Some(end) = self.end.take() {
            let start = end - self.bin;
            if now > start {
                self.finished.push_back(self.sums.finish(start, now));
            }
        }
    }

    pub(crate) fn offered(&mut self, bytes: u32) {
        self.sums.bin.offered_packets += 1;
        self.sums.bin.offered_bytes += u64::from(bytes);
    }

    pub(crate) fn dropped(&mut self, cause: DropCause, packets: u64) {
        self.sums.bin.drops[cause.index()] += packets;
    }

    pub(crate) fn marked(&mut self, packets: u64) {
        self.sums.bin.marks += packets;
    }

    /// What waits is so much from `now` on.
    #[inline]
    pub(crate) fn queue_holds(&mut self, now: Time, bytes: u64) {
        self.sums.queue_holds(now, bytes);
    }

    pub(crate) fn left_queue(&mut self, delay: Nanos) {
        self.sums.left_queue(delay);
    }

    pub(crate) fn duplicated(&mut self) {
        self.sums.bin.duplicates += 1;
    }

    pub(crate) fn left(
        &mut self,
        now: Time,
        bytes: u32,
        corrupted: bool,
        carried: impl FnOnce() -> Option<(FlowKey, SequenceRange)>,
    ) {
        let bin = &mut self.sums.bin;
        bin.throughput_packets += 1;
        bin.throughput_bytes += u64::from(bytes);
        if corrupted {
            bin.corrupted += 1;
        } else if let Some((flow, segment)) = carried() {
            bin.goodput_bytes += u64::from(self.goodput.count(now, flow, segment));
        }
    }
}
