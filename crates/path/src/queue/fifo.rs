//! First in, first out; a full queue drops the arriving packet (tail drop).

use super::{QueueDiscipline, Room, Tally, Waiting};
use crate::packet::Packet;
use crate::time::Time;
use crate::totals::Count;
use std::collections::VecDeque;

#[derive(Debug)]
pub(crate) struct Fifo<P> {
    waiting: VecDeque<Waiting<P>>,
    depth: Count,
}

impl<P> Fifo<P> {
    pub fn new() -> Self {
        Self {
            waiting: VecDeque::new(),
            depth: Count::default(),
        }
    }

    #[inline]
    pub fn push(&mut self, arrival: Waiting<P>) {
        self.depth.add(arrival.bytes);
        self.waiting.push_back(arrival);
    }

    #[inline]
    pub fn pop(&mut self) -> Option<Waiting<P>> {
        let head = self.waiting.pop_front()?;
        self.depth.remove(head.bytes);
        Some(head)
    }

    pub fn depth(&self) -> Count {
        self.depth
    }
}

impl<P: Packet> QueueDiscipline<P> for Fifo<P> {
    fn enqueue(&mut self, _now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally) {
        if room.takes(self.depth, arrival.bytes) {
            self.push(arrival);
        } else {
            tally.tail.add(arrival.bytes);
        }
    }

    /// As [`enqueue`](Self::enqueue) and [`dequeue`](Self::dequeue) would, without moving the packet through the queue.
    #[inline]
    fn pass(&mut self, _now: Time, arrival: Waiting<P>, _tally: &mut Tally) -> Option<Waiting<P>> {
        debug_assert_eq!(self.depth.packets, 0);
        Some(arrival)
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.pop()
    }

    fn depth(&self) -> Count {
        self.depth
    }
}
