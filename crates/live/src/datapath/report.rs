//! What the datapath says of itself at the end of a run.

use super::lateness::{self, Achieved, UnintendedLoss};
use super::priority::Priority;
use super::pump::Pump;
use bentpipe_path::Totals;
use hdrhistogram::Histogram;
use serde::Serialize;

/// One pipe's run.
#[derive(Debug)]
pub struct PipeReport {
    /// Of each packet that left, in nanoseconds.
    pub lateness: Histogram<u64>,
    /// The part of it that comes from reading late: at most so much, of each packet that came.
    pub late_reads: Histogram<u64>,
    pub achieved: Achieved,
    pub unintended_loss: UnintendedLoss,
    pub totals: Totals,
    /// Calls that wrote to the device; each carries one segment or more.
    pub writes: u64,
    pub priority: Priority,
    /// The thread's, in user space and in the kernel: the hosts' receive path runs in the write.
    pub cpu_ns: i64,
    pub wall_ns: i64,
}

/// Both pipes' runs.
#[derive(Debug)]
pub struct DatapathReport {
    pub down: PipeReport,
    pub up: PipeReport,
}

/// The engine's own error, of one pipe or of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PipeError {
    pub lateness_us_p50: f64,
    pub lateness_us_p99: f64,
    pub lateness_us_max: f64,
    pub lateness_count: u64,
    /// How much earlier than the model was told packets may have come; part of their lateness.
    pub late_read_us_p50: f64,
    pub late_read_us_p99: f64,
    pub late_read_us_max: f64,
    /// Upper end of each class in microseconds, and the packets in it. Classes double.
    pub lateness_histogram: Vec<(f64, u64)>,
    /// |achieved / configured - 1| over the time in which the shaper was busy; `None` without a rate.
    pub rate_error: Option<f64>,
    pub unintended_loss: u64,
    pub unintended_loss_by: UnintendedLoss,
    /// 1 - CPU time / time, of the busiest thread.
    pub cpu_headroom: f64,
    /// How the scheduler treats the thread: `real_time` for root only.
    pub priority: Priority,
    pub cpu_s: f64,
    pub wall_s: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EngineError {
    #[serde(flatten)]
    pub both: PipeError,
    pub per_pipe: PerPipe,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerPipe {
    pub down: PipeError,
    pub up: PipeError,
}

impl Default for PipeReport {
    fn default() -> Self {
        Self {
            lateness: lateness::histogram(),
            late_reads: lateness::histogram(),
            achieved: Achieved::default(),
            unintended_loss: UnintendedLoss::default(),
            totals: Totals::default(),
            writes: 0,
            priority: Priority::default(),
            cpu_ns: 0,
            wall_ns: 0,
        }
    }
}

impl PipeReport {
    pub(super) fn of(mut pump: Pump, cpu_ns: i64, wall_ns: i64) -> Self {
        Self {
            achieved: pump.egress.achieved(),
            lateness: pump.egress.lateness,
            late_reads: pump.late_reads,
            unintended_loss: pump.egress.lost,
            totals: *pump.pipe.totals(),
            writes: pump.egress.writes,
            priority: Priority::default(),
            cpu_ns,
            wall_ns,
        }
    }

    pub fn error(&self) -> PipeError {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let quantile = |of: &Histogram<u64>, q: f64| {
            if of.is_empty() {
                0.0
            } else {
                micros(of.value_at_quantile(q))
            }
        };
        let classes = self.lateness.iter_log(1000, 2.0).map(|class| {
            let upper = micros(class.value_iterated_to() + 1);
            (upper, class.count_since_last_iteration())
        });
        PipeError {
            lateness_us_p50: quantile(&self.lateness, 0.5),
            lateness_us_p99: quantile(&self.lateness, 0.99),
            lateness_us_max: micros(self.lateness.max()),
            lateness_count: self.lateness.len(),
            late_read_us_p50: quantile(&self.late_reads, 0.5),
            late_read_us_p99: quantile(&self.late_reads, 0.99),
            late_read_us_max: micros(self.late_reads.max()),
            lateness_histogram: if self.lateness.is_empty() {
                Vec::new()
            } else {
                classes.collect()
            },
            rate_error: self.achieved.error(),
            unintended_loss: self.unintended_loss.total(),
            unintended_loss_by: self.unintended_loss,
            cpu_headroom: 1.0 - self.cpu_ns as f64 / self.wall_ns.max(1) as f64,
            priority: self.priority,
            cpu_s: self.cpu_ns as f64 / 1e9,
            wall_s: self.wall_ns as f64 / 1e9,
        }
    }
}

fn sum(one: &Histogram<u64>, other: &Histogram<u64>) -> Histogram<u64> {
    let mut sum = one.clone();
    sum.add(other).expect("both have the same bounds");
    sum
}

impl DatapathReport {
    /// The `engine_error` object of a run, as far as the datapath knows it (what a device dropped it does not see).
    pub fn engine_error(&self) -> EngineError {
        let (down, up) = (self.down.error(), self.up.error());
        let lateness = sum(&self.down.lateness, &self.up.lateness);
        let late_reads = sum(&self.down.late_reads, &self.up.late_reads);
        let loss = self.down.unintended_loss + self.up.unintended_loss;
        let mut both = PipeReport {
            lateness,
            unintended_loss: loss,
            priority: self.down.priority,
            late_reads,
            cpu_ns: self.down.cpu_ns + self.up.cpu_ns,
            wall_ns: self.down.wall_ns.max(self.up.wall_ns),
            ..PipeReport::default()
        }
        .error();
        both.rate_error = [down.rate_error, up.rate_error]
            .into_iter()
            .flatten()
            .reduce(f64::max);
        both.cpu_headroom = down.cpu_headroom.min(up.cpu_headroom);
        EngineError {
            both,
            per_pipe: PerPipe { down, up },
        }
    }
}
