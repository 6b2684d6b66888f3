//! What one direction of a tunnel did, as the record has it.

use crate::delays::Delays;
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{ReceiverCounters, SenderCounters};
use serde::Serialize;

/// Shares are of the packets that were sent through the tunnel; `None` where there were none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelFigures {
    /// Packets that were sent through the tunnel.
    pub packets: u64,
    pub repairs: u64,
    /// Repairs per packet: sent, those that recovered a packet or were going to, and those that told nothing new. The rest
    /// was lost or was under way.
    pub redundancy_sent: Option<f64>,
    pub redundancy_used: Option<f64>,
    pub redundancy_useless: Option<f64>,
    /// Packets that the receiver requested, those that were then sent again, and of them those that came when they were still
    /// missing, and when they were not.
    pub requested: u64,
    pub exact_repairs: u64,
    pub exact_used: u64,
    pub exact_useless: u64,
    /// What frames had more than the packets that they carried: headers, repairs and exact repairs, without reports.
    pub overhead_bytes: u64,
    pub inner_bytes: u64,
    /// Packets that the path lost and repairs recovered.
    pub recovered: u64,
    /// Packets that the tunnel did not deliver.
    pub lost: u64,
    pub residual_loss: Option<f64>,
    /// Packets longer than the tunnel's MTU, which were dropped before it.
    pub too_long: u64,
    /// Reports of the receiver, which take the other pipe.
    pub reports: u64,
    /// Of recovered packets: from when a later one came to when they left.
    pub decoding_delay_s_p50: Option<f64>,
    pub decoding_delay_s_p95: Option<f64>,
    pub decoding_delay_s_max: Option<f64>,
    /// Of packets that were sent again on request.
    pub exact_delay_s_p50: Option<f64>,
    pub exact_delay_s_p95: Option<f64>,
    /// Of all packets, those that waited for earlier ones with them.
    pub added_delay_s_mean: Option<f64>,
    pub added_delay_s_p50: Option<f64>,
    pub added_delay_s_p95: Option<f64>,
    pub per_second: PerSecond,
}

/// The delay in the tunnel's exit, by the second of the run in which packets left. Seconds in which none left are not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PerSecond {
    pub start_s: Vec<f64>,
    pub added_delay_s_mean: Vec<f64>,
    pub added_delay_s_max: Vec<f64>,
    #[serde(skip)]
    packets: u64,
}

impl PerSecond {
    pub(super) fn add(&mut self, now: Time, delay: Nanos) {
        let start_s = now.0.div_euclid(Nanos::from_secs(1).0) as f64;
        let delay_s = delay.as_secs_f64();
        let is_new = self.start_s.last().is_none_or(|&last| last < start_s);
        if is_new {
            self.start_s.push(start_s);
            self.added_delay_s_mean.push(0.0);
            self.added_delay_s_max.push(0.0);
            self.packets = 0;
        }
        self.packets += 1;
        if let Some(mean) = self.added_delay_s_mean.last_mut() {
            *mean += (delay_s - *mean) / self.packets as f64;
        }
        if let Some(max) = self.added_delay_s_max.last_mut() {
            *max = max.max(delay_s);
        }
    }
}

impl TunnelFigures {
    pub(crate) fn new(
        sent: &SenderCounters,
        received: &ReceiverCounters,
        lost: u64,
        too_long: u64,
        inner_bytes: u64,
        [recovery, exact, added]: [&Delays; 3],
        outer_bytes: u32,
    ) -> Self {
        let share = |count: u64| (sent.sources > 0).then(|| count as f64 / sent.sources as f64);
        let frames = sent.sources + sent.repairs + sent.exact_repairs;
        let frame_bytes = sent.source_bytes
            + sent.repair_bytes
            + sent.exact_bytes
            + frames * u64::from(outer_bytes);
        Self {
            packets: sent.sources,
            repairs: sent.repairs,
            redundancy_sent: share(sent.repairs),
            redundancy_used: share(received.innovative_repairs),
            redundancy_useless: share(received.useless_repairs + received.unusable_repairs),
            requested: received.asked,
            exact_repairs: sent.exact_repairs,
            exact_used: received.exact_repairs,
            exact_useless: received.useless_exact_repairs,
            overhead_bytes: frame_bytes - inner_bytes,
            inner_bytes,
            recovered: received.recovered,
            lost,
            residual_loss: share(lost),
            too_long,
            reports: received.reports,
            decoding_delay_s_p50: recovery.percentile_s(50.0),
            decoding_delay_s_p95: recovery.percentile_s(95.0),
            decoding_delay_s_max: recovery.max_s(),
            exact_delay_s_p50: exact.percentile_s(50.0),
            exact_delay_s_p95: exact.percentile_s(95.0),
            added_delay_s_mean: added.mean_s(),
            added_delay_s_p50: added.percentile_s(50.0),
            added_delay_s_p95: added.percentile_s(95.0),
            per_second: PerSecond::default(),
        }
    }
}
