//! A run: the loop over virtual time, and the streams of results.

use crate::gateway::GatewayFigures;
use crate::seat::{Seat, Side};
use crate::sink::Sink;
use crate::spec::SimSpec;
use crate::spec_error::SpecError;
use crate::split::SplitFigures;
use crate::standard::{self, PathEnds};
use crate::tunnel::{Tunnel, TunnelFigures};
use crate::workload::{self, CallSpec, InteractiveSpec, Workload, WorkloadSpec};
use crate::world::{Call, World};
use bentpipe_path::Totals;
use bentpipe_path::time::Time;
use bentpipe_tcp::congestion::Registry;
use std::rc::Rc;

pub struct Simulation {
    world: World,
    ends: PathEnds,
    workloads: Vec<Box<dyn Workload>>,
    spec: Rc<SimSpec>,
    /// The run's end at the latest.
    until: Time,
    next_bins: Time,
    events: u64,
}

/// How a stretch of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// All its events were handled, and there are more.
    More,
    /// The run is over.
    Ended,
}

/// What a run amounted to.
#[derive(Clone, Debug)]
pub struct Summary {
    pub ended: Time,
    /// Of the pipe to the client, then to the server.
    pub totals: [Totals; 2],
    /// Of the tunnel to the client, then to the server.
    pub tunnel: Option<[TunnelFigures; 2]>,
    /// Of the proxies at near and at far.
    pub split: Option<[SplitFigures; 2]>,
    pub gateway: Option<[GatewayFigures; 2]>,
    pub events: u64,
}

const START: u64 = u64::MAX;
/// Some 20 ms of CPU.
pub(crate) const EVENTS_BETWEEN_QUESTIONS: u64 = 1 << 16;

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
        spec.resolve_controls(controls)?;
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
                } | WorkloadSpec::Call(CallSpec { time_ns: None, .. })
                    | WorkloadSpec::Interactive(InteractiveSpec {
                        count: None,
                        time_ns: None,
                        ..
                    })
                    | WorkloadSpec::Channels(_)
            )
        };
        if spec.duration_ns.is_none() && spec.workloads.iter().any(endless) {
            return Err(SpecError::Endless);
        }
        let start = spec
            .workloads
            .iter()
            .map(WorkloadSpec::start)
            .min()
            .unwrap_or(Time::ZERO)
            .min(Time::ZERO);
        let (mut world, ends) = standard::build(&spec, Vec::new(), start)?;
        let mut workloads = Vec::new();
        for (place, work) in spec.workloads.iter().enumerate() {
            if work.has_own_settings() {
                world.set_sockets(place, |tcp| work.set(tcp));
            }
            workloads.push(workload::build(&mut world, place, work)?);
            world.call_at(work.start(), place, START);
        }
        if let Some(interval) = spec.sample_interval_ns {
            world.calls.push(start + interval, Call::Sample);
        }
        Ok(Self {
            world,
            ends,
            workloads,
            until: spec
                .duration_ns
                .map_or(Time::NEVER, |length| Time::ZERO + length),
            next_bins: start + spec.bin_ns,
            events: 0,
            spec: Rc::new(spec),
        })
    }

    /// What runs, with the congestion controls that its names stand for.
    pub fn spec(&self) -> &Rc<SimSpec> {
        &self.spec
    }

    /// Runs to the end, handing results to `sink` as they come.
    pub fn run(mut self, sink: &mut dyn Sink) -> Summary {
        while self.advance(EVENTS_BETWEEN_QUESTIONS, sink) == Stretch::More {
            if sink.go_on(self.now()).is_break() {
                self.stop();
                break;
            }
        }
        self.finish(sink)
    }

    /// The time that the run has reached.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// Makes this instant the run's end.
    pub fn stop(&mut self) {
        self.until = self.now();
    }

    /// Handles so many events at most. `sink` is not asked whether to go on.
    pub fn advance(&mut self, events: u64, sink: &mut dyn Sink) -> Stretch {
        let last = self.events + events;
        while self.events < last {
            let call = self.world.calls.next_time().unwrap_or(Time::NEVER);
            if !self.world.network.step(call.min(self.until)) {
                if call > self.until || call == Time::NEVER {
                    return Stretch::Ended;
                }
                let now = self.world.now().max(call);
                self.world.network.set_now(now);
                if let Some((_, call)) = self.world.calls.pop() {
                    self.on_call(&call, sink);
                }
            }
            self.events += 1;
            let now = self.world.now();
            self.tell_workloads();
            self.flush(sink);
            if now >= self.next_bins {
                self.flush_bins(sink);
                self.next_bins = now + self.spec.bin_ns;
            }
            if self.spec.until_done && self.workloads.iter().all(|work| work.is_done()) {
                return Stretch::Ended;
            }
        }
        Stretch::More
    }

    fn on_call(&mut self, call: &Call, sink: &mut dyn Sink) {
        match *call {
            Call::Application {
                workload,
                token: START,
            } => {
                self.workloads[workload].on_start(&mut self.world);
            }
            Call::Application { workload, token } => {
                self.workloads[workload].on_timer(&mut self.world, token);
            }
            Call::Sample => {
                sink.sample(self.world.sample());
                self.world.forget_touched();
                if let Some(interval) = self.spec.sample_interval_ns {
                    let at = self.world.now() + interval;
                    self.world.calls.push(at, Call::Sample);
                }
            }
        }
    }

    fn tell_workloads(&mut self) {
        let world = &mut self.world;
        loop {
            if let Some((place, id, side, notice)) = world.network.out.notices.pop_front() {
                self.workloads[place].on_notice(world, id, side, notice);
            } else if let Some((place, sequence)) = world.network.out.echoes.pop_front() {
                self.workloads[place].on_echo(world, sequence);
            } else if let Some((place, to, sequence)) = world.network.out.datagrams.pop_front() {
                self.workloads[place].on_datagram(world, to, sequence);
            } else {
                break;
            }
        }
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        for row in self.world.flows.drain(..) {
            sink.flow(&row);
        }
        for row in self.world.intervals.drain(..) {
            sink.interval(&row);
        }
        for row in self.world.pings.drain(..) {
            sink.ping(&row);
        }
        for row in self.world.datagrams.drain(..) {
            sink.datagram(&row);
        }
        for row in self.world.failures.drain(..) {
            sink.failure(&row);
        }
        for captured in self.world.network.recorder.captured.drain(..) {
            sink.packet(&captured);
        }
    }

    fn flush_bins(&mut self, sink: &mut dyn Sink) {
        for side in Side::BOTH {
            let crossing = self.world.tunnel.as_ref().map(|it| &it[side as usize]);
            if let Some(pipe) = self.ends.pipe(&mut self.world.network, side) {
                for mut bin in pipe.take_bins() {
                    if let Some(crossing) = crossing {
                        // Frames are no TCP: what they carry is counted where they are decoded. What is counted here has crossed
                        // beside them.
                        bin.goodput_bytes += crossing.borrow_mut().take_goodput(bin.start);
                    }
                    if let Some(gateways) = &self.world.gateways {
                        // Near gives to the client what goes down.
                        let end = &gateways[usize::from(side == Side::Server)];
                        bin.goodput_bytes += end.0.borrow_mut().take_goodput(bin.start);
                    }
                    sink.bin(side, &bin);
                }
            }
        }
        if self.spec.near.is_some() {
            // The LAN is not metered: what its pipes counted is dropped.
            for (from, to) in [(Seat::Client, Seat::Near), (Seat::Near, Seat::Client)] {
                if let Some(pipe) = self.world.network.pipe(from, to) {
                    pipe.take_bins();
                }
            }
        }
    }

    /// Ends the run, which [`advance`](Self::advance) has said to be over or which was [stopped](Self::stop).
    pub fn finish(mut self, sink: &mut dyn Sink) -> Summary {
        let until = self.until;
        let ended = if self.spec.until_done && self.workloads.iter().all(|work| work.is_done())
            || until == Time::NEVER
        {
            self.world.now()
        } else {
            until
        };
        self.world.network.set_now(ended);
        for work in &mut self.workloads {
            work.on_end(&mut self.world);
        }
        let totals = Side::BOTH.map(|side| {
            let pipe = self.ends.pipe(&mut self.world.network, side);
            pipe.map_or_else(Totals::default, |pipe| {
                pipe.finish(ended);
                *pipe.totals()
            })
        });
        self.flush(sink);
        self.flush_bins(sink);
        let figures =
            |crossings: &Tunnel| crossings.each_ref().map(|it| it.borrow().figures(ended));
        Summary {
            ended,
            totals,
            tunnel: self.world.tunnel.as_ref().map(figures),
            split: self.world.split_figures(),
            gateway: self.world.gateway_figures(),
            events: self.events,
        }
    }
}
