//! `CoDel`: controlled delay (RFC 8289), by itself and as the part that FQ-CoDel has in each queue.
//!
//! Follows the RFC's pseudocode (section 5), with these choices:
//! 1. `maxpacket` is the MTU from the start; the RFC learns it from what passes.
//! 2. With ECN a packet that may be marked is marked and sent where it would be dropped, and no other is taken in its
//!    place (as Linux, `include/net/codel_impl.h`).
//! 3. The control law's square root is that of the machine's floats, not the RFC's optional approximation.

use super::fifo::Fifo;
use super::{QueueDiscipline, Room, Tally, Waiting, mark};
use crate::error::{ConfigError, positive, span};
use crate::packet::Packet;
use crate::time::{Nanos, Time};
use crate::totals::Count;

#[derive(Clone, Copy, Debug)]
pub(crate) struct CodelParameters {
    pub target: Nanos,
    pub interval: Nanos,
    pub ecn: bool,
    pub mtu: u32,
}

impl CodelParameters {
    /// RFC 8289, section 4.2 and 4.3: 5 ms and 100 ms where nothing is given.
    pub fn new(
        target: Option<Nanos>,
        interval: Option<Nanos>,
        ecn: bool,
        mtu: u32,
    ) -> Result<Self, ConfigError> {
        let target = target.unwrap_or(Nanos::from_millis(5));
        let interval = interval.unwrap_or(Nanos::from_millis(100));
        for (name, value) in [("target_ns", target), ("interval_ns", interval)] {
            let field = format!("queue.discipline.{name}");
            positive(field.as_str(), span(field.as_str(), value)?.0)?;
        }
        Ok(Self {
            target,
            interval,
            ecn,
            mtu,
        })
    }
}

/// Where [`CodelState`] takes packets from.
pub(crate) trait Source<P> {
    fn pop(&mut self) -> Option<Waiting<P>>;
    /// What still waits, for the rule that the last MTU is never dropped.
    fn bytes(&self) -> u64;
}

/// The state of one queue under `CoDel`, named as in the RFC.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CodelState {
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CodelState {
    pub fn dequeue<P: Packet>(
        &mut self,
        now: Time,
        source: &mut impl Source<P>,
        parameters: &CodelParameters,
        tally: &mut Tally,
    ) -> Option<Waiting<P>> {
        let (mut head, mut ok_to_drop) = self.take(now, source, parameters);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                let mut dropped = head?;
                self.count += 1;
                if parameters.ecn && mark(&mut dropped, tally) {
                    self.drop_next = self.control_law(self.drop_next, parameters);
                    return Some(dropped);
                }
                tally.aqm.add(dropped.bytes);
                (head, ok_to_drop) = self.take(now, source, parameters);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, parameters);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let mut dropped = head?;
            if parameters.ecn && mark(&mut dropped, tally) {
                head = Some(dropped);
            } else {
                tally.aqm.add(dropped.bytes);
                (head, _) = self.take(now, source, parameters);
            }
            self.dropping = true;
            let delta = self.count - self.last_count;
            let recent = now - self.drop_next < Nanos(16 * parameters.interval.0);
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.control_law(now, parameters);
            self.last_count = self.count;
        }
        head
    }

    /// The next packet, and whether the queue has been above target for long enough to drop it.
    fn take<P>(
        &mut self,
        now: Time,
        source: &mut impl Source<P>,
        parameters: &CodelParameters,
    ) -> (Option<Waiting<P>>, bool) {
        let Some(head) = source.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn = now - head.arrived;
        let mut ok_to_drop = false;
        if sojourn < parameters.target || source.bytes() <= u64::from(parameters.mtu) {
            self.first_above_time = None;
        } else if let Some(first_above) = self.first_above_time {
            ok_to_drop = now >= first_above;
        } else {
            self.first_above_time = Some(now + parameters.interval);
        }
        (Some(head), ok_to_drop)
    }

    fn control_law(&self, from: Time, parameters: &CodelParameters) -> Time {
        from + Nanos((parameters.interval.0 as f64 / f64::from(self.count).sqrt()) as i64)
    }
}

#[derive(Debug)]
pub(crate) struct Codel<P> {
    fifo: Fifo<P>,
    control: CodelState,
    parameters: CodelParameters,
}

impl<P> Codel<P> {
    pub fn new(parameters: CodelParameters) -> Self {
        Self {
            fifo: Fifo::new(),
            control: CodelState::default(),
            parameters,
        }
    }
}

impl<P> Source<P> for Fifo<P> {
    fn pop(&mut self) -> Option<Waiting<P>> {
        Fifo::pop(self)
    }

    fn bytes(&self) -> u64 {
        self.depth().bytes
    }
}

impl<P: Packet> QueueDiscipline<P> for Codel<P> {
    fn enqueue(&mut self, _now: Time, arrival: Waiting<P>, room: Room, tally: &mut Tally) {
        if room.takes(self.fifo.depth(), arrival.bytes) {
            self.fifo.push(arrival);
        } else {
            tally.tail.add(arrival.bytes);
        }
    }

    fn dequeue(&mut self, now: Time, tally: &mut Tally) -> Option<Waiting<P>> {
        self.control
            .dequeue(now, &mut self.fifo, &self.parameters, tally)
    }

    fn depth(&self) -> Count {
        self.fifo.depth()
    }
}
