//! What the record says beyond sums, gathered while the events are there: of each pipe and its queue, and how long flows
//! took.

use super::Question;
use super::results::{PipeTotals, RunResults, Work};
use crate::rows::{self, FlowRow};
use crate::seat::{Seat, Side};
use crate::simulation::Summary;
use crate::spec::SimSpec;
use crate::workload::WorkloadSpec;
use crate::world::SeenSocket;
use bentpipe_base::{Direction, OrderedSet};
use bentpipe_path::Bin;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_tables::figures::{
    Bins, Named, PipeFigures, QueueBehaviour, Retransmitting, Span, Times, flow_times, pause_s,
    queue_behaviour,
};
use std::rc::Rc;

/// Rates are over bins of this length, whatever the table's are.
const BIN_S: f64 = 0.1;

/// One direction: its pipe, its flows and their senders.
#[derive(Debug, Default)]
struct DirectionFigures {
    bins: Bins,
    /// From when to when each flow had data to send.
    under_way: Vec<(f64, f64)>,
    /// When a flow ended that had retransmitted, and its sender's ports.
    retransmitted: Vec<(f64, u64)>,
    /// When a sender's sample had more retransmissions than the one before, and its ports.
    seen: Vec<(f64, u64)>,
    /// Instants at which the sender's host was sampled.
    samples_s: Vec<f64>,
    /// By the connection's place: its generation, and how often its sender had retransmitted.
    senders: Vec<(u32, u64)>,
}

pub(crate) struct Figures {
    spec: Rc<SimSpec>,
    question: Question,
    /// The hosts whose sockets send on the path: to the client, to the server.
    senders: [Seat; 2],
    /// By the side that the data goes to: down, up.
    directions: [DirectionFigures; 2],
    /// Of the workloads whose flows' times are asked for.
    spans: Vec<Vec<Span>>,
}

fn ports(sender: u16, receiver: u16) -> u64 {
    u64::from(sender) << 16 | u64::from(receiver)
}

impl Figures {
    pub fn new(spec: Rc<SimSpec>, question: Question) -> Self {
        Self {
            question,
            senders: if spec.split.is_some() {
                [Seat::Far, Seat::Near]
            } else {
                [Seat::Server, Seat::Client]
            },
            directions: Default::default(),
            spans: vec![Vec::new(); spec.workloads.len()],
            spec,
        }
    }

    pub fn bin(&mut self, to: Side, bin: &Bin) {
        self.directions[to as usize].bins.push(bin);
    }

    /// Sockets of this host.
    pub fn sampled(&mut self, host: Seat, time: Time) {
        let mut sides = Side::BOTH.into_iter();
        let Some(direction) = sides.find(|to| self.senders[*to as usize] == host) else {
            return;
        };
        let samples_s = &mut self.directions[direction as usize].samples_s;
        samples_s.push(time.as_secs_f64());
    }

    /// A socket to which something has happened since the last sample.
    #[inline]
    pub fn socket(&mut self, seen: &SeenSocket<'_>) {
        if seen.host != self.senders[seen.side.other() as usize] {
            return; // it does not send on the path, or is between its ends
        }
        let direction = &mut self.directions[seen.side.other() as usize];
        let place = seen.id.index as usize;
        if direction.senders.len() <= place {
            direction.senders.resize(place + 1, (0, 0));
        }
        let (generation, before) = &mut direction.senders[place];
        if *generation != seen.id.generation {
            (*generation, *before) = (seen.id.generation, 0);
        }
        if seen.retransmits() > *before {
            *before = seen.retransmits();
            let (local_port, remote_port) = seen.ports();
            let sender = ports(local_port, remote_port);
            direction.seen.push((seen.time.as_secs_f64(), sender));
        }
    }

    pub fn flow(&mut self, row: &FlowRow) {
        let end_s = row.end.map(Time::as_secs_f64);
        let direction = &mut self.directions[row.receiver as usize];
        let begun = row.detail.connected.unwrap_or(row.start);
        let under_way = (begun.as_secs_f64(), end_s.unwrap_or(f64::INFINITY));
        direction.under_way.push(under_way);
        if let Some(end_s) = end_s
            && row.retransmits > row.omitted_retransmits
        {
            let sender = match row.receiver {
                Side::Client => ports(row.remote_port, row.local_port),
                Side::Server => ports(row.local_port, row.remote_port),
            };
            direction.retransmitted.push((end_s, sender));
        }
        if let WorkloadSpec::Channels(_) | WorkloadSpec::Http(_) = self.spec.workloads[row.workload]
        {
            self.spans[row.workload].push(Span {
                size_bytes: row.size_bytes.unwrap_or(row.bytes),
                start_s: row.start.as_secs_f64(),
                end_s: end_s.filter(|_| row.outcome == rows::FlowOutcome::Finished),
            });
        }
    }

    pub fn results(mut self, mut works: Vec<Work>, summary: &Summary) -> RunResults {
        let end_s = summary.ended.as_secs_f64();
        for ((work, spec), spans) in works.iter_mut().zip(&self.spec.workloads).zip(&self.spans) {
            self.question.times(work, spec, spans);
        }
        let [down, up] = &summary.totals;
        let figures = |direction: &DirectionFigures| direction.bins.figures(end_s, BIN_S);
        let [of_down, of_up] = &self.directions;
        let name = Direction::name;
        let pipes: Named<PipeFigures> = [
            (name(Direction::Down), figures(of_down)),
            (name(Direction::Up), figures(of_up)),
        ]
        .into();
        let mut queue: Named<QueueBehaviour> = Named::default();
        let asked = [
            (name(Direction::Down), &self.question.down),
            (name(Direction::Up), &self.question.up),
        ];
        for ((pipe, asked), direction) in asked.into_iter().zip(&mut self.directions) {
            if let Some(asked) = asked {
                let under_way = core::mem::take(&mut direction.under_way);
                let seen = direction.retransmitting();
                let found = queue_behaviour(&direction.bins, under_way, &seen, end_s, asked);
                queue.insert(pipe, found);
            }
        }
        RunResults {
            ended_ns: summary.ended,
            events: summary.events,
            workloads: works,
            totals: [
                (name(Direction::Down), PipeTotals::from(down)),
                (name(Direction::Up), PipeTotals::from(up)),
            ]
            .into(),
            pipes,
            queue,
            split: summary
                .split
                .map(|[near, far]| [(Seat::Near.name(), near), (Seat::Far.name(), far)].into()),
            gateway: summary
                .gateway
                .map(|[near, far]| [(Seat::Near.name(), near), (Seat::Far.name(), far)].into()),
            tunnel: summary.tunnel.clone().map(|[down, up]| {
                [(name(Direction::Down), down), (name(Direction::Up), up)].into()
            }),
        }
    }
}

impl Question {
    fn times(&self, work: &mut Work, spec: &WorkloadSpec, spans: &[Span]) {
        match spec {
            WorkloadSpec::Channels(channels) => {
                work.times = Some(flow_times(spans, self.small_bytes));
                let start_s = spec.start().as_secs_f64();
                let (channels, seconds) = (channels.channels, Nanos::as_secs_f64);
                let paused_s = pause_s(spans, channels.into(), start_s, seconds(work.measured_ns));
                work.pause_s = Some(paused_s);
            }
            WorkloadSpec::Http(http) if http.objects_bytes.is_some() => {
                work.object_times = Some(Times::of(spans.iter()));
            }
            _ => {}
        }
    }
}

impl DirectionFigures {
    /// Those seen in samples, and at their flow's end those that never were.
    fn retransmitting(&self) -> Retransmitting {
        let sampled: OrderedSet<u64> = self.seen.iter().map(|(_, sender)| *sender).collect();
        let unseen = self.retransmitted.iter();
        let unseen = unseen.filter(|(_, sender)| !sampled.contains(*sender));
        Retransmitting::new(self.seen.iter().chain(unseen).copied(), &self.samples_s)
    }
}
