//! All connections of a capture, as many as there is room for: beyond that the smallest are given up, and counted.

use crate::connection::Connection;
use crate::copies::Copies;
use crate::segment::{Endpoint, Segment};
use std::collections::HashMap;

/// Connections that are followed at once or remembered.
const MOST: usize = 8192;
/// Those that stay when there are too many: the largest, and the youngest of the rest.
const KEPT: usize = MOST / 2;
/// Rows of all timelines together; beyond that bins become wider.
const MOST_ROWS: usize = 400_000;
/// Events of all flows together; beyond that each keeps the first so many.
const MOST_EVENTS: usize = 1_000_000;
const EVENTS_THEN: usize = 500;
/// How often rows and events are counted, in packets.
const COUNT_EVERY: u64 = 1 << 16;

type Key = (Endpoint, Endpoint);

#[derive(Debug, Default)]
pub struct Connections {
    by_key: HashMap<Key, usize>,
    /// Finished ones too, in the order in which they began.
    all: Vec<Connection>,
    last: Option<(Key, usize)>,
    copies: Copies,
    packets: u64,
    given_up: GivenUp,
}

/// Connections that there was no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenUp {
    pub connections: u64,
    pub payload_bytes: u64,
}

impl Connections {
    #[inline]
    pub fn pass(&mut self, at_ns: i64, segment: &Segment) {
        self.packets += 1;
        if self.packets.is_multiple_of(COUNT_EVERY) {
            self.limit_memory();
        }
        let key = (segment.from.min(segment.to), segment.from.max(segment.to));
        let index = match self.last {
            Some((last, index)) if last == key => Some(index),
            _ => self.by_key.get(&key).copied(),
        };
        let index = match index {
            Some(index) if !self.all[index].is_succeeded_by(segment) => index,
            _ => self.open(key, at_ns, segment),
        };
        self.last = Some((key, index));
        let copy_of_ns = self.copies.passed_ago_ns(at_ns, segment);
        self.all[index].pass_once(at_ns, segment, copy_of_ns);
    }

    fn open(&mut self, key: Key, at_ns: i64, segment: &Segment) -> usize {
        if self.all.len() == MOST {
            self.give_up();
        }
        self.all.push(Connection::new(at_ns, segment));
        let index = self.all.len() - 1;
        self.by_key.insert(key, index);
        index
    }

    fn give_up(&mut self) {
        let mut sizes: Vec<(u64, usize)> = (self.all.iter().enumerate())
            .map(|(index, it)| (it.payload_bytes(), index))
            .collect();
        // The largest first, of equals the youngest.
        sizes.sort_unstable_by(|one, other| other.cmp(one));
        let mut stays = vec![false; self.all.len()];
        for &(_, index) in &sizes[..KEPT] {
            stays[index] = true;
        }
        let mut new_index = vec![None; stays.len()];
        let mut kept = Vec::with_capacity(MOST);
        for (index, connection) in self.all.drain(..).enumerate() {
            if stays[index] {
                new_index[index] = Some(kept.len());
                kept.push(connection);
            } else {
                self.given_up.connections += 1;
                self.given_up.payload_bytes += connection.payload_bytes();
            }
        }
        self.all = kept;
        self.by_key.retain(|_, index| match new_index[*index] {
            Some(new) => {
                *index = new;
                true
            }
            None => false,
        });
        self.last = None;
    }

    fn limit_memory(&mut self) {
        let flows = self.all.iter().flat_map(|it| &it.flows);
        let events: usize = flows.map(|flow| flow.events.as_slice().len()).sum();
        if events > MOST_EVENTS {
            for flow in self.all.iter_mut().flat_map(|it| &mut it.flows) {
                flow.events.limit(EVENTS_THEN);
            }
        }
        let rows: usize = (self.all.iter())
            .flat_map(|it| &it.flows)
            .map(|flow| flow.timeline.rows().len())
            .sum();
        if rows > MOST_ROWS {
            let flows = self.all.iter_mut().flat_map(|it| &mut it.flows);
            for flow in flows.filter(|flow| flow.timeline.rows().len() > 16) {
                flow.timeline.widen();
            }
        }
    }

    /// All connections, in the order in which they began, and those that were given up.
    pub fn finish(mut self) -> (Vec<Connection>, GivenUp) {
        for connection in &mut self.all {
            connection.finish();
        }
        (self.all, self.given_up)
    }
}
