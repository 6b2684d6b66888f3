//! What a run amounted to, beside the tables: what each workload carried, and each pipe's sums.

use super::flows::cached;
use crate::gateway::GatewayFigures;
use crate::rows::{self, Cached, DatagramRow, FlowDetail, FlowRow, IntervalRow, PingRow};
use crate::seat::Side;
use crate::split::SplitFigures;
use crate::tunnel::TunnelFigures;
use crate::workload::WorkloadSpec;
use bentpipe_path::time::{Nanos, Time};
use bentpipe_path::{DropCause, Totals};
use bentpipe_tables::figures::{FlowTimes, Named, PipeFigures, QueueBehaviour, Times};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct RunResults {
    /// The run's end.
    pub ended_ns: Time,
    pub events: u64,
    /// In the specification's order.
    pub workloads: Vec<Work>,
    /// What each pipe counted.
    pub totals: Named<PipeTotals>,
    pub pipes: Named<PipeFigures>,
    /// Of the pipes that were asked about.
    pub queue: Named<QueueBehaviour>,
    /// By pipe.
    pub tunnel: Option<Named<TunnelFigures>>,
    /// By the proxy's seat.
    pub split: Option<Named<SplitFigures>>,
    pub gateway: Option<Named<GatewayFigures>>,
}

/// One workload; what its kind does not have stays empty.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Work {
    /// Payload that counts, and in what time it came.
    pub bytes: u64,
    pub measured_ns: Nanos,
    pub retransmits: u64,
    /// The last byte of the last flow, if all had a size and finished.
    pub last_byte_ns: Option<Time>,
    /// Of each second that counts; the last may be shorter.
    pub intervals: Vec<Interval>,
    pub flows: u64,
    pub finished: u64,
    pub failed: u64,
    pub why: Option<&'static str>,
    pub round_trips_ns: Vec<Nanos>,
    pub lost: u64,
    /// Of a call, each datagram to the client and to the server.
    pub down: Vec<DatagramTimes>,
    pub up: Vec<DatagramTimes>,
    /// Of a web client, in their order.
    pub visits: Vec<Visit>,
    /// Requests that a cache had the answer to, and those that it had not.
    pub hits: u64,
    pub misses: u64,
    /// Of a workload of channels.
    #[serde(flatten)]
    pub times: Option<FlowTimes>,
    pub pause_s: Option<f64>,
    /// Of a page.
    pub object_times: Option<Times>,
}

/// When a datagram was sent, and how long it was under way; `None`: it never came.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DatagramTimes {
    pub sent_ns: Time,
    pub delay_ns: Option<Nanos>,
}

/// What a web client fetched at one time: a file, its ranges, or a page.
#[derive(Clone, Debug, Serialize)]
pub struct Visit {
    pub start_ns: Time,
    /// By the first of its connections, if one was opened for it.
    pub connected_ns: Option<Time>,
    pub first_byte_ns: Option<Time>,
    /// The last byte of the last; `None` if one did not finish.
    pub end_ns: Option<Time>,
    pub bytes: u64,
    pub retransmits: u64,
    pub object: Option<u32>,
    /// Whether the cache had all of it.
    pub cache: Option<&'static str>,
    /// Its requests, where the server takes its time to answer; else empty.
    pub requests: Vec<RequestTimes>,
}

/// A request of a visit, and how long the server takes before it answers.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(clippy::struct_field_names)]
pub struct RequestTimes {
    pub start_ns: Time,
    pub first_byte_ns: Option<Time>,
    pub end_ns: Option<Time>,
    pub think_ns: Nanos,
}

impl RequestTimes {
    fn new(row: &FlowRow, think_ns: Nanos) -> Self {
        Self {
            start_ns: row.start,
            first_byte_ns: row.first_byte,
            end_ns: row.end,
            think_ns,
        }
    }
}

impl Visit {
    fn new(row: &FlowRow) -> Self {
        Self {
            start_ns: row.start,
            connected_ns: row.detail.connected,
            first_byte_ns: row.first_byte,
            end_ns: row.end,
            bytes: row.bytes,
            retransmits: row.retransmits,
            object: row.detail.object,
            cache: row.detail.cache.map(cached),
            requests: Vec::new(),
        }
    }

    fn join(&mut self, row: &FlowRow) {
        let earlier = |a: Option<Time>, b: Option<Time>| a.into_iter().chain(b).min();
        self.start_ns = self.start_ns.min(row.start);
        self.connected_ns = earlier(self.connected_ns, row.detail.connected);
        self.first_byte_ns = earlier(self.first_byte_ns, row.first_byte);
        self.end_ns = self.end_ns.zip(row.end).map(|(a, b)| a.max(b));
        self.bytes += row.bytes;
        self.retransmits += row.retransmits;
        if row.detail.cache == Some(Cached::Miss) {
            self.cache = row.detail.cache.map(cached);
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize)]
pub struct Interval {
    pub length_ns: Nanos,
    pub bytes: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct PipeTotals {
    pub offered_packets: u64,
    pub delivered_packets: u64,
    pub delivered_bytes: u64,
    pub dropped_packets: Named<u64>,
}

impl From<&Totals> for PipeTotals {
    fn from(totals: &Totals) -> Self {
        Self {
            offered_packets: totals.offered.packets,
            delivered_packets: totals.delivered.packets,
            delivered_bytes: totals.delivered.bytes,
            dropped_packets: DropCause::ALL
                .map(|cause| (cause.name(), totals.dropped_by(cause).packets))
                .into(),
        }
    }
}

impl Work {
    pub(crate) fn flow(&mut self, row: &FlowRow) {
        self.flows += 1;
        self.retransmits += row.retransmits - row.omitted_retransmits;
        match row.outcome {
            rows::FlowOutcome::Finished => self.finished += 1,
            rows::FlowOutcome::Unfinished => {}
            rows::FlowOutcome::Failed => {
                self.failed += 1;
                self.why = row.why;
            }
        }
        match row.detail.cache {
            Some(Cached::Hit) => self.hits += 1,
            Some(Cached::Miss) => self.misses += 1,
            None => {}
        }
        if let Some(number) = row.detail.visit {
            match self.visits.get_mut(number as usize) {
                Some(visit) => visit.join(row),
                None => self.visits.push(Visit::new(row)),
            }
            if let Some(think) = row.detail.think
                && let Some(visit) = self.visits.get_mut(number as usize)
            {
                visit.requests.push(RequestTimes::new(row, think));
            }
        }
        if row.detail != FlowDetail::default() {
            self.bytes += row.bytes;
        }
        if row.size_bytes.is_some() || row.detail.visit.is_some() {
            self.last_byte_ns = self.last_byte_ns.max(row.end);
        }
    }

    /// iperf3 with a size counts from the end of the seconds left out; the sender goes on with the same size.
    pub(crate) fn interval(&mut self, row: &IntervalRow) {
        if row.omitted {
            return;
        }
        let length_ns = row.end - row.start;
        self.bytes += row.bytes;
        self.measured_ns = self.measured_ns + length_ns;
        self.intervals.push(Interval {
            length_ns,
            bytes: row.bytes,
        });
    }

    pub(crate) fn ping(&mut self, row: &PingRow) {
        match row.rtt {
            Some(rtt) => self.round_trips_ns.push(rtt),
            None => self.lost += 1,
        }
    }

    pub(crate) fn datagram(&mut self, row: &DatagramRow) {
        let found = match row.to {
            Side::Client => &mut self.down,
            Side::Server => &mut self.up,
        };
        found.push(DatagramTimes {
            sent_ns: row.sent,
            delay_ns: row.delay,
        });
    }

    pub(crate) fn end(&mut self, spec: &WorkloadSpec, ended: Time) {
        if let WorkloadSpec::Http(_) | WorkloadSpec::Channels(_) = spec {
            let whole = self.finished == self.flows;
            let end = self.last_byte_ns.filter(|_| whole).unwrap_or(ended);
            self.measured_ns = (end - spec.start()).max(Nanos::ZERO);
            if !whole {
                self.last_byte_ns = None;
            }
        }
        if let WorkloadSpec::Bulk { streams, .. } | WorkloadSpec::Iperf3 { streams, .. } = spec
            && self.finished < u64::from(*streams)
        {
            self.last_byte_ns = None;
        }
    }
}
