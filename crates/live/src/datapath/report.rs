//! What the datapath says of itself at the end of a run.

use super::lateness::{self, Achieved, UnintendedLoss};
use super::priority::Priority;
use super::pump::Pump;
use bentpipe_base::Direction;
use bentpipe_base::topology::Link;
use bentpipe_path::Totals;
use bentpipe_path::time::Time;
use bentpipe_tunnel::TunnelFigures;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// With a tunnel.
    pub tunnel: Option<TunnelFigures>,
    /// Calls that wrote to the device; each carries one segment or more.
    pub writes: u64,
    pub priority: Priority,
    /// The thread's, in user space and in the kernel: the hosts' receive path runs in the write.
    pub cpu_ns: i64,
    pub wall_ns: i64,
}

/// A link's run.
#[derive(Debug)]
pub struct DatapathReport {
    pub link: Link,
    pub down: PipeReport,
    pub up: PipeReport,
}

/// The engine's own error, of one pipe or of all.
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
    pub all: PipeError,
    /// By the pipe's name.
    pub per_pipe: BTreeMap<&'static str, PipeError>,
}

impl Default for PipeReport {
    fn default() -> Self {
        Self {
            lateness: lateness::histogram(),
            late_reads: lateness::histogram(),
            achieved: Achieved::default(),
            unintended_loss: UnintendedLoss::default(),
            totals: Totals::default(),
            tunnel: None,
            writes: 0,
            priority: Priority::default(),
            cpu_ns: 0,
            wall_ns: 0,
        }
    }
}

impl PipeReport {
    pub(super) fn of(mut pump: Pump, ended: Time, cpu_ns: i64, wall_ns: i64) -> Self {
        let mut lateness = pump.egress.lateness.clone();
        let mut lost = pump.egress.lost;
        if let Some(tunnel) = &pump.tunnel {
            lost.truncated += tunnel.malformed;
            // Both have the same bounds.
            let _ = lateness.add(&tunnel.late_reports);
        }
        let achieved = match &mut pump.tunnel {
            Some(tunnel) => tunnel.achieved(),
            None => pump.egress.achieved(),
        };
        Self {
            achieved,
            lateness,
            late_reads: pump.late_reads,
            unintended_loss: lost,
            totals: *pump.pipe.totals(),
            tunnel: pump.tunnel.map(|tunnel| tunnel.figures(ended)),
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

impl EngineError {
    /// The `engine_error` object of a run, as far as its pipes know it (what a device dropped they do not see).
    pub fn of<'a>(pipes: impl IntoIterator<Item = (&'static str, &'a PipeReport)>) -> Self {
        let mut all = PipeReport::default();
        let mut per_pipe = BTreeMap::new();
        for (name, pipe) in pipes {
            for (sum, one) in [
                (&mut all.lateness, &pipe.lateness),
                (&mut all.late_reads, &pipe.late_reads),
            ] {
                sum.add(one).expect("all have the same bounds");
            }
            all.unintended_loss = all.unintended_loss + pipe.unintended_loss;
            all.priority = pipe.priority;
            all.cpu_ns += pipe.cpu_ns;
            all.wall_ns = all.wall_ns.max(pipe.wall_ns);
            per_pipe.insert(name, pipe.error());
        }
        let mut all = all.error();
        let worst_rate = per_pipe.values().filter_map(|pipe| pipe.rate_error);
        all.rate_error = worst_rate.reduce(f64::max);
        let headroom = per_pipe.values().map(|pipe| pipe.cpu_headroom);
        all.cpu_headroom = headroom.reduce(f64::min).unwrap_or(1.0);
        Self { all, per_pipe }
    }
}

impl DatapathReport {
    /// Both pipes by name.
    pub fn pipes(&self) -> [(&'static str, &PipeReport); 2] {
        [
            (self.link.pipe_name(Direction::Down), &self.down),
            (self.link.pipe_name(Direction::Up), &self.up),
        ]
    }

    /// The error of this link alone.
    pub fn engine_error(&self) -> EngineError {
        EngineError::of(self.pipes())
    }
}
