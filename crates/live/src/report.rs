//! A run's last word: what the datapath, the devices and the sampler say of themselves, in one object.

use crate::datapath::{DatapathReport, EngineError};
use crate::protocol::PerHost;
use crate::routing::DeviceDrops;
use crate::sampler::SamplerReport;
use bentpipe_path::{DropCause, Totals};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub engine_error: EngineError,
    pub pipes: Pipes,
    pub sampler: SamplerReport,
}

#[derive(Clone, Debug, Serialize)]
pub struct Pipes {
    pub down: PipeTotals,
    pub up: PipeTotals,
}

/// `offered + duplicated = delivered + dropped + held`, in packets and in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PipeTotals {
    pub offered_packets: u64,
    pub offered_bytes: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    /// By cause.
    pub dropped_packets: BTreeMap<&'static str, u64>,
    pub dropped_bytes: BTreeMap<&'static str, u64>,
    pub duplicated_packets: u64,
    pub duplicated_bytes: u64,
    pub held_packets: u64,
    pub held_bytes: u64,
    pub marked_packets: u64,
    pub corrupted_packets: u64,
}

impl Report {
    pub(crate) fn of(
        mut datapath: DatapathReport,
        drops: &PerHost<DeviceDrops>,
        sampler: SamplerReport,
    ) -> Self {
        for (pipe, from, to) in [
            (&mut datapath.down, drops.server, drops.client),
            (&mut datapath.up, drops.client, drops.server),
        ] {
            let loss = &mut pipe.unintended_loss;
            // What the receiving device refused, the datapath has counted when it wrote.
            let refused = loss.socket_buffer + loss.write_error;
            loss.device += from.transmit + to.receive.saturating_sub(refused);
        }
        Self {
            engine_error: datapath.engine_error(),
            pipes: Pipes {
                down: PipeTotals::of(&datapath.down.totals),
                up: PipeTotals::of(&datapath.up.totals),
            },
            sampler,
        }
    }
}

impl PipeTotals {
    fn of(totals: &Totals) -> Self {
        let dropped = |cause: DropCause| (cause.name(), totals.dropped_by(cause));
        Self {
            offered_packets: totals.offered.packets,
            offered_bytes: totals.offered.bytes,
            delivered_packets: totals.delivered.packets,
            delivered_bytes: totals.delivered.bytes,
            dropped_packets: DropCause::ALL
                .map(dropped)
                .map(|(name, count)| (name, count.packets))
                .into(),
            dropped_bytes: DropCause::ALL
                .map(dropped)
                .map(|(name, count)| (name, count.bytes))
                .into(),
            duplicated_packets: totals.duplicated.packets,
            duplicated_bytes: totals.duplicated.bytes,
            held_packets: totals.held.packets,
            held_bytes: totals.held.bytes,
            marked_packets: totals.marked_packets,
            corrupted_packets: totals.corrupted_packets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapath::PipeReport;

    #[test]
    fn what_a_device_lost_counts_against_the_pipe_that_it_was_sent_through() {
        let drops = PerHost {
            client: DeviceDrops {
                transmit: 1,
                receive: 20,
            },
            server: DeviceDrops {
                transmit: 300,
                receive: 4_000,
            },
        };
        let datapath = DatapathReport {
            down: PipeReport::default(),
            up: PipeReport::default(),
        };
        let error = Report::of(datapath, &drops, SamplerReport::default()).engine_error;
        assert_eq!(error.per_pipe.down.unintended_loss, 320);
        assert_eq!(error.per_pipe.up.unintended_loss, 4_001);
        assert_eq!(error.both.unintended_loss_by.device, 4_321);
    }

    #[test]
    fn a_packet_that_a_device_refused_is_counted_once() {
        let mut datapath = DatapathReport {
            down: PipeReport::default(),
            up: PipeReport::default(),
        };
        datapath.down.unintended_loss.write_error = 5;
        let drops = PerHost {
            client: DeviceDrops {
                transmit: 0,
                receive: 5,
            },
            server: DeviceDrops::default(),
        };
        let error = Report::of(datapath, &drops, SamplerReport::default()).engine_error;
        assert_eq!(error.both.unintended_loss, 5);
    }
}
