//! Goodput: TCP payload bytes that pass for the first time, that is, sequence space not seen before at this point.
//!
//! Per flow a 64-bit unwrapped count of what has been seen without a gap, and the islands beyond it, in order. So
//! retransmission, reordering and wrap-around count right, and memory is what is out of order, not what has passed.
//! - A SYN opens a new sequence space, unless it repeats the one that opened the present space.
//! - A flow first seen without its SYN begins at the first byte seen.
//! - Sequence numbers more than TCP's largest window (2^30, RFC 7323) away from the edge begin a new space too.
//! - A flow is forgotten some time after two minutes without payload (the longest retransmission timeout of Linux):
//!   flows are looked through when their number has doubled, so the cost per packet stays constant.

use crate::packet::{FlowKey, SequenceRange};
use crate::time::{Nanos, Time};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

const LARGEST_WINDOW: u32 = 1 << 30;
const FORGOTTEN_AFTER: Nanos = Nanos::from_secs(120);
const FEWEST_LOOKED_THROUGH: usize = 1024;

/// Counts the first passage of each byte of any number of flows.
#[derive(Debug)]
pub struct Goodput {
    places: HashMap<FlowKey, usize, BuildHasherDefault<Mixer>>,
    flows: Vec<SeenFlow>,
    /// Places in `flows` of flows that were forgotten; their buffers are used again.
    free: Vec<usize>,
    /// The flow of the last segment, which is most often that of the next.
    last: Option<(FlowKey, usize)>,
    look_through_at: usize,
}

#[derive(Debug, Default)]
struct SeenFlow {
    key: FlowKey,
    /// First payload byte of the space.
    opened: u32,
    /// Everything before this has been seen; begins at 2^32 plus the first sequence number, so it cannot run below 0.
    edge: u64,
    /// Seen beyond the edge: apart from it and from each other, in order.
    islands: VecDeque<(u64, u64)>,
    active: Time,
}

impl Default for Goodput {
    fn default() -> Self {
        Self::new()
    }
}

impl Goodput {
    pub fn new() -> Self {
        Self {
            places: HashMap::default(),
            flows: Vec::new(),
            free: Vec::new(),
            last: None,
            look_through_at: FEWEST_LOOKED_THROUGH,
        }
    }

    /// Flows that are remembered.
    pub fn flows(&self) -> usize {
        self.places.len()
    }

    /// Payload bytes of `segment` that were not seen before. Times must not go back by more than two minutes.
    pub fn count(&mut self, now: Time, flow: FlowKey, segment: SequenceRange) -> u32 {
        if segment.payload_bytes == 0 && !segment.syn {
            return 0;
        }
        let place = match self.last {
            Some((key, place)) if key == flow => place,
            _ => self.find(now, flow, segment),
        };
        self.last = Some((flow, place));
        self.flows[place].count(now, segment)
    }

    fn find(&mut self, now: Time, key: FlowKey, segment: SequenceRange) -> usize {
        if let Some(&place) = self.places.get(&key) {
            return place;
        }
        if self.places.len() >= self.look_through_at {
            self.forget_idle(now);
        }
        let place = self.free.pop().unwrap_or_else(|| {
            self.flows.push(SeenFlow::default());
            self.flows.len() - 1
        });
        self.places.insert(key, place);
        let flow = &mut self.flows[place];
        flow.key = key;
        flow.open(segment.seq);
        place
    }

    fn forget_idle(&mut self, now: Time) {
        self.last = None;
        let (flows, free) = (&mut self.flows, &mut self.free);
        self.places.retain(|_, &mut place| {
            let keep = now - flows[place].active < FORGOTTEN_AFTER;
            if !keep {
                free.push(place);
            }
            keep
        });
        self.look_through_at = FEWEST_LOOKED_THROUGH.max(2 * self.places.len());
    }
}

impl SeenFlow {
    fn open(&mut self, seq: u32) {
        self.opened = seq;
        self.edge = (1 << 32) + u64::from(seq);
        self.islands.clear();
    }

    fn count(&mut self, now: Time, segment: SequenceRange) -> u32 {
        self.active = now;
        let mut ahead = segment.seq.wrapping_sub(self.edge as u32) as i32;
        let reopens = segment.syn && segment.seq != self.opened;
        if reopens || ahead.unsigned_abs() > LARGEST_WINDOW {
            self.open(segment.seq);
            ahead = 0;
        }
        let start = self.edge.saturating_add_signed(i64::from(ahead));
        let end = start + u64::from(segment.payload_bytes);
        if start <= self.edge {
            self.extend_edge(end)
        } else {
            self.insert(start, end)
        }
    }

    /// Seen now: everything up to `end`.
    fn extend_edge(&mut self, end: u64) -> u32 {
        if end <= self.edge {
            return 0;
        }
        let mut fresh = end - self.edge;
        self.edge = end;
        while let Some(&(from, to)) = self.islands.front() {
            if from > self.edge {
                break;
            }
            fresh -= to.min(end) - from.min(end);
            self.edge = self.edge.max(to);
            self.islands.pop_front();
        }
        fresh as u32
    }

    /// Seen now: `start..end`, beyond the edge.
    fn insert(&mut self, start: u64, end: u64) -> u32 {
        if start == end {
            return 0;
        }
        let mut fresh = end - start;
        // Islands that touch the new one become part of it.
        let first = self.islands.partition_point(|&(_, to)| to < start);
        let (mut from, mut to) = (start, end);
        let mut touched = 0;
        for &(old_from, old_to) in self.islands.range(first..) {
            if old_from > end {
                break;
            }
            fresh -= old_to.min(end).saturating_sub(old_from.max(start));
            from = from.min(old_from);
            to = to.max(old_to);
            touched += 1;
        }
        if touched == 0 {
            self.islands.insert(first, (from, to));
        } else {
            self.islands[first] = (from, to);
            self.islands.drain(first + 1..first + touched);
        }
        fresh as u32
    }
}

/// Spreads a flow key over 64 bits by one multiplication; keys need not be hashes themselves.
#[derive(Debug, Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        let product = u128::from(self.0 ^ key) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
