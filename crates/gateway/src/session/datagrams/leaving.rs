//! Datagrams that wait to be sent.

use super::{DatagramFigures, RECORD_BYTES};
use crate::datagram::Piece;
use crate::flow::FlowId;
use bentpipe_base::{Nanos, OrderedMap, OrderedSet, Time};
use std::collections::VecDeque;

/// A piece with fewer bytes than these does not fill a packet's end.
const LEAST_PIECE: usize = 64;

#[derive(Debug)]
struct Waiting {
    since: Time,
    frame: Vec<u8>,
    /// Of a frame in pieces: its number, and the bytes of it that were sent.
    number: u64,
    sent: usize,
}

impl Waiting {
    fn cost(&self) -> u64 {
        self.frame.len() as u64 + RECORD_BYTES
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

/// What became of an attempt to write a flow's next datagram into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Wrote {
    /// It, or a piece of it.
    Some,
    /// The packet has no room for it.
    NoRoom,
    /// The flow has none.
    Nothing,
}

/// All flows' datagrams. Together they take a bounded number of bytes.
#[derive(Debug)]
pub(in crate::session) struct Leaving {
    /// Only those that have some.
    queues: OrderedMap<FlowId, Queue>,
    /// The same, by their bytes.
    by_bytes: OrderedSet<(u64, FlowId)>,
    bytes: u64,
    most: u64,
    wait: Nanos,
    next_number: u64,
    /// Which flow was served last in rotation.
    last: FlowId,
    dropped_full: u64,
    dropped_old: u64,
    dropped_closed: u64,
}

impl Leaving {
    pub fn new(most: u64, wait: Nanos) -> Self {
        Self {
            queues: OrderedMap::new(),
            by_bytes: OrderedSet::new(),
            bytes: 0,
            most,
            wait,
            next_number: 0,
            last: FlowId(0),
            dropped_full: 0,
            dropped_old: 0,
            dropped_closed: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    pub fn has(&self, id: FlowId) -> bool {
        self.queues.contains_key(id)
    }

    /// Bytes that wait, with those of their records.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Does something to a flow's queue, and counts its bytes anew.
    fn change<R>(&mut self, id: FlowId, act: impl FnOnce(&mut Queue) -> R) -> R {
        let queue = self.queues.get_or_insert_with(id, Queue::default);
        let before = queue.bytes;
        let result = act(queue);
        let after = queue.bytes;
        if queue.waiting.is_empty() {
            self.queues.remove(id);
        }
        if before != after {
            self.by_bytes.remove((before, id));
            if after > 0 {
                self.by_bytes.insert((after, id));
            }
            self.bytes = self.bytes - before + after;
        }
        result
    }

    fn drop_first(queue: &mut Queue) {
        if let Some(first) = queue.waiting.pop_front() {
            queue.bytes -= first.cost();
        }
    }

    pub fn push(&mut self, now: Time, id: FlowId, frame: Vec<u8>) {
        let waiting = Waiting {
            since: now,
            frame,
            number: 0,
            sent: 0,
        };
        self.change(id, |queue| {
            queue.bytes += waiting.cost();
            queue.waiting.push_back(waiting);
        });
    }

    /// Where more wait than there is room for, the oldest of the flow that has most goes. Which flow that was.
    pub fn drop_if_over(&mut self) -> Option<FlowId> {
        if self.bytes <= self.most {
            return None;
        }
        let (_, id) = self.by_bytes.last()?;
        self.change(id, Self::drop_first);
        self.dropped_full += 1;
        Some(id)
    }

    pub fn forget(&mut self, id: FlowId) {
        if self.has(id) {
            self.dropped_closed += self.change(id, |queue| {
                queue.bytes = 0;
                queue.waiting.drain(..).count() as u64
            });
        }
    }

    /// The next flow in rotation, whatever its share.
    pub fn in_rotation(&mut self) -> Option<FlowId> {
        let next = self.queues.first_from(FlowId(self.last.0 + 1));
        let next = next.or_else(|| self.queues.first());
        next.map(|(id, _)| id)
    }

    /// Appends the flow's next datagram, or a piece of it. `room`: the bytes that the packet has left of `max`.
    pub fn write_next(
        &mut self,
        now: Time,
        id: FlowId,
        [room, max]: [usize; 2],
        out: &mut Vec<u8>,
    ) -> Wrote {
        if !self.has(id) {
            return Wrote::Nothing;
        }
        self.last = id;
        let wait = self.wait;
        let mut next_number = self.next_number;
        let mut old = 0;
        let wrote = self.change(id, |queue| {
            while let Some(first) = queue.waiting.front()
                && first.sent == 0
                && first.since + wait < now
            {
                Self::drop_first(queue);
                old += 1;
            }
            let Some(first) = queue.waiting.front_mut() else {
                return Wrote::Nothing;
            };
            let whole = first.frame.len();
            if first.sent == 0 && whole <= max {
                if whole > room {
                    return Wrote::NoRoom;
                }
                out.extend_from_slice(&first.frame);
                Self::drop_first(queue);
                return Wrote::Some;
            }
            let number = if first.sent == 0 {
                next_number
            } else {
                first.number
            };
            let rest = whole - first.sent;
            let header = Piece::header_bytes(number, whole, first.sent, rest.min(room));
            if room < header + rest.min(LEAST_PIECE) {
                return Wrote::NoRoom;
            }
            if first.sent == 0 {
                first.number = number;
                next_number += 1;
            }
            let bytes = rest.min(room - header);
            let piece = Piece {
                number,
                total: whole as u64,
                offset: first.sent as u64,
                bytes: &first.frame[first.sent..first.sent + bytes],
            };
            piece.write(out);
            first.sent += bytes;
            if first.sent == whole {
                Self::drop_first(queue);
            }
            Wrote::Some
        });
        self.next_number = next_number;
        self.dropped_old += old;
        wrote
    }

    pub fn figures(&self) -> DatagramFigures {
        DatagramFigures {
            dropped_full: self.dropped_full,
            dropped_old: self.dropped_old,
            dropped_closed: self.dropped_closed,
            ..DatagramFigures::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: u64 = 10_000;

    fn leaving() -> Leaving {
        Leaving::new(ROOM, Nanos::from_millis(500))
    }

    #[test]
    fn where_there_is_no_room_the_oldest_of_the_flow_that_has_most_goes() {
        let mut leaving = leaving();
        leaving.push(Time::ZERO, FlowId(2), vec![2; 100]);
        for at in 0..100_u8 {
            leaving.push(Time::ZERO, FlowId(0), vec![at; 1000]);
            while let Some(id) = leaving.drop_if_over() {
                assert_eq!(id, FlowId(0));
            }
            assert!(leaving.bytes() <= ROOM);
        }
        // Eight of 1096 bytes beside one of 196.
        assert_eq!(leaving.figures().dropped_full, 92);
        let mut out = Vec::new();
        let wrote = leaving.write_next(Time::ZERO, FlowId(0), [1200, 1200], &mut out);
        assert_eq!((wrote, out[0]), (Wrote::Some, 92));
        let wrote = leaving.write_next(Time::ZERO, FlowId(2), [200, 1200], &mut out);
        assert_eq!((wrote, out.len()), (Wrote::Some, 1100));
    }

    #[test]
    fn what_has_waited_too_long_goes_and_what_was_begun_goes_on() {
        let mut leaving = leaving();
        let mut out = Vec::new();
        leaving.push(Time::ZERO, FlowId(0), vec![1; 2000]);
        leaving.push(Time::ZERO, FlowId(0), vec![2; 100]);
        let wrote = leaving.write_next(Time::ZERO, FlowId(0), [1000, 1000], &mut out);
        assert_eq!(wrote, Wrote::Some);
        let later = Time::ZERO + Nanos::from_secs(1);
        leaving.push(later, FlowId(0), vec![3; 100]);
        while leaving.write_next(later, FlowId(0), [1000, 1000], &mut out) == Wrote::Some {}
        assert_eq!(leaving.figures().dropped_old, 1);
        // Two pieces with their headers, and the newest.
        assert!((2112..2125).contains(&out.len()), "{}", out.len());
        assert!(out.ends_with(&[3; 100]) && !out.windows(100).any(|it| it == [2; 100]));
        assert!(leaving.is_empty() && leaving.bytes() == 0);
    }

    #[test]
    fn each_flow_is_served_in_rotation() {
        let mut leaving = leaving();
        for id in [0, 2, 4] {
            leaving.push(Time::ZERO, FlowId(id), vec![1; 10]);
            leaving.push(Time::ZERO, FlowId(id), vec![1; 10]);
        }
        let mut order = Vec::new();
        while let Some(id) = leaving.in_rotation() {
            order.push(id.0);
            leaving.write_next(Time::ZERO, id, [100, 100], &mut Vec::new());
        }
        assert_eq!(order, [2, 4, 0, 2, 4, 0]);
        leaving.push(Time::ZERO, FlowId(0), vec![1; 10]);
        leaving.forget(FlowId(0));
        assert_eq!((leaving.bytes(), leaving.figures().dropped_closed), (0, 1));
    }
}
