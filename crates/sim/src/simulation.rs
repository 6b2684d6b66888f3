//! A run: the specification, the loop over virtual time, and the streams of results.

use crate::host::HostConfig;
use crate::near::{Near, NearConfig};
use crate::network::{Event, Host, Network, Side};
use crate::sink::Sink;
use crate::workload::{self, Workload, WorkloadSpec};
use bentpipe_path::Pipe;
use bentpipe_path::Totals;
use bentpipe_path::config::PipeConfig;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tcp::congestion::{ControlError, Registry};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimSpec {
    #[serde(default)]
    pub client: HostConfig,
    #[serde(default)]
    pub server: HostConfig,
    #[serde(default)]
    pub down: PipeConfig,
    #[serde(default)]
    pub up: PipeConfig,
    /// A host between client and path.
    #[serde(default)]
    pub near: Option<NearConfig>,
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
    /// Hosts whose packets the sink is shown.
    #[serde(default)]
    pub capture: Vec<Host>,
}

impl Default for SimSpec {
    fn default() -> Self {
        Self {
            client: HostConfig::default(),
            server: HostConfig::default(),
            down: PipeConfig::default(),
            up: PipeConfig::default(),
            near: None,
            mtu: 1500,
            seed: 1,
            workloads: Vec::new(),
            duration_ns: None,
            until_done: true,
            bin_ns: Nanos::from_millis(100),
            sample_interval_ns: None,
            capture: Vec::new(),
        }
    }
}

/// Why a specification cannot be run.
#[derive(Debug)]
pub enum SpecError {
    Pipe(bentpipe_path::ConfigError),
    CongestionControl(ControlError),
    Mtu(u32),
    Endless,
    /// A workload's field, and what it should be.
    Workload(String),
}

impl core::fmt::Display for SpecError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Pipe(error) => error.fmt(f),
            Self::CongestionControl(error) => error.fmt(f),
            Self::Workload(why) => f.write_str(why),
            Self::Mtu(mtu) => write!(f, "mtu {mtu} is not within 576 to 65535"),
            Self::Endless => {
                write!(
                    f,
                    "no duration is set and a workload has neither size nor time"
                )
            }
        }
    }
}

impl core::error::Error for SpecError {}

impl From<ControlError> for SpecError {
    fn from(error: ControlError) -> Self {
        Self::CongestionControl(error)
    }
}

impl From<bentpipe_path::ConfigError> for SpecError {
    fn from(error: bentpipe_path::ConfigError) -> Self {
        Self::Pipe(error)
    }
}

pub struct Simulation {
    network: Network,
    workloads: Vec<Box<dyn Workload>>,
    spec: SimSpec,
    start: Time,
}

/// What a run amounted to.
#[derive(Clone, Debug)]
pub struct Summary {
    pub ended: Time,
    /// Of the pipe to the client, then to the server.
    pub totals: [Totals; 2],
    pub events: u64,
}

const START: u64 = u64::MAX;
/// Some 20 ms of CPU.
const EVENTS_BETWEEN_QUESTIONS: u64 = 1 << 16;

impl Simulation {
    /// With the congestion controls that come with the simulator.
    ///
    /// # Errors
    /// If the specification cannot be run.
    pub fn new(spec: SimSpec) -> Result<Self, SpecError> {
        Self::with_controls(spec, &Registry::default())
    }

    /// With the congestion controls of this registry.
    ///
    /// # Errors
    /// If the specification cannot be run.
    pub fn with_controls(mut spec: SimSpec, controls: &Registry) -> Result<Self, SpecError> {
        if !(576..=65_535).contains(&spec.mtu) {
            return Err(SpecError::Mtu(spec.mtu));
        }
        let near_host = spec.near.as_mut().map(|near| &mut near.host);
        for host in [&mut spec.client, &mut spec.server]
            .into_iter()
            .chain(near_host)
        {
            controls.resolve(&mut host.tcp.congestion_control)?;
        }
        for work in &mut spec.workloads {
            if let Some(control) = work.congestion_control_mut() {
                controls.resolve(control)?;
            }
        }
        let near_host = spec.near.as_ref().map_or(&spec.client, |near| &near.host);
        let endless = |work: &WorkloadSpec| {
            matches!(
                work,
                WorkloadSpec::Bulk {
                    size_bytes: None,
                    time_ns: None,
                    ..
                } | WorkloadSpec::Iperf3 {
                    size_bytes: None,
                    time_ns: None,
                    ..
                } | WorkloadSpec::Channels(_)
            )
        };
        if spec.duration_ns.is_none() && spec.workloads.iter().any(endless) {
            return Err(SpecError::Endless);
        }
        let down = Pipe::new(&spec.down, spec.mtu, spec.seed, "down", spec.bin_ns)?;
        let up = Pipe::new(&spec.up, spec.mtu, spec.seed, "up", spec.bin_ns)?;
        let start = spec
            .workloads
            .iter()
            .map(WorkloadSpec::start)
            .min()
            .unwrap_or(Time::ZERO)
            .min(Time::ZERO);
        let hosts = [&spec.client, &spec.server, near_host].map(Clone::clone);
        let near = spec.near.as_ref();
        let near = near.map(|near| Near::new(near, spec.mtu, spec.seed, spec.bin_ns));
        let mut network = Network::new(
            hosts,
            [down, up],
            near.transpose()?,
            spec.mtu,
            spec.seed,
            start,
            [Host::Client, Host::Server, Host::Near].map(|host| spec.capture.contains(&host)),
        );
        let mut workloads = Vec::new();
        for (place, work) in spec.workloads.iter().enumerate() {
            if let Some(control) = work.congestion_control() {
                network.set_sockets(place, |host| host.congestion_control.clone_from(control));
            }
            workloads.push(workload::build(&mut network, place, work)?);
            network.call_at(work.start(), place, START);
        }
        if let Some(interval) = spec.sample_interval_ns {
            network.events.push(start + interval, Event::Sample);
        }
        Ok(Self {
            network,
            workloads,
            spec,
            start,
        })
    }

    /// Runs to the end, handing results to `sink` as they come.
    pub fn run(mut self, sink: &mut dyn Sink) -> Summary {
        let until = self
            .spec
            .duration_ns
            .map_or(Time::NEVER, |length| Time::ZERO + length);
        let mut events = 0;
        let mut interrupted = false;
        let mut next_bins = self.start + self.spec.bin_ns;
        let mut next = [None, None];
        loop {
            for side in [Side::Client, Side::Server] {
                next[side as usize] = self.network.pipes[side as usize].next_time();
            }
            let timer = self.network.events.next_time();
            let pipe = match (next[0], next[1]) {
                (Some(a), Some(b)) if b < a => Some((b, Side::Server)),
                (Some(a), _) => Some((a, Side::Client)),
                (None, b) => b.map(|b| (b, Side::Server)),
            };
            let now = [timer, pipe.map(|(at, _)| at)].into_iter().flatten().min();
            let Some(now) = now.filter(|&now| now <= until) else {
                break;
            };
            self.network.now = now.max(self.network.now);
            events += 1;
            match pipe {
                Some((at, side)) if timer.is_none_or(|timer| at <= timer) => {
                    if let Some((_, packet)) = self.network.pipes[side as usize].pop(at) {
                        self.network.leave_path(side, packet);
                    }
                }
                _ => {
                    if let Some((_, event)) = self.network.events.pop() {
                        self.on_event(&event, sink);
                    }
                }
            }
            self.tell_workloads();
            self.flush(sink);
            if now >= next_bins {
                self.flush_bins(sink);
                next_bins = now + self.spec.bin_ns;
            }
            if self.spec.until_done && self.workloads.iter().all(|work| work.is_done()) {
                break;
            }
            if events % EVENTS_BETWEEN_QUESTIONS == 0 && sink.go_on(now).is_break() {
                interrupted = true;
                break;
            }
        }
        let until = if interrupted { self.network.now } else { until };
        self.finish(until, sink, events)
    }

    fn on_event(&mut self, event: &Event, sink: &mut dyn Sink) {
        match *event {
            Event::Timer(id, side) => self.network.on_timer(id, side),
            Event::Application {
                workload,
                token: START,
            } => {
                self.workloads[workload].on_start(&mut self.network);
            }
            Event::Application { workload, token } => {
                self.workloads[workload].on_timer(&mut self.network, token);
            }
            Event::Flush(host) => self.network.flush_due(host),
            Event::Lan(to) => self.network.leave_lan(to),
            Event::Line(server, to) => self.network.leave_line(server, to),
            Event::Sample => {
                self.network.sample(|row| sink.socket(row));
                if let Some(interval) = self.spec.sample_interval_ns {
                    let at = self.network.now + interval;
                    self.network.events.push(at, Event::Sample);
                }
            }
        }
    }

    fn tell_workloads(&mut self) {
        loop {
            if let Some((place, id, side, notice)) = self.network.notices.pop_front() {
                self.workloads[place].on_notice(&mut self.network, id, side, notice);
            } else if let Some((place, sequence)) = self.network.echoes.pop_front() {
                self.workloads[place].on_echo(&mut self.network, sequence);
            } else {
                break;
            }
        }
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        for row in self.network.flows.drain(..) {
            sink.flow(&row);
        }
        for row in self.network.intervals.drain(..) {
            sink.interval(&row);
        }
        for row in self.network.pings.drain(..) {
            sink.ping(&row);
        }
        for captured in self.network.captured.drain(..) {
            sink.packet(&captured);
        }
    }

    fn flush_bins(&mut self, sink: &mut dyn Sink) {
        for side in [Side::Client, Side::Server] {
            for bin in self.network.pipes[side as usize].take_bins() {
                sink.bin(side, &bin);
            }
        }
        if let Some(near) = &mut self.network.near {
            near.forget_bins();
        }
    }

    fn finish(mut self, until: Time, sink: &mut dyn Sink, events: u64) -> Summary {
        let ended = if self.spec.until_done && self.workloads.iter().all(|work| work.is_done())
            || until == Time::NEVER
        {
            self.network.now
        } else {
            until
        };
        self.network.now = ended;
        for work in &mut self.workloads {
            work.on_end(&mut self.network);
        }
        for pipe in &mut self.network.pipes {
            pipe.finish(ended);
        }
        self.flush(sink);
        self.flush_bins(sink);
        let totals = [
            *self.network.pipes[0].totals(),
            *self.network.pipes[1].totals(),
        ];
        Summary {
            ended,
            totals,
            events,
        }
    }
}
