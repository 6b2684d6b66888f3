//! The rows of a transfer: its receiver's seconds, and its streams.

use super::{Interval, Iperf3, SECOND, TICK};
use crate::rows::{FlowDetail, FlowOutcome, FlowRow, IntervalRow};
use crate::seat::Side;
use crate::workload::Workload;
use crate::world::World;

impl Iperf3 {
    pub(super) fn begin_intervals(&mut self, world: &mut World, omitted: bool) {
        let clock = self.interval.clock + 1;
        self.interval = Interval {
            start: Some(world.now()),
            bytes: 0,
            omitted,
            clock,
        };
        world.call_at(world.now() + SECOND, self.place, TICK + clock);
    }

    pub(super) fn end_interval(&mut self, world: &mut World) {
        let now = world.now();
        if let Some(start) = self.interval.start.replace(now)
            && start < now
        {
            world.intervals.push(IntervalRow {
                workload: self.place,
                start,
                end: now,
                bytes: core::mem::take(&mut self.interval.bytes),
                omitted: self.interval.omitted,
            });
        }
    }

    pub(super) fn report(
        &mut self,
        world: &mut World,
        index: usize,
        outcome: FlowOutcome,
        why: Option<&'static str>,
    ) {
        let retransmits = self.retransmits(world, index);
        let stream = &mut self.streams[index];
        if stream.done {
            return;
        }
        stream.done = true;
        let (at_client, at_server) = world.ports(stream.id);
        let (local_port, remote_port) = match self.client {
            Side::Client => (at_client, at_server),
            Side::Server => (at_server, at_client),
        };
        let row = FlowRow {
            flow: stream.flow,
            workload: self.place,
            opener: self.client,
            receiver: self.sender.other(),
            ip: world.ip(),
            local_port,
            remote_port,
            size_bytes: self.size,
            start: stream.start,
            first_byte: stream.first_byte,
            end: (outcome == FlowOutcome::Finished).then_some(world.now()),
            counted_from: self.counted_from,
            bytes: stream.bytes,
            omitted_bytes: stream.omitted_bytes,
            retransmits,
            omitted_retransmits: stream.omitted_retransmits,
            outcome,
            why,
            detail: FlowDetail::default(),
        };
        world.flows.push(row);
        if self.is_done() {
            self.end_interval(world);
        }
    }

    pub(super) fn retransmits(&self, world: &World, index: usize) -> u64 {
        world.retransmits(self.streams[index].id, self.sender)
    }
}
