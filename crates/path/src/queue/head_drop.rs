//! First in, first out; a full queue drops the oldest waiting packets to make room for the arriving one.
//!
//! An arrival for which there is no room even in an empty queue is dropped itself, and what waits stays.

use super::fifo::Fifo;
use super::{QueueDiscipline, Room, Tally, Waiting};
use crate::packet::Packet;
use crate::time::Time;
use crate::totals::Count;

#[derive(Debug)]
pub(crate) struct HeadDrop<P> {
    fifo: Fifo<P>,
}

impl<P> HeadDrop<P> {
    pub fn new() -> Self {
        Self { fifo: Fifo::new() }
    }
}

impl<P: Packet> QueueDiscipline<P> for HeadDrop<P> {
    fn enqueue(&mut self, _now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally) {
        if !room.takes(Count::default(), arrival.bytes) {
            tally.tail.add(arrival.bytes);
            return;
        }
        while !room.takes(self.fifo.depth(), arrival.bytes) {
            let Some(oldest) = self.fifo.pop() else {
                break;
            };
            tally.tail.add(oldest.bytes);
        }
        self.fifo.push(arrival);
    }

    fn dequeue(&mut self, _now: Time, _tally: &mut Tally) -> Option<Waiting<P>> {
        self.fifo.pop()
    }

    fn depth(&self) -> Count {
        self.fifo.depth()
    }
}
