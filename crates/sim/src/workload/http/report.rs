//! An item as a row of the `flows` table.

use super::Http;
use super::lane::Item;
use crate::rows::{Cached, FlowDetail, FlowOutcome, FlowRow};
use crate::seat::Side;
use crate::world::World;
use bentpipe_path::time::Nanos;

impl Http {
    pub(super) fn report(&self, world: &mut World, lane: usize, item: &Item, outcome: FlowOutcome) {
        let Some(id) = self.lanes[lane].connection else {
            return;
        };
        let (local_port, remote_port) = world.ports(id);
        let retransmits = self.retransmits(world, id);
        let retransmits = retransmits - item.retransmits_before.min(retransmits);
        // What asks for the whole file before its length is known has no size of its own.
        let first = item.wanted.piece.is_some() && item.wanted.range == (0..item.wanted.size);
        world.flows.push(FlowRow {
            flow: item.flow,
            workload: self.place,
            opener: Side::Client,
            receiver: self.sender().other(),
            ip: world.ip(),
            local_port,
            remote_port,
            size_bytes: (!first).then(|| item.wanted.bytes()),
            start: item.start,
            first_byte: item.first_byte,
            end: (outcome == FlowOutcome::Finished).then_some(world.now()),
            counted_from: item.start,
            bytes: item.carried,
            omitted_bytes: 0,
            retransmits: retransmits + item.retransmits_upstream,
            omitted_retransmits: 0,
            outcome,
            why: match outcome {
                FlowOutcome::Finished => None,
                FlowOutcome::Unfinished => Some("the run ended"),
                FlowOutcome::Failed => Some("the connection failed"),
            },
            detail: FlowDetail {
                leg: self.leg(),
                connected: item.connected,
                visit: Some(self.visit),
                object: self.object,
                cache: item.cache,
                think: (self.spec.think_ns > Nanos::ZERO).then_some(match item.cache {
                    Some(Cached::Hit) => Nanos::ZERO,
                    _ => self.spec.think_ns,
                }),
                ..FlowDetail::default()
            },
        });
    }
}
