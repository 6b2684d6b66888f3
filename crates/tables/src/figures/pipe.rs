//! What a pipe did over a run: its means from time 0 to the run's end, and its drops over the whole run.

use super::named::Named;
use bentpipe_path::{Bin, DropCause};
use serde::Serialize;

/// Columns of the `link` table of one pipe, in the order of time: what its figures take.
#[derive(Clone, Debug, Default)]
pub struct Bins {
    pub start_s: Vec<f64>,
    pub throughput_bytes: Vec<u64>,
    pub throughput_packets: Vec<u64>,
    pub goodput_bytes: Vec<u64>,
    pub queue_bytes_mean: Vec<f64>,
    pub queue_bytes_max: Vec<u64>,
    pub queue_bytes_end: Vec<u64>,
    pub queue_delay_s_mean: Vec<Option<f64>>,
    /// By the queue: tail and AQM.
    pub dropped_packets: Vec<u64>,
    /// Over the whole run, in the order of [`DropCause::ALL`].
    pub drops: [u64; DropCause::COUNT],
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PipeFigures {
    pub throughput_mbit_s: f64,
    pub goodput_mbit_s: f64,
    pub drops: Named<u64>,
    pub queue_bytes_mean: Option<f64>,
    pub queue_bytes_max: Option<u64>,
}

impl Bins {
    pub fn push(&mut self, bin: &Bin) {
        self.start_s.push(bin.start.as_secs_f64());
        self.throughput_bytes.push(bin.throughput_bytes);
        self.throughput_packets.push(bin.throughput_packets);
        self.goodput_bytes.push(bin.goodput_bytes);
        self.queue_bytes_mean.push(bin.queue_bytes_mean);
        self.queue_bytes_max.push(bin.queue_bytes_max);
        self.queue_bytes_end.push(bin.queue_bytes_end);
        self.queue_delay_s_mean.push(bin.queue_delay_s_mean);
        self.dropped_packets
            .push(bin.drops_by(DropCause::Tail) + bin.drops_by(DropCause::Aqm));
        for (sum, drops) in self.drops.iter_mut().zip(bin.drops) {
            *sum += drops;
        }
    }

    /// A bin counts whole if it starts from 0 to `end_s`. Throughput and goodput are over the bins' time, so that a run of
    /// 60 s is measured over 60 s even where its last bins were empty.
    pub fn figures(&self, end_s: f64, bin_s: f64) -> PipeFigures {
        let inside = |start_s: f64| start_s > -bin_s / 2.0 && start_s < end_s - bin_s / 2.0;
        let first = self.start_s.partition_point(|&it| it <= -bin_s / 2.0);
        let past = self.start_s.partition_point(|&it| it < end_s - bin_s / 2.0);
        let within = first..past.max(first);
        debug_assert!(self.start_s[within.clone()].iter().all(|&it| inside(it)));
        let seconds = (end_s / bin_s).round_ties_even().max(1.0) * bin_s;
        let mbit_s = |bytes: &[u64]| bytes.iter().sum::<u64>() as f64 * 8e-6 / seconds;
        let mean = &self.queue_bytes_mean[within.clone()];
        PipeFigures {
            throughput_mbit_s: mbit_s(&self.throughput_bytes[within.clone()]),
            goodput_mbit_s: mbit_s(&self.goodput_bytes[within.clone()]),
            drops: DropCause::ALL
                .map(|cause| (cause.name(), self.drops[cause.index()]))
                .into(),
            queue_bytes_mean: (!mean.is_empty())
                .then(|| mean.iter().sum::<f64>() / mean.len() as f64),
            queue_bytes_max: self.queue_bytes_max[within].iter().max().copied(),
        }
    }
}
