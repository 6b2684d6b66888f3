//! Propagation: the delay line, with jitter, order kept or not, and a limit on what it holds.

mod jitter;

use crate::config::{LineLimit, PropagationConfig};
use crate::error::{ConfigError, span};
use crate::handover::Steps;
use crate::queue::Waiting;
use crate::time::{Nanos, Time};
use crate::totals::Count;
use bentpipe_base::EventQueue;
pub(crate) use jitter::Jitter;
use std::collections::VecDeque;

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
    Kept(VecDeque<(Time, Waiting<P>)>),
    /// Each leaves at its own time; those of the same time in order of arrival.
    Free(EventQueue<Waiting<P>>),
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
            Order::Free(EventQueue::default())
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
            Order::Kept(line) => line.front().map(|&(leaves, _)| leaves),
            Order::Free(queue) => queue.next_time(),
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
            Order::Free(queue) => queue.len(),
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
                if let Some(&(last, _)) = line.back() {
                    leaves = leaves.max(last);
                }
                line.push_back((leaves, packet));
            }
            Order::Free(queue) => queue.push(leaves, packet),
        }
        Ok(())
    }

    pub fn leave(&mut self) -> Option<(Time, Waiting<P>)> {
        let (leaves, packet) = match &mut self.order {
            Order::Kept(line) => line.pop_front(),
            Order::Free(queue) => queue.pop(),
        }?;
        self.bytes -= u64::from(packet.bytes);
        Some((leaves, packet))
    }
}
