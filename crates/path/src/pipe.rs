//! The pipe: what happens to a packet, in the model's own time.
//!
//! Lazy, as mahimahi's queues are: each call first lives through everything that the model has had happen up to
//! `now`, each thing at its own instant. So a late call changes nothing, and departures do not depend on how often
//! anyone asks. Of things at the same instant, what is furthest along goes first: a packet leaves the line, then one
//! has been sent, then one begins service, then one arrives.

use crate::channel::Channel;
use crate::config::PipeConfig;
use crate::error::{ConfigError, positive};
use crate::ingress::Ingress;
use crate::meter::{Bin, Meter};
use crate::packet::Packet;
use crate::propagation::Line;
use crate::queue::{CheckedLimit, Queue, QueueDiscipline, Tally, TitratedQueue, Waiting};
use crate::shaper::Shaper;
use crate::time::{Nanos, Time};
use crate::totals::{DropCause, Totals};
use std::collections::{VecDeque, vec_deque::Drain};

/// One direction of the path.
///
/// Times given to [`Pipe::push`], [`Pipe::pop`] and [`Pipe::finish`] are instants of the run; one that lies before the
/// pipe's present is taken as the present.
#[derive(Debug)]
pub struct Pipe<P: Packet> {
    ingress: Ingress,
    queue: TitratedQueue<P>,
    limit: CheckedLimit,
    shaper: Shaper,
    in_service: Option<(Time, Waiting<P>)>,
    line: Line<P>,
    channel: Channel,
    /// Left the pipe by the model's time, not yet taken.
    departed: VecDeque<(Time, P)>,
    meter: Meter,
    totals: Totals,
    tally: Tally,
    present: Time,
}

impl<P: Packet> Pipe<P> {
    /// `mtu` is the longest packet in bytes; `place` names the pipe (`down`, `up`) among the run's generators; `bin` is
    /// the width of the meter's bins. The error names the field that no pipe can be built from.
    pub fn new(
        config: &PipeConfig,
        mtu: u32,
        seed: u64,
        place: &str,
        bin: Nanos,
    ) -> Result<Self, ConfigError> {
        positive("mtu", mtu)?;
        positive("bin", bin.0)?;
        let shaper = Shaper::new(&config.shaper, mtu)?;
        let rate_bit_s = shaper.rate_bit_s(Time::ZERO);
        let queue = Queue::new(&config.queue, mtu, rate_bit_s, seed, place)?;
        Ok(Self {
            ingress: Ingress::new(&config.ingress, mtu, seed, place)?,
            queue: TitratedQueue::new(queue, &config.queue)?,
            limit: CheckedLimit::new(&config.queue.limit, &shaper)?,
            shaper,
            in_service: None,
            line: Line::new(&config.propagation, seed, place)?,
            channel: Channel::new(
                &config.channel,
                config.propagation.handover.as_ref(),
                seed,
                place,
            )?,
            departed: VecDeque::new(),
            meter: Meter::new(bin),
            totals: Totals::default(),
            tally: Tally::default(),
            present: Time(i64::MIN),
        })
    }

    /// A packet arrives at the pipe's entrance. What becomes of it is told by [`Pipe::pop`], or by the counts.
    pub fn push(&mut self, now: Time, packet: P) {
        let now = self.live_until(now);
        let bytes = packet.wire_bytes();
        self.totals.offered.add(bytes);
        self.meter.offered(bytes);
        if let Some(cause) = self.ingress.refuses(now, bytes) {
            self.totals.dropped[cause.index()].add(bytes);
            self.meter.dropped(cause, 1);
            return;
        }
        self.totals.held.add(bytes);
        let arrival = Waiting {
            packet,
            bytes,
            arrived: now,
        };
        let nothing_before = self.in_service.is_none() && self.queue.depth().packets == 0;
        if nothing_before && self.shaper.idle(now) {
            if let Some(arrival) = self.queue.pass(now, arrival, &mut self.tally) {
                self.serve(now, arrival);
            }
            self.settle();
        } else {
            let room = self.limit.room(now, &self.shaper);
            self.queue.enqueue(now, arrival, room, &mut self.tally);
            self.settle();
            self.meter.queue_holds(now, self.queue.entered().bytes);
        }
        self.check_conservation();
    }

    /// The next packet that has left the pipe by `now`, with the instant at which it did; call until `None`.
    pub fn pop(&mut self, now: Time) -> Option<(Time, P)> {
        if let Some(left) = self.departed.pop_front() {
            return Some(left);
        }
        let left = self.live_until_one_leaves(now);
        self.check_conservation();
        left
    }

    fn live_until_one_leaves(&mut self, now: Time) -> Option<(Time, P)> {
        loop {
            match self.step(now) {
                Step::Nothing => break,
                // A packet and its twin stand there.
                Step::Moved if !self.departed.is_empty() => return self.departed.pop_front(),
                Step::Moved => {}
                Step::Left(at, packet) => return Some((at, packet)),
            }
        }
        self.come_to(now);
        None
    }

    /// Nothing comes from nowhere and nothing is lost without a cause, and what is held is what lies in the parts.
    fn check_conservation(&self) {
        if cfg!(debug_assertions) {
            let totals = &self.totals;
            let mut parts = self.queue.depth() + self.line.held();
            if let Some((_, served)) = &self.in_service {
                parts.add(served.bytes);
            }
            assert_eq!(parts, totals.held, "queued, in service and on the line");
            assert_eq!(
                totals.offered + totals.duplicated,
                totals.delivered + totals.dropped_in_all() + totals.held,
                "in, and out or dropped or held: {totals:?}"
            );
        }
    }

    /// The earliest instant at which [`Pipe::pop`] may give something new: no packet leaves before it, but the one
    /// expected then may yet be lost. `None`: nothing is to come.
    pub fn next_time(&self) -> Option<Time> {
        if let Some(&(left, _)) = self.departed.front() {
            return Some(left);
        }
        let through_line = self.next_service().map(|at| self.line.earliest_exit(at));
        [self.line.next_exit(), through_line]
            .into_iter()
            .flatten()
            .min()
    }

    /// No packet that arrives from `arrival` on leaves before this.
    pub fn earliest_departure(&self, arrival: Time) -> Time {
        self.line.earliest_exit(arrival)
    }

    /// Ends the run at `now`: closes the meter's last bin, whole or not.
    pub fn finish(&mut self, now: Time) {
        let now = self.live_until(now);
        self.meter.finish(now);
    }

    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Takes the bins that end at or before the pipe's present, oldest first.
    pub fn take_bins(&mut self) -> Drain<'_, Bin> {
        self.meter.take_bins()
    }

    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    fn live_until(&mut self, now: Time) -> Time {
        loop {
            match self.step(now) {
                Step::Nothing => break,
                Step::Moved => {}
                Step::Left(at, packet) => self.departed.push_back((at, packet)),
            }
        }
        self.come_to(now);
        self.present
    }

    /// [`Time::NEVER`] is not an instant: asking with it drains the pipe and leaves the present at the last event.
    fn come_to(&mut self, now: Time) {
        if now > self.present && now != Time::NEVER {
            self.present = now;
            self.meter.advance(now);
        }
    }

    /// When the server next does something: ends a service or begins one.
    fn next_service(&self) -> Option<Time> {
        let at = match &self.in_service {
            Some((end, _)) => *end,
            None if self.queue.depth().packets > 0 => self.shaper.next_start(self.present),
            None => return None,
        };
        (at < Time::NEVER).then_some(at)
    }

    /// Lives through the next event at or before `now`, if there is one. What leaves stands behind all that has departed.
    #[inline]
    fn step(&mut self, now: Time) -> Step<P> {
        let service = self.next_service().unwrap_or(Time::NEVER);
        let exit = self.line.next_exit().unwrap_or(Time::NEVER);
        let at = service.min(exit);
        if at > now || at == Time::NEVER {
            return Step::Nothing;
        }
        self.come_to(at);
        if exit <= service {
            return self.leave_line();
        }
        if let Some((_, packet)) = self.in_service.take() {
            self.enter_line(at, packet);
        } else {
            self.begin_service(at);
            self.settle();
            self.meter.queue_holds(at, self.queue.entered().bytes);
        }
        Step::Moved
    }

    fn begin_service(&mut self, now: Time) {
        if let Some(next) = self.queue.dequeue(now, &mut self.tally) {
            self.serve(now, next);
        }
    }

    #[inline]
    fn serve(&mut self, now: Time, next: Waiting<P>) {
        self.meter.left_queue(now - next.arrived);
        let end = self.shaper.serve(now, next.bytes);
        self.in_service = Some((end, next));
    }

    /// Writes down what the discipline did.
    fn settle(&mut self) {
        if self.tally.is_empty() {
            return;
        }
        let tally = core::mem::take(&mut self.tally);
        for (cause, dropped) in [(DropCause::Tail, tally.tail), (DropCause::Aqm, tally.aqm)] {
            self.meter.dropped(cause, dropped.packets);
            let sum = &mut self.totals.dropped[cause.index()];
            *sum = *sum + dropped;
            self.totals.held = self.totals.held - dropped;
        }
        self.meter.marked(tally.marks);
        self.totals.marked_packets += tally.marks;
    }

    fn enter_line(&mut self, now: Time, packet: Waiting<P>) {
        if let Err(refused) = self.line.enter(now, packet) {
            self.drop_held(DropCause::Line, refused.bytes);
        }
    }

    fn drop_held(&mut self, cause: DropCause, bytes: u32) {
        self.totals.held.remove(bytes);
        self.totals.dropped[cause.index()].add(bytes);
        self.meter.dropped(cause, 1);
    }

    #[inline]
    fn leave_line(&mut self) -> Step<P> {
        let Some((now, Waiting { packet, bytes, .. })) = self.line.leave() else {
            return Step::Moved;
        };
        if let Some(cause) = self.channel.refuses(now) {
            self.drop_held(cause, bytes);
            return Step::Moved;
        }
        self.totals.held.remove(bytes);
        if self.channel.duplicates() {
            self.totals.duplicated.add(bytes);
            self.meter.duplicated();
            let first = self.depart(now, packet.clone(), bytes);
            let twin = self.depart(now, packet, bytes);
            self.departed.push_back((now, first));
            self.departed.push_back((now, twin));
            return Step::Moved;
        }
        Step::Left(now, self.depart(now, packet, bytes))
    }

    #[inline]
    fn depart(&mut self, now: Time, mut packet: P, bytes: u32) -> P {
        let flipped = self.channel.corrupts();
        let carried = || packet.segment().map(|segment| (packet.flow(), segment));
        self.meter.left(now, bytes, flipped.is_some(), carried);
        if let Some(draw) = flipped {
            packet.corrupt(draw);
            self.totals.corrupted_packets += 1;
        }
        self.totals.delivered.add(bytes);
        packet
    }
}

/// One thing that happened in a pipe.
enum Step<P> {
    /// Nothing was due.
    Nothing,
    /// A packet moved within the pipe, or was lost, or two stand among those departed.
    Moved,
    Left(Time, P),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Small;

    impl Packet for Small {
        fn wire_bytes(&self) -> u32 {
            1
        }
    }

    #[test]
    fn a_pipe_may_move_to_a_thread_where_its_packets_may() {
        fn moves<T: Send>(_: T) {}
        let config = PipeConfig::default();
        moves(Pipe::<Small>::new(&config, 1500, 1, "down", Nanos(1)).expect("valid"));
    }
}
