//! A run's last word: what the datapath, the devices and the sampler say of themselves, in one object.

use crate::datapath::{DatapathReport, EngineError};
use crate::gateway::{GatewayError, GatewaysReport, PerGateway};
use crate::routing::DeviceDrops;
use crate::sampler::SamplerReport;
use crate::split::SplitReport;
use crate::watch::HostsReport;
use bentpipe_gateway::GatewayFigures;
use bentpipe_path::{DropCause, Totals};
use bentpipe_tunnel::TunnelFigures;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub engine_error: ErrorReport,
    /// By the pipe's name.
    pub pipes: BTreeMap<&'static str, PipeTotals>,
    /// By the pipe's name, where there is a tunnel.
    pub tunnel: BTreeMap<&'static str, TunnelFigures>,
    pub sampler: SamplerReport,
    /// Of a run whose connections are split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<SplitReport>,
    /// Of a run with gateways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<PerGateway<GatewayFigures>>,
}

/// The engine's own error: the path's, and what its hosts went without.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorReport {
    #[serde(flatten)]
    pub path: EngineError,
    #[serde(flatten)]
    pub hosts: HostsReport,
    /// How many processors did not sleep meanwhile. 0: all could.
    pub processors_kept_awake: usize,
    /// Of a run with gateways.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gateway: Option<PerGateway<GatewayError>>,
}

/// What a link did, and what the devices at its ends lost.
#[derive(Debug)]
pub(crate) struct Crossing {
    pub report: DatapathReport,
    pub client_side: DeviceDrops,
    pub server_side: DeviceDrops,
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
        mut crossings: Vec<Crossing>,
        hosts: HostsReport,
        processors_kept_awake: usize,
        sampler: SamplerReport,
        split: Option<SplitReport>,
        gateways: Option<GatewaysReport>,
    ) -> Self {
        let (figures, errors) = gateways.map(|it| (it.figures, it.errors)).unzip();
        for crossing in &mut crossings {
            crossing.blame();
        }
        let pipes = || {
            let each = crossings.iter();
            each.flat_map(|crossing| crossing.report.pipes())
        };
        Self {
            engine_error: ErrorReport {
                path: EngineError::of(pipes()),
                hosts,
                processors_kept_awake,
                gateway: errors,
            },
            pipes: pipes()
                .map(|(name, pipe)| (name, PipeTotals::of(&pipe.totals)))
                .collect(),
            tunnel: pipes()
                .filter_map(|(name, pipe)| Some((name, pipe.tunnel.clone()?)))
                .collect(),
            sampler,
            split,
            gateway: figures,
        }
    }
}

impl Crossing {
    /// Counts what a device lost against the pipe that it was sent through.
    fn blame(&mut self) {
        let (client, server) = (self.client_side, self.server_side);
        for (pipe, from, to) in [
            (&mut self.report.down, server, client),
            (&mut self.report.up, client, server),
        ] {
            let loss = &mut pipe.unintended_loss;
            // What the receiving device refused, the datapath has counted when it wrote.
            let refused = loss.socket_buffer + loss.write_error;
            loss.device += from.transmit + to.receive.saturating_sub(refused);
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
    use bentpipe_base::topology::Link;

    fn crossing(link: Link, client_side: DeviceDrops, server_side: DeviceDrops) -> Crossing {
        Crossing {
            report: DatapathReport {
                link,
                down: PipeReport::default(),
                up: PipeReport::default(),
            },
            client_side,
            server_side,
        }
    }

    fn drops(transmit: u64, receive: u64) -> DeviceDrops {
        DeviceDrops { transmit, receive }
    }

    fn error_of(crossings: Vec<Crossing>) -> EngineError {
        let (hosts, sampler) = (HostsReport::default(), SamplerReport::default());
        Report::of(crossings, hosts, 0, sampler, None, None)
            .engine_error
            .path
    }

    #[test]
    fn what_a_device_lost_counts_against_the_pipe_that_it_was_sent_through() {
        let path = crossing(Link::Path, drops(1, 20), drops(300, 4_000));
        let error = error_of(vec![path]);
        assert_eq!(error.per_pipe["down"].unintended_loss, 320);
        assert_eq!(error.per_pipe["up"].unintended_loss, 4_001);
        assert_eq!(error.all.unintended_loss_by.device, 4_321);
    }

    #[test]
    fn a_packet_that_a_device_refused_is_counted_once() {
        let mut path = crossing(Link::Path, drops(0, 5), drops(0, 0));
        path.report.down.unintended_loss.write_error = 5;
        let error = error_of(vec![path]);
        assert_eq!(error.all.unintended_loss, 5);
    }

    #[test]
    fn the_error_of_a_lan_counts_in_the_whole_and_stands_under_names_of_its_own() {
        let mut path = crossing(Link::Path, drops(0, 0), drops(0, 0));
        let mut lan = crossing(Link::Lan, drops(2, 0), drops(0, 0));
        let _ = path.report.down.lateness.record(1_000);
        let _ = lan.report.down.lateness.record(9_000_000);
        (lan.report.up.cpu_ns, lan.report.up.wall_ns) = (3, 4);
        let error = error_of(vec![path, lan]);
        assert_eq!(error.all.lateness_count, 2);
        assert!(error.all.lateness_us_max >= 9_000.0);
        assert!(error.per_pipe["down"].lateness_us_max < 10.0);
        assert_eq!(error.all.unintended_loss, 2);
        assert_eq!(error.per_pipe["lan-up"].unintended_loss, 2);
        assert!((error.all.cpu_headroom - 0.25).abs() < 1e-12);
    }
}
