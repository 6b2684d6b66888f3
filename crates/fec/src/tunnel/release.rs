//! In which order packets leave the tunnel.

use super::Arrival;
use bentpipe_base::{Nanos, Time};
use core::ops::Range;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseOrder {
    /// A packet leaves when it is known.
    AsTheyCome,
    /// A packet waits for those before it, but no longer than `hold`. One that comes after its turn leaves at once.
    InOrder { hold: Nanos },
}

/// A packet that leaves the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released<'a> {
    pub packet: &'a [u8],
    /// The first packet of the tunnel has the number 0.
    pub number: u64,
    pub arrival: Arrival,
    /// How long it waited for those before it.
    pub held: Nanos,
}

/// The order of numbers; it has no packets.
#[derive(Clone, Debug)]
pub(crate) struct Releases {
    hold: Option<Nanos>,
    /// In order: all before it have left, or had to leave without some.
    next: u64,
    /// Waiting packets with their latest time, in the order of arrival. Some have left meanwhile.
    waiting: VecDeque<(Time, u64)>,
    /// What leaves now.
    ready: VecDeque<u64>,
}

impl Releases {
    pub fn new(order: ReleaseOrder) -> Self {
        Self {
            hold: match order {
                ReleaseOrder::AsTheyCome => None,
                ReleaseOrder::InOrder { hold } => Some(hold),
            },
            next: 0,
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// A packet is known from now on.
    pub fn on_known(&mut self, now: Time, id: u64, is_known: impl Fn(u64) -> bool) {
        match self.hold {
            Some(hold) if id > self.next => self.waiting.push_back((now + hold, id)),
            Some(_) if id == self.next => self.release_from_next(is_known),
            _ => self.ready.push_back(id),
        }
    }

    fn release_from_next(&mut self, is_known: impl Fn(u64) -> bool) {
        while is_known(self.next) {
            self.ready.push_back(self.next);
            self.next += 1;
        }
        while self.waiting.front().is_some_and(|it| it.1 < self.next) {
            self.waiting.pop_front();
        }
    }

    /// Packets that have waited long enough leave without those before them.
    pub fn expire(&mut self, now: Time, kept: &Range<u64>, is_known: impl Fn(u64) -> bool) {
        while let Some((_, id)) = self.waiting.pop_front_if(|it| it.0 <= now) {
            self.leave_before(id, kept, &is_known);
            self.release_from_next(&is_known);
        }
    }

    /// Whatever waits with a number before this one leaves.
    pub fn leave_before(&mut self, first: u64, kept: &Range<u64>, is_known: impl Fn(u64) -> bool) {
        if self.hold.is_some() && self.next < first {
            let here = self.next.max(kept.start)..first.min(kept.end);
            self.ready.extend(here.filter(|&id| is_known(id)));
            self.next = first;
        }
    }

    pub fn next_ready(&mut self) -> Option<u64> {
        self.ready.pop_front()
    }

    /// Takes the ready numbers before `first` out of their turn.
    pub fn take_ready_before(&mut self, first: u64, mut take: impl FnMut(u64)) {
        self.ready.retain(|&id| {
            if id < first {
                take(id);
            }
            id >= first
        });
    }

    pub fn next_time(&self) -> Option<Time> {
        self.waiting.front().map(|it| it.0)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.waiting.len() + self.ready.len()
    }
}
