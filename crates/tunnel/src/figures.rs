//! What one direction of a tunnel did, as the record has it.

use crate::delays::Delays;
use bentpipe_fec::{ReceiverCounters, SenderCounters};
use serde::Serialize;

/// Shares are of the packets that were sent through the tunnel; `None` where there were none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TunnelFigures {
    /// Packets that were sent through the tunnel.
    pub packets: u64,
    pub repairs: u64,
    /// Repairs per packet: sent, those that recovered a packet or were going to, and those that told nothing new. The rest
    /// was lost or was under way.
    pub redundancy_sent: Option<f64>,
    pub redundancy_used: Option<f64>,
    pub redundancy_useless: Option<f64>,
    /// What frames had more than the packets that they carried: headers and repairs, without reports.
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
    /// Of all packets, those that waited for earlier ones with them.
    pub added_delay_s_mean: Option<f64>,
    pub added_delay_s_p50: Option<f64>,
    pub added_delay_s_p95: Option<f64>,
}

impl TunnelFigures {
    pub(crate) fn new(
        sent: &SenderCounters,
        received: &ReceiverCounters,
        lost: u64,
        too_long: u64,
        inner_bytes: u64,
        [recovery, added]: [&Delays; 2],
        outer_bytes: u32,
    ) -> Self {
        let share = |count: u64| (sent.sources > 0).then(|| count as f64 / sent.sources as f64);
        let frames = sent.sources + sent.repairs;
        let frame_bytes = sent.source_bytes + sent.repair_bytes + frames * u64::from(outer_bytes);
        Self {
            packets: sent.sources,
            repairs: sent.repairs,
            redundancy_sent: share(sent.repairs),
            redundancy_used: share(received.innovative_repairs),
            redundancy_useless: share(received.useless_repairs + received.unusable_repairs),
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
            added_delay_s_mean: added.mean_s(),
            added_delay_s_p50: added.percentile_s(50.0),
            added_delay_s_p95: added.percentile_s(95.0),
        }
    }
}
