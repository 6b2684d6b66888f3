//! What the host process is asked and what it says, one JSON object per line. docs/live-host.md explains it.

use crate::channels::setup::ChannelsSetup;
use crate::datapath::TunnelSetup;
use crate::family::Family;
use crate::gateway::GatewaySetup;
pub use crate::host_setup::HostSetup;
use crate::per_host::{HostId, PerHost};
use crate::refusal::Refused;
use crate::report::Report;
use bentpipe_base::topology::Link;
use bentpipe_path::config::PipeConfig;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Request {
    Setup(Box<Setup>),
    Start(Start),
    Spawn(Spawn),
    Channels(StartChannels),
    Signal(Signal),
    Stop(Stop),
}

/// The first request: the hosts and what joins them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub hosts: EndHosts,
    pub path: PathSetup,
    #[serde(default)]
    pub near: Option<NearSetup>,
    /// Around the path.
    #[serde(default)]
    pub tunnel: Option<TunnelSetup>,
    /// TCP ends at near and at far.
    #[serde(default)]
    pub split: Option<SplitSetup>,
    /// TCP ends at a gateway at near and at one at far.
    #[serde(default)]
    pub gateway: Option<GatewaySetup>,
    /// Congestion controls that the hosts have further addresses for.
    #[serde(default)]
    pub extra_congestion_controls: BTreeSet<String>,
    pub seed: u64,
    pub sample_interval_ns: u64,
    /// The meter's bin.
    pub bin_ns: i64,
    /// A folder that exists: link.csv, sockets.csv and the pcapng files are written there.
    pub raw_folder: PathBuf,
    /// The hosts whose end is recorded as pcapng: the near host's is that of the long path.
    #[serde(default)]
    pub pcap: Vec<HostId>,
    /// The workloads of that kind: their servers have addresses and lines of their own from the start.
    #[serde(default)]
    pub channels: Vec<ChannelsSetup>,
    /// Whether idle processors must not sleep meanwhile: those of a shell may.
    #[serde(default)]
    pub keep_awake: bool,
    /// IP versions that the hosts have addresses of. A name gives an address of the first one first.
    #[serde(default = "both_families")]
    pub ip: Vec<Family>,
}

impl Setup {
    pub fn each_host(&self) -> PerHost<&HostSetup> {
        let near = self.near.as_ref().map(|near| &near.host);
        let ends_tcp = self.hosts_that_end_tcp();
        PerHost {
            client: &self.hosts.client,
            near: near.or(ends_tcp),
            far: ends_tcp,
            server: &self.hosts.server,
        }
    }

    /// Of near and far, where they end the hosts' TCP connections.
    pub(crate) fn hosts_that_end_tcp(&self) -> Option<&HostSetup> {
        let of_split = self.split.as_ref().map(|split| &split.hosts);
        of_split.or_else(|| self.gateway.as_ref().map(|gateway| &gateway.hosts))
    }

    /// The MTU of the hosts' devices: what enters a tunnel leaves room for its headers.
    pub(crate) fn host_mtu(&self) -> u32 {
        let path = self.path.mtu;
        self.tunnel
            .as_ref()
            .map_or(path, |tunnel| tunnel.inner_mtu(path))
    }

    /// A link's pipes, down and up, where the run has that link.
    pub(crate) fn pipes(&self, link: Link) -> Option<[PipeConfig; 2]> {
        // Beside the hosts of a split or a gateway there is nothing that delays or limits.
        let nothing = || self.hosts_that_end_tcp().map(|_| Default::default());
        match (link, &self.near) {
            (Link::Path, _) => Some([self.path.down.clone(), self.path.up.clone()]),
            (Link::Lan, Some(near)) => Some([near.down.clone(), near.up.clone()]),
            (Link::Lan, None) | (Link::Terrestrial, _) => nothing(),
        }
    }
}

fn both_families() -> Vec<Family> {
    vec![Family::V4, Family::V6]
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndHosts {
    pub client: HostSetup,
    pub server: HostSetup,
}

/// A host between the client and the path, and the LAN that joins it to the client. The LAN has the path's MTU.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearSetup {
    pub host: HostSetup,
    /// Near to client.
    pub down: PipeConfig,
    pub up: PipeConfig,
}

/// The legs of a connection that is split at near and at far.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitSetup {
    /// Near and far towards client and server. A near host of the setup has its own settings.
    pub hosts: HostSetup,
    /// The leg between near and far, at both of its ends.
    pub path: HostSetup,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSetup {
    /// Server to client.
    pub down: PipeConfig,
    pub up: PipeConfig,
    pub mtu: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// From now to the run's time zero.
    pub zero_in_ns: i64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spawn {
    /// The caller's name for it, unique within the run.
    pub id: String,
    pub host: HostId,
    pub argv: Vec<String>,
    /// Laid over the environment that the host process has.
    #[serde(default)]
    pub env: Option<BTreeMap<String, String>>,
    /// Files, made or cut to nothing; `None` is /dev/null.
    #[serde(default)]
    pub stdout: Option<PathBuf>,
    #[serde(default)]
    pub stderr: Option<PathBuf>,
    #[serde(default)]
    pub stdin: Option<PathBuf>,
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    /// Has the host process's own stdin, stdout and stderr, and its terminal's foreground.
    #[serde(default)]
    pub tty: bool,
    /// Reaches only what a command of a lab may.
    #[serde(default)]
    pub sandbox: bool,
    /// Makes ready for the work and is no part of it: what it waits is not reported.
    #[serde(default)]
    pub preparation: bool,
}

/// Begins a workload of the setup's `channels`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartChannels {
    /// The workload's name; it is `exited` once it is over.
    pub id: String,
}

/// Sends a signal to a program's whole process group. Channels end by any.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    pub id: String,
    pub signal: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    Ready(Box<Ready>),
    Refused(Refused),
    Started { zero_monotonic_ns: i64 },
    Spawned { id: String, pid: i32 },
    Exited(Exited),
    Trouble { message: String },
    Report(Box<Report>),
}

#[derive(Clone, Debug, Serialize)]
pub struct Ready {
    pub hosts: PerHost<HostReady>,
    pub kernel: String,
    pub offload: Offload,
    /// Whether no user namespace was needed.
    pub root: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct HostReady {
    pub addresses: Vec<String>,
    /// By the congestion control that a connection between two of them has.
    pub extra_addresses: BTreeMap<String, Vec<String>>,
    /// Every net.ipv4.tcp_* and net.core.{r,w}mem_* in force.
    pub sysctl: BTreeMap<String, String>,
}

/// What the devices hand over unsegmented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offload {
    pub tso: bool,
    pub uso: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Exited {
    pub id: String,
    /// The exit status, where the program ended by itself.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why it could not be started.
    pub error: Option<String>,
    /// Nanoseconds since the run's time zero; `None` before `start`.
    pub at_ns: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn setup(near: Value) -> Result<Setup, serde_json::Error> {
        let mut request = json!({
            "hosts": {"client": {}, "server": {}},
            "path": {"down": {}, "up": {}, "mtu": 1500},
            "seed": 1,
            "sample_interval_ns": 1,
            "bin_ns": 1,
            "raw_folder": "/tmp",
        });
        request["near"] = near;
        serde_json::from_value(request)
    }

    #[test]
    fn a_near_host_comes_with_its_lan_or_not_at_all() {
        let lan = json!({"host": {}, "down": {}, "up": {}});
        assert!(setup(lan).unwrap().each_host().near.is_some());
        assert!(setup(Value::Null).unwrap().each_host().near.is_none());
        for half in [json!({"host": {}}), json!({"down": {}, "up": {}})] {
            assert!(setup(half).is_err());
        }
    }

    #[test]
    fn a_split_brings_a_near_and_a_far_host_and_the_links_to_them() {
        let mut split = setup(Value::Null).unwrap();
        for link in [Link::Lan, Link::Terrestrial] {
            assert_eq!(split.pipes(link), None);
        }
        let control = |name: &str| HostSetup {
            congestion_control: Some(name.into()),
            ..HostSetup::default()
        };
        let (hosts, path) = (control("cubic"), control("bbr"));
        split.split = Some(SplitSetup { hosts, path });
        let each = split.each_host();
        assert_eq!(each.near, Some(&control("cubic")));
        assert_eq!(each.far, Some(&control("cubic")));
        for link in [Link::Lan, Link::Terrestrial] {
            assert_eq!(split.pipes(link), Some(Default::default()));
        }
    }
}
