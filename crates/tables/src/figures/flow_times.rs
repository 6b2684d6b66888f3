//! How long flows took, by their size: from the connection's beginning to the last byte.
//!
//! A flow is small if it fits in the server's initial window: it is sent at once, so its time is two round trips and what
//! loss and queues add, whatever the congestion control. Longer ones take further round trips.

use super::statistics::{percentile_of_sorted, sort, sum};
use serde::Serialize;

const BOUNDS_BYTES: [u64; 7] = [0, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// A flow from its beginning to its last byte.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub size_bytes: u64,
    pub start_s: f64,
    /// `None`: it did not finish.
    pub end_s: Option<f64>,
}

/// The percentiles are of what finished; what did not is counted beside them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Times {
    pub count: usize,
    pub not_finished: usize,
    pub p50_s: Option<f64>,
    pub p95_s: Option<f64>,
    pub p99_s: Option<f64>,
    pub max_s: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SmallFlows {
    pub up_to_bytes: u64,
    #[serde(flatten)]
    pub times: Times,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfSize {
    pub at_least_bytes: u64,
    pub below_bytes: Option<u64>,
    #[serde(flatten)]
    pub times: Times,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowTimes {
    pub flow_times: Times,
    pub small_flows: SmallFlows,
    pub fct_by_size: Vec<OfSize>,
}

impl Times {
    pub fn of<'a>(spans: impl Iterator<Item = &'a Span>) -> Self {
        let (mut took_s, mut not_finished) = (Vec::new(), 0);
        for span in spans {
            match span.end_s {
                Some(end_s) => took_s.push(end_s - span.start_s),
                None => not_finished += 1,
            }
        }
        sort(&mut took_s);
        Self {
            count: took_s.len(),
            not_finished,
            p50_s: percentile_of_sorted(&took_s, 50.0),
            p95_s: percentile_of_sorted(&took_s, 95.0),
            p99_s: percentile_of_sorted(&took_s, 99.0),
            max_s: took_s.last().copied(),
        }
    }
}

/// A flow of `small_bytes` fits in the initial window.
pub fn flow_times(spans: &[Span], small_bytes: u64) -> FlowTimes {
    let of_size = |bounds: &[u64]| {
        let (at_least, below) = (bounds[0], bounds[1]);
        let within = |span: &&Span| (at_least..below).contains(&span.size_bytes);
        let times = Times::of(spans.iter().filter(within));
        (times.count + times.not_finished > 0).then_some(OfSize {
            at_least_bytes: at_least,
            below_bytes: (below < u64::MAX).then_some(below),
            times,
        })
    };
    let small = |span: &&Span| span.size_bytes <= small_bytes;
    FlowTimes {
        flow_times: Times::of(spans.iter()),
        small_flows: SmallFlows {
            up_to_bytes: small_bytes,
            times: Times::of(spans.iter().filter(small)),
        },
        fct_by_size: BOUNDS_BYTES.windows(2).filter_map(of_size).collect(),
    }
}

/// For how much of the duration one of the channels had no flow under way, on average.
pub fn pause_s(spans: &[Span], channels: u64, start_s: f64, duration_s: f64) -> f64 {
    let under_way = |span: &Span| {
        let end_s = span.end_s.unwrap_or(start_s + duration_s);
        (end_s - span.start_s).max(0.0)
    };
    let under_way_s: Vec<f64> = spans.iter().map(under_way).collect();
    (duration_s - sum(&under_way_s) / channels as f64).max(0.0)
}
