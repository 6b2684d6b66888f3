//! What a flow had come to at the end of each bin in which one of its packets passed. When there are too many bins, their width
//! doubles, so the memory of a flow has a bound however long it lasts.

use super::clock::Reading;

/// Counters count from the beginning of the flow. "The sender knows" is what it knew when it sent the segment with the most
/// outstanding in this bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Time of the last packet in the bin.
    pub at_ns: i64,
    pub sent_bytes: u64,
    /// As acknowledgements say that passed.
    pub acknowledged_bytes: u64,
    /// As the segments say that passed: without holes below.
    pub received_bytes: u64,
    /// By acknowledgements and selective ones, or in any order where the flow passes near its receiver.
    pub arrived_bytes: u64,
    pub retransmitted_bytes: u64,
    pub retransmits: u64,
    pub timeouts: u64,
    pub segments: u64,
    pub acks: u64,
    pub out_of_order: u64,
    pub marked: u64,
    pub short_segments: u64,
    pub pushes: u64,
    pub single_pushes: u64,
    pub equal_pushes: u64,
    pub bursts: u64,
    pub unprompted_bursts: u64,
    pub busy_ns: i64,
    pub rwnd_limited_ns: i64,
    /// Null: no data in this bin.
    pub outstanding_bytes: Option<u64>,
    pub in_flight_bytes: Option<u64>,
    pub recovery: RecoveryState,
    /// Not scaled.
    pub window: Option<u32>,
    /// Means of the bin: from here to the receiver and back, to the sender and back.
    pub far_ns: Option<i64>,
    pub near_ns: Option<i64>,
    pub min_far_ns: Option<i64>,
    pub min_near_ns: Option<i64>,
    /// Of the time stamps that passed.
    pub sender_clock: Option<Reading>,
    pub receiver_clock: Option<Reading>,
}

/// As Linux names the states of a sender, as far as they can be told from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryState {
    #[default]
    Open,
    Disorder,
    Recovery,
    Loss,
}

impl RecoveryState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }
}

const FIRST_WIDTH_NS: i64 = 10_000_000;
const MOST_ROWS: usize = 2048;

#[derive(Debug)]
pub struct Timeline {
    width_ns: i64,
    origin_ns: Option<i64>,
    current: i64,
    rows: Vec<(i64, Sample)>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width_ns: FIRST_WIDTH_NS,
            origin_ns: None,
            current: 0,
            rows: Vec::new(),
        }
    }
}

impl Timeline {
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &Sample> {
        self.rows.iter().map(|(_, sample)| sample)
    }

    pub fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// Whether a bin ends before this time: then [`Self::end_bin`] is to be called.
    #[inline]
    pub fn is_bin_over(&mut self, at_ns: i64) -> bool {
        let origin_ns = *self.origin_ns.get_or_insert(at_ns);
        (at_ns - origin_ns) / self.width_ns > self.current
    }

    /// Closes the current bin with this sample and begins that of `at_ns`.
    pub fn end_bin(&mut self, sample: Sample, at_ns: i64) {
        self.rows.push((self.current, sample));
        if self.rows.len() >= MOST_ROWS {
            self.widen();
        }
        let origin_ns = self.origin_ns.unwrap_or(at_ns);
        self.current = (at_ns - origin_ns) / self.width_ns;
    }

    /// Makes bins twice as wide. Of two that become one, the later has the counters; the larger outstanding stays with its window.
    pub fn widen(&mut self) {
        self.width_ns *= 2;
        self.current /= 2;
        let mut rows: Vec<(i64, Sample)> = Vec::with_capacity(self.rows.len() / 2 + 1);
        for (bin, sample) in self.rows.drain(..) {
            match rows.last_mut() {
                Some((last, kept)) if *last == bin / 2 => {
                    let before = *kept;
                    *kept = sample;
                    if before.outstanding_bytes > sample.outstanding_bytes {
                        kept.outstanding_bytes = before.outstanding_bytes;
                        kept.in_flight_bytes = before.in_flight_bytes;
                        kept.window = before.window;
                    }
                }
                _ => rows.push((bin / 2, sample)),
            }
        }
        self.rows = rows;
    }
}
