//! From a request that is read to an answer that is read: at the server, at near, and at the client.

use super::Http;
use super::lane::{After, Lane};
use super::proxy::{Client, Passed};
use crate::rows::{Cached, FlowOutcome};
use crate::seat::Side;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_path::time::Nanos;

impl Http {
    /// The server, or near, has read more of a request.
    pub(super) fn read_request(&mut self, world: &mut World, lane: usize, bytes: u64) {
        let Lane {
            item: Some(item),
            turn,
            ..
        } = &mut self.lanes[lane]
        else {
            return;
        };
        let body = item.exchange.read_request(bytes);
        if body > 0 {
            item.first_byte.get_or_insert(world.now());
            item.carried += body;
        }
        if item.exchange.request_bytes() > 0 {
            return;
        }
        let turn = *turn;
        if let Some(proxy) = &mut self.proxy {
            if proxy.holds(item.wanted.object) {
                item.cache = Some(Cached::Hit);
                self.answer(world, lane);
            } else {
                item.cache = Some(Cached::Miss);
                proxy.fetch(world, &item.wanted, (lane, turn));
            }
        } else if self.spec.think_ns > Nanos::ZERO {
            let token = turn << 32 | lane as u64;
            world.call_at(world.now() + self.spec.think_ns, self.place, token);
        } else {
            self.answer(world, lane);
        }
    }

    pub(super) fn answer(&self, world: &mut World, lane: usize) {
        let lane = &self.lanes[lane];
        if let (Some(id), Some(item)) = (lane.connection, &lane.item) {
            world.write(id, Side::Server, item.exchange.answer_bytes());
        }
    }

    /// Near has more of an answer for a lane.
    pub(super) fn pass(&mut self, world: &mut World, (lane, turn): Client, passed: Passed) {
        let place = &mut self.lanes[lane];
        let (Some(id), Some(item)) = (place.connection, &mut place.item) else {
            return;
        };
        if place.turn != turn {
            return;
        }
        match passed {
            Passed::Bytes { bytes, retransmits } => {
                item.retransmits_upstream = retransmits;
                if bytes > 0 {
                    world.write(id, Side::Server, bytes);
                }
            }
            Passed::Nothing => self.end_item(world, lane, FlowOutcome::Failed, After::Reset),
        }
    }

    /// The client has read more of an answer.
    pub(super) fn read_answer(&mut self, world: &mut World, lane: usize, bytes: u64) {
        let Some(item) = &mut self.lanes[lane].item else {
            return;
        };
        let body = item.exchange.read_answer(bytes);
        if self.spec.direction == Direction::Down {
            item.first_byte.get_or_insert(world.now());
            item.carried += body;
        }
        if let Some(split) = &mut self.split
            && !split.length_known
            && item.exchange.head_bytes() == 0
        {
            split.length_known = true;
            let connections = self.lanes.len().min(split.pieces.count());
            for other in 0..connections {
                self.take_next(world, other);
            }
        }
        if self.split.is_some() {
            self.advance(world, lane);
        } else if self.lanes[lane]
            .item
            .as_ref()
            .is_some_and(|item| item.exchange.answer_bytes() == 0)
        {
            let after = if self.spec.keep_alive {
                After::Keep
            } else {
                After::Close
            };
            self.end_item(world, lane, FlowOutcome::Finished, after);
        }
    }
}
