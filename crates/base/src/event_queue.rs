//! The event queue: a binary heap of instants, ties broken by insertion order.

use crate::time::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Reverse<Entry<E>>>,
    inserted: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    order: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self {
            heap: BinaryHeap::new(),
            inserted: 0,
        }
    }
}

impl<E> EventQueue<E> {
    pub fn push(&mut self, at: Time, event: E) {
        self.heap.push(Reverse(Entry {
            at,
            order: self.inserted,
            event,
        }));
        self.inserted += 1;
    }

    pub fn next_time(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.0.at)
    }

    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.heap
            .pop()
            .map(|Reverse(entry)| (entry.at, entry.event))
    }

    /// What [`pop`](Self::pop) would take.
    pub fn first(&self) -> Option<(Time, &E)> {
        self.heap
            .peek()
            .map(|Reverse(entry)| (entry.at, &entry.event))
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_one_instant_come_out_in_the_order_they_went_in() {
        let mut queue = EventQueue::default();
        for name in ["a", "b", "c"] {
            queue.push(Time(5), name);
        }
        queue.push(Time(4), "first");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop())
            .map(|(_, name)| name)
            .collect();
        assert_eq!(order, ["first", "a", "b", "c"]);
    }
}
