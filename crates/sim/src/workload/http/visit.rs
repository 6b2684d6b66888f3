//! A visit: what it consists of, who takes what, and when it is over.

use super::exchange::Exchange;
use super::lane::{After, Item, Lane, Wanted};
use super::pieces::Pieces;
use super::{Http, PORT, Split};
use crate::rows::FlowOutcome;
use crate::seat::Side;
use crate::world::World;
use bentpipe_base::Direction;
use bentpipe_workloads::Popularity;

impl Http {
    pub(super) fn begin_visit(&mut self, world: &mut World) {
        self.object = self.popularity.as_mut().map(Popularity::draw);
        let size = self.spec.size_bytes.unwrap_or(0);
        self.waiting = match &self.spec.objects_bytes {
            Some(objects) => (1..)
                .zip(objects)
                .map(|(object, &size)| Wanted::whole(object, size))
                .collect(),
            None => vec![Wanted::whole(self.object.unwrap_or(1), size)],
        };
        self.waiting.reverse();
        if self.spec.objects_bytes.is_none() && self.spec.connections > 1 {
            self.waiting.clear();
            self.split = Some(Split {
                pieces: Pieces::new(size),
                length_known: false,
            });
            self.take_next(world, 0);
        } else {
            for lane in 0..self.lanes.len() {
                self.take_next(world, lane);
            }
        }
    }

    /// What is to be done next, if anything.
    pub(super) fn next_wanted(&mut self) -> Option<Wanted> {
        let Some(split) = &mut self.split else {
            return self.waiting.pop();
        };
        let piece = split.pieces.take()?;
        let object = self.object.unwrap_or(1);
        let whole = Wanted::whole(object, self.spec.size_bytes.unwrap_or(0));
        Some(Wanted {
            piece: Some(piece),
            ..whole
        })
    }

    /// Begins the next item on a free lane, if there is one.
    pub(super) fn take_next(&mut self, world: &mut World, lane: usize) {
        if self.lanes[lane].failed || self.lanes[lane].item.is_some() {
            return;
        }
        let Some(wanted) = self.next_wanted() else {
            return;
        };
        let kept = self.lanes[lane].connection;
        let retransmits_before = kept.map_or(0, |id| self.retransmits(world, id));
        let flow = world.flow_number();
        self.lanes[lane].item = Some(Item {
            flow,
            exchange: Exchange::download(0),
            wanted,
            start: world.now(),
            connected: None,
            first_byte: None,
            carried: 0,
            cache: None,
            retransmits_before,
            retransmits_upstream: 0,
        });
        if let Some(id) = kept {
            world.set_flow(id, flow);
            self.ask(world, lane);
        } else {
            let id = world.connect_on(self.leg(), self.place, PORT);
            world.set_flow(id, flow);
            self.lanes[lane].connection = Some(id);
        }
    }

    /// Sends a lane's request; only now is it known how much a range is to cover.
    pub(super) fn ask(&mut self, world: &mut World, lane: usize) {
        let Lane {
            connection: Some(id),
            item: Some(item),
            ..
        } = &mut self.lanes[lane]
        else {
            return;
        };
        item.exchange = match (&self.split, item.wanted.piece) {
            (Some(split), Some(piece)) => {
                if split.length_known {
                    item.wanted.range = split.pieces.range(piece);
                }
                Exchange::range(item.wanted.bytes())
            }
            _ => match self.spec.direction {
                Direction::Down => Exchange::download(item.wanted.bytes()),
                Direction::Up => Exchange::upload(item.wanted.bytes()),
            },
        };
        world.write(*id, Side::Client, item.exchange.request_bytes());
    }

    /// An item is over: the lane goes on, and after the visit's last item the next visit begins.
    pub(super) fn end_item(
        &mut self,
        world: &mut World,
        lane: usize,
        outcome: FlowOutcome,
        after: After,
    ) {
        let Some(item) = self.lanes[lane].item.take() else {
            return;
        };
        self.report(world, lane, &item, outcome);
        let place = &mut self.lanes[lane];
        place.turn += 1;
        match (after, place.connection) {
            (After::Keep, _) | (_, None) => {}
            (After::Close, Some(id)) => {
                place.connection = None;
                world.close(id, Side::Client);
            }
            (After::Reset, Some(id)) => {
                place.connection = None;
                world.abort(id, Side::Client);
            }
            (After::Gone, Some(_)) => place.connection = None,
        }
        if let (Some(split), Some(piece), FlowOutcome::Failed) =
            (&mut self.split, item.wanted.piece, outcome)
        {
            split.pieces.give_back(piece);
            place.failed = true;
            for other in 0..self.lanes.len() {
                self.take_next(world, other);
            }
        } else {
            self.take_next(world, lane);
        }
        if self.waiting.is_empty() && self.lanes.iter().all(|lane| lane.item.is_none()) {
            self.end_visit(world);
        }
    }

    pub(super) fn end_visit(&mut self, world: &mut World) {
        self.visit += 1;
        let last = self.visit >= self.spec.fetches;
        // A page, and a file in ranges, has a program of its own, and new connections.
        if last || self.split.is_some() || self.spec.objects_bytes.is_some() {
            for lane in &mut self.lanes {
                lane.failed = false;
                if let Some(id) = lane.connection.take() {
                    world.close(id, Side::Client);
                }
            }
        }
        self.split = None;
        if !last {
            self.begin_visit(world);
        }
    }

    /// The pieces of lanes that have had no answer yet, not even its head.
    fn unanswered(&self) -> Vec<(usize, usize)> {
        let lanes = self.lanes.iter().enumerate();
        lanes
            .filter_map(|(lane, of)| {
                let item = of.item.as_ref()?;
                let piece = item.wanted.piece?;
                (!item.exchange.is_begun()).then_some((piece, lane))
            })
            .collect()
    }

    /// A lane has read more of its range: it goes on to the next piece, or elsewhere.
    pub(super) fn advance(&mut self, world: &mut World, lane: usize) {
        let unanswered = self.unanswered();
        let mut cancelled = Vec::new();
        let (Some(split), Some(item)) = (&mut self.split, &mut self.lanes[lane].item) else {
            return;
        };
        let Wanted {
            range,
            piece: Some(piece),
            ..
        } = &mut item.wanted
        else {
            return;
        };
        let after = loop {
            let end = split.pieces.end(*piece);
            if range.start + item.carried < end {
                break None;
            }
            split.pieces.arrived(*piece);
            if end >= range.end {
                break Some(After::Keep);
            }
            let idle = unanswered.iter().find(|(held, _)| *held == *piece + 1);
            if let Some(&(next, owner)) = idle {
                cancelled.push(owner);
                *piece = next;
            } else if let Some(next) = split.pieces.take_after(*piece) {
                *piece = next;
            } else {
                item.carried = end - range.start;
                break Some(After::Reset);
            }
        };
        for owner in cancelled {
            self.end_item(world, owner, FlowOutcome::Finished, After::Reset);
        }
        if let Some(after) = after {
            self.end_item(world, lane, FlowOutcome::Finished, after);
        }
    }
}
