//! The specification of a run.

use crate::gateway::GatewayConfig;
use crate::near::NearConfig;
use crate::node::BoxSpec;
use crate::node::config::HostConfig;
use crate::seat::Seat;
use crate::split::SplitConfig;
use crate::tunnel::{self, TunnelConfig};
use crate::workload::WorkloadSpec;
use bentpipe_path::config::PipeConfig;
use bentpipe_path::time::Nanos;
use bentpipe_tcp::congestion::{ControlError, Registry};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimSpec {
    pub client: HostConfig,
    pub server: HostConfig,
    pub down: PipeConfig,
    pub up: PipeConfig,
    /// A host between client and path.
    pub near: Option<NearConfig>,
    /// A coded tunnel between near and far. The hosts' MTU is lower by its headers.
    pub tunnel: Option<TunnelConfig>,
    /// Workloads, by their places, whose packets cross the path beside the tunnel or the gateways.
    pub beside_tunnel: Vec<usize>,
    /// Proxies at near and far, at which TCP ends.
    pub split: Option<SplitConfig>,
    /// bentpipe's gateways at near and far, at which TCP ends.
    pub gateway: Option<GatewayConfig>,
    /// Of the path.
    pub mtu: u32,
    pub seed: u64,
    pub workloads: Vec<WorkloadSpec>,
    /// The run's end; without it the run ends when all work is done.
    pub duration_ns: Option<Nanos>,
    /// End earlier when all work is done.
    pub until_done: bool,
    pub bin_ns: Nanos,
    /// Spacing of socket samples; none if `None`.
    pub sample_interval_ns: Option<Nanos>,
    /// Boxes at near and far.
    pub boxes: Vec<BoxSpec>,
    /// Hosts whose packets the sink is shown.
    pub capture: Vec<Seat>,
    /// Whether the bins of the pipes are written as CSV too while it runs, for whoever watches it.
    pub watched: bool,
}

bentpipe_reading::read_struct!(SimSpec {
    client = default,
    server = default,
    down = default,
    up = default,
    near,
    tunnel,
    beside_tunnel = default,
    split,
    gateway,
    mtu,
    seed,
    workloads,
    duration_ns,
    until_done,
    bin_ns,
    sample_interval_ns,
    boxes = default,
    capture = default,
    watched = default,
});

impl Default for SimSpec {
    fn default() -> Self {
        Self {
            client: HostConfig::default(),
            server: HostConfig::default(),
            down: PipeConfig::default(),
            up: PipeConfig::default(),
            near: None,
            tunnel: None,
            beside_tunnel: Vec::new(),
            split: None,
            gateway: None,
            mtu: 1500,
            seed: 1,
            workloads: Vec::new(),
            duration_ns: None,
            until_done: true,
            bin_ns: Nanos::from_millis(100),
            sample_interval_ns: None,
            boxes: Vec::new(),
            capture: Vec::new(),
            watched: false,
        }
    }
}

impl SimSpec {
    /// The longest packet that the hosts send.
    pub(crate) fn host_mtu(&self) -> u32 {
        if self.tunnel.is_some() {
            tunnel::inner_mtu(self.mtu, self.client.tcp.ip)
        } else {
            self.mtu
        }
    }

    /// Checks the choices of congestion controls and ties them to a registry.
    pub(crate) fn resolve_controls(&mut self, controls: &Registry) -> Result<(), ControlError> {
        let near_host = self.near.as_mut().map(|near| &mut near.host);
        let split = self.split.as_mut();
        let proxies = split.map(|split| [&mut split.near, &mut split.far, &mut split.path]);
        let gateways = self.gateway.as_mut().map(|it| [&mut it.near, &mut it.far]);
        for host in [&mut self.client, &mut self.server]
            .into_iter()
            .chain(near_host)
            .chain(gateways.into_iter().flatten())
            .chain(proxies.into_iter().flatten())
        {
            controls.resolve(&mut host.tcp.congestion_control)?;
        }
        for work in &mut self.workloads {
            if let Some(control) = work.congestion_control_mut() {
                controls.resolve(control)?;
            }
        }
        Ok(())
    }
}
