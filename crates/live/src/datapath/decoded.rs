//! What crosses in a gateway's session is no TCP: its payload is counted where the gateway gives it to its hosts.

use super::clock;
use bentpipe_path::time::Time;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The payload that a gateway gave to its hosts, by the meter's bins. The gateway's thread counts, and the pipe's thread takes.
#[derive(Clone, Debug)]
pub struct Decoded {
    bin_ns: i64,
    zero_monotonic_ns: i64,
    /// The start of a bin, and bytes.
    bins: Arc<Mutex<VecDeque<(i64, u64)>>>,
}

impl Decoded {
    pub fn new(bin_ns: i64, zero_monotonic_ns: i64) -> Self {
        Self {
            bin_ns,
            zero_monotonic_ns,
            bins: Arc::default(),
        }
    }

    /// Hosts were given so many bytes just now.
    pub fn count(&self, bytes: u64) {
        self.count_at(clock::monotonic_ns() - self.zero_monotonic_ns, bytes);
    }

    fn count_at(&self, now_ns: i64, bytes: u64) {
        let start = now_ns.div_euclid(self.bin_ns) * self.bin_ns;
        let mut bins = self.bins.lock().unwrap_or_else(PoisonError::into_inner);
        match bins.back_mut().filter(|bin| bin.0 == start) {
            Some(bin) => bin.1 += bytes,
            None => bins.push_back((start, bytes)),
        }
    }

    /// What was counted in the bins up to the one that begins then. A bin that was taken before its last bytes were counted has them in the
    /// next one.
    pub fn take(&self, start: Time) -> u64 {
        let mut bins = self.bins.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = 0;
        while let Some(bin) = bins.pop_front_if(|bin| bin.0 <= start.0) {
            bytes += bin.1;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_one_bin_that_of_its_time_or_the_next() {
        let decoded = Decoded::new(100, 0);
        for (now, bytes) in [(-1, 1), (0, 10), (99, 20), (100, 300)] {
            decoded.count_at(now, bytes);
        }
        assert_eq!(decoded.take(Time(-100)), 1);
        assert_eq!(decoded.take(Time(0)), 30);
        // Counted late.
        decoded.count_at(150, 4000);
        assert_eq!(decoded.take(Time(100)), 4300);
        assert_eq!(decoded.take(Time(200)), 0);
    }
}
