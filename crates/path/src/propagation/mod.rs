//! Propagation: the delay line, with jitter, order kept or not, and a limit on what it holds.

mod jitter;

use crate::config::{LineLimit, PropagationConfig};
use crate::error::{ConfigError, span};
use crate::handover::Steps;
use crate::queue::Waiting;
use crate::time::{Nanos, Time};
use crate::totals::Count;
pub(crate) use jitter::Jitter;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What is under way. A packet counts against the limit until the instant at which it leaves the line.
#[derive(Debug)]
pub(crate) struct Line<P> {
    delay: Nanos,
    /// With the jitter and the step that shorten it most.
    least_delay: Nanos,
    jitter: Option<Jitter>,
    steps: Option<Steps>,
    limit: LineLimit,
    bytes: u64,
    order: Order<P>,
}

#[derive(Debug)]
enum Order<P> {
    /// A packet leaves no earlier than the one before it.
    Kept(VecDeque<Passage<P>>),
    /// Each leaves at its own time; those of the same time in order of arrival.
    Free {
        heap: BinaryHeap<Reverse<Passage<P>>>,
        entered: u64,
    },
}

#[derive(Debug)]
struct Passage<P> {
    leaves: Time,
    order: u64,
    packet: Waiting<P>,
}

impl<P> PartialEq for Passage<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl<P> Eq for Passage<P> {}
impl<P> PartialOrd for Passage<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<P> Ord for Passage<P> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.leaves, self.order).cmp(&(other.leaves, other.order))
    }
}

impl<P> Line<P> {
    pub fn new(config: &PropagationConfig, seed: u64, place: &str) -> Result<Self, ConfigError> {
        let delay = span("propagation.delay_ns", config.delay_ns)?;
        let jitter = match &config.jitter {
            Some(jitter) => Some(Jitter::new(
                jitter,
                seed,
                &format!("{place}/propagation/jitter"),
            )?),
            None => None,
        };
        let order = if config.jitter.is_some_and(|jitter| jitter.reorder) {
            Order::Free {
                heap: BinaryHeap::new(),
                entered: 0,
            }
        } else {
            Order::Kept(VecDeque::new())
        };
        let steps = match &config.handover {
            Some(handover) => Some(Steps::new(handover, seed)?),
            None => None,
        };
        let stepped = config
            .handover
            .map_or(Nanos::ZERO, |handover| Nanos(-handover.step_ns.0));
        let shortened = stepped + jitter.as_ref().map_or(Nanos::ZERO, Jitter::least);
        Ok(Self {
            delay,
            least_delay: (delay + shortened).max(Nanos::ZERO),
            jitter,
            steps,
            limit: config.limit,
            bytes: 0,
            order,
        })
    }

    /// No packet that enters from `at` on leaves before this.
    pub fn earliest_exit(&self, at: Time) -> Time {
        at + self.least_delay
    }

    pub fn next_exit(&self) -> Option<Time> {
        match &self.order {
            Order::Kept(line) => line.front().map(|passage| passage.leaves),
            Order::Free { heap, .. } => heap.peek().map(|Reverse(passage)| passage.leaves),
        }
    }

    /// What is on the line.
    pub fn held(&self) -> Count {
        Count {
            packets: self.packets() as u64,
            bytes: self.bytes,
        }
    }

    fn packets(&self) -> usize {
        match &self.order {
            Order::Kept(line) => line.len(),
            Order::Free { heap, .. } => heap.len(),
        }
    }

    /// Puts a packet on the line, or gives it back where the line is full.
    pub fn enter(&mut self, now: Time, packet: Waiting<P>) -> Result<(), Waiting<P>> {
        let bytes = u64::from(packet.bytes);
        let fits = match self.limit {
            LineLimit::Unlimited => true,
            LineLimit::Packets { packets } => (self.packets() as u64) < packets,
            LineLimit::Bytes { bytes: limit } => self.bytes + bytes <= limit,
        };
        if !fits {
            return Err(packet);
        }
        self.bytes += bytes;
        let jitter = self.jitter.as_mut().map_or(Nanos::ZERO, Jitter::draw);
        let step = self
            .steps
            .as_mut()
            .map_or(Nanos::ZERO, |steps| steps.offset(now));
        let delay = (self.delay + jitter + step).max(Nanos::ZERO);
        let mut leaves = now + delay;
        match &mut self.order {
            Order::Kept(line) => {
                if let Some(last) = line.back() {
                    leaves = leaves.max(last.leaves);
                }
                line.push_back(Passage {
                    leaves,
                    order: 0,
                    packet,
                });
            }
            Order::Free { heap, entered } => {
                *entered += 1;
                heap.push(Reverse(Passage {
                    leaves,
                    order: *entered,
                    packet,
                }));
            }
        }
        Ok(())
    }

    pub fn leave(&mut self) -> Option<(Time, Waiting<P>)> {
        let passage = match &mut self.order {
            Order::Kept(line) => line.pop_front(),
            Order::Free { heap, .. } => heap.pop().map(|Reverse(passage)| passage),
        }?;
        self.bytes -= u64::from(passage.packet.bytes);
        Some((passage.leaves, passage.packet))
    }
}
