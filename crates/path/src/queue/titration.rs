//! Titration: repairs of a coded tunnel wait in a place of their own, before any discipline, and enter the queue when it has room.
//!
//! Speidel and others titrate so before a satellite modem's queue, whose other packets then never lose their place to a repair.
//! 1. A repair enters while the queue holds at most a stated number of bytes with it, in the order of arrival. An empty queue always
//!    takes one.
//! 2. A repair that has waited longer than a stated time is dropped: the receiver no longer waits for what it could give.
//! 3. The place holds as many bytes as the queue may hold for a repair to enter. Beyond them the oldest is dropped.
//!
//! What is dropped here counts as dropped by the discipline. Repairs that wait are no part of the queue's length, and their
//! time in the queue begins when they enter it.

use super::{Queue, QueueDiscipline, Room, Tally, Waiting};
use crate::config::{QueueConfig, TitrationConfig};
use crate::error::{ConfigError, span};
use crate::packet::Packet;
use crate::time::Time;
use crate::totals::Count;
use std::collections::VecDeque;

/// A queue, and before it the repairs that wait to enter.
#[derive(Debug)]
pub(crate) struct TitratedQueue<P> {
    queue: Queue<P>,
    /// `None`: repairs are packets like others.
    config: Option<TitrationConfig>,
    repairs: VecDeque<Waiting<P>>,
    waiting: Count,
    /// What the queue itself may hold, as last said.
    room: Room,
}

impl<P: Packet> TitratedQueue<P> {
    pub fn new(queue: Queue<P>, config: &QueueConfig) -> Result<Self, ConfigError> {
        if let Some(titration) = &config.titration {
            span("queue.titration.max_age_ns", titration.max_age_ns)?;
        }
        Ok(Self {
            queue,
            config: config.titration,
            repairs: VecDeque::new(),
            waiting: Count::default(),
            room: Room::UNLIMITED,
        })
    }

    /// What has entered the queue.
    #[inline]
    pub fn entered(&self) -> Count {
        self.queue.depth()
    }

    fn next_repair(&mut self) -> Option<Waiting<P>> {
        let repair = self.repairs.pop_front()?;
        self.waiting.remove(repair.bytes);
        Some(repair)
    }

    fn drop_oldest(&mut self, tally: &mut Tally) {
        if let Some(oldest) = self.next_repair() {
            tally.aqm.add(oldest.bytes);
        }
    }

    fn wait(&mut self, repair: Waiting<P>, config: &TitrationConfig, tally: &mut Tally) {
        self.waiting.add(repair.bytes);
        self.repairs.push_back(repair);
        while self.waiting.bytes > config.room_bytes {
            self.drop_oldest(tally);
        }
    }

    /// Repairs that are too old leave, and those for which there is room enter.
    fn admit(&mut self, now: Time, config: &TitrationConfig, tally: &mut Tally) {
        while let Some(oldest) = self.repairs.front() {
            if now - oldest.arrived > config.max_age_ns {
                self.drop_oldest(tally);
                continue;
            }
            let held = self.queue.depth();
            let fits = held.bytes + u64::from(oldest.bytes) <= config.room_bytes;
            if held.packets > 0 && !fits {
                break;
            }
            if let Some(repair) = self.next_repair() {
                let entering = Waiting {
                    arrived: now,
                    ..repair
                };
                self.queue.enqueue(now, entering, self.room, tally);
            }
        }
    }
}

impl<P: Packet> QueueDiscipline<P> for TitratedQueue<P> {
    #[inline]
    fn enqueue(&mut self, now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally) {
        if let Some(config) = self.config {
            self.room = room;
            if arrival.packet.is_repair() {
                self.wait(arrival, &config, tally);
            } else {
                self.queue.enqueue(now, arrival, room, tally);
            }
            self.admit(now, &config, tally);
        } else {
            self.queue.enqueue(now, arrival, room, tally);
        }
    }

    #[inline]
    fn pass(&mut self, now: Time, arrival: Waiting<P>, tally: &mut Tally) -> Option<Waiting<P>> {
        self.queue.pass(now, arrival, tally)
    }

    #[inline]
    fn dequeue(&mut self, now: Time, tally: &mut Tally) -> Option<Waiting<P>> {
        let Some(config) = self.config else {
            return self.queue.dequeue(now, tally);
        };
        loop {
            self.admit(now, &config, tally);
            let next = self.queue.dequeue(now, tally);
            if next.is_some() || self.repairs.is_empty() {
                self.admit(now, &config, tally);
                return next;
            }
        }
    }

    /// With the repairs that wait.
    #[inline]
    fn depth(&self) -> Count {
        self.queue.depth() + self.waiting
    }
}
