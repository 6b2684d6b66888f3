//! What the host process is asked and what it says, one JSON object per line. docs/live-host.md explains it.

use crate::report::Report;
use bentpipe_path::config::PipeConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    Client,
    Server,
}

impl Host {
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Something that each host has one of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PerHost<T> {
    pub client: T,
    pub server: T,
}

impl<T> PerHost<T> {
    pub fn of(&self, host: Host) -> &T {
        match host {
            Host::Client => &self.client,
            Host::Server => &self.server,
        }
    }

    /// Makes one for each host, the client's first.
    pub fn try_make<E>(mut make: impl FnMut(Host) -> Result<T, E>) -> Result<Self, E> {
        Ok(Self {
            client: make(Host::Client)?,
            server: make(Host::Server)?,
        })
    }

    pub fn of_mut(&mut self, host: Host) -> &mut T {
        match host {
            Host::Client => &mut self.client,
            Host::Server => &mut self.server,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Request {
    Setup(Box<Setup>),
    Start(Start),
    Spawn(Spawn),
    Signal(Signal),
    Stop(Stop),
}

/// The first request: the hosts and what joins them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    pub hosts: PerHost<HostSetup>,
    pub path: PathSetup,
    pub seed: u64,
    pub sample_interval_ns: u64,
    /// The meter's bin.
    pub bin_ns: i64,
    /// A folder that exists: link.csv, sockets.csv and the pcapng files are written there.
    pub spool: PathBuf,
    /// The hosts whose end is recorded as pcapng.
    #[serde(default)]
    pub pcap: Vec<Host>,
    /// IP versions that the hosts have addresses of.
    #[serde(default = "both_families")]
    pub ip: Vec<Family>,
}

fn both_families() -> Vec<Family> {
    vec![Family::V4, Family::V6]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
pub enum Family {
    V4,
    V6,
}

impl TryFrom<u8> for Family {
    type Error = String;

    fn try_from(version: u8) -> Result<Self, String> {
        match version {
            4 => Ok(Self::V4),
            6 => Ok(Self::V6),
            other => Err(format!("IP version {other} is neither 4 nor 6")),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSetup {
    /// Set in this order: by name.
    #[serde(default)]
    pub sysctl: BTreeMap<String, String>,
    /// Set as a metric of the route, since a network namespace may not make a restricted algorithm its default.
    pub congestion_control: Option<String>,
    /// Segments; `None` leaves the kernel's.
    pub initcwnd: Option<u32>,
    pub initrwnd: Option<u32>,
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
    pub host: Host,
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
}

/// Sends a signal to a program's whole process group.
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
    /// Every net.ipv4.tcp_* and net.core.{r,w}mem_* in force.
    pub sysctl: BTreeMap<String, String>,
}

/// What the devices hand over unsegmented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Offload {
    pub tso: bool,
    pub uso: bool,
}

/// Why there can be no run, and the one command that would change that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// One word or the setting's name, for programs.
    pub what: String,
    /// A sentence, for people.
    pub message: String,
    pub remedy: Option<String>,
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
