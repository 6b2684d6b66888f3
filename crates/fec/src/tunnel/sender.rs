//! Where packets enter the tunnel.

use super::counters::SenderCounters;
use super::sender_config::{SenderConfig, SenderConfigError};
use super::{FrameKind, Sent};
use crate::coefficients::Density;
use crate::encoder::{Encoder, RepairId};
use crate::field::Kernel;
use crate::frame::{
    Frame, FrameError, REPAIR_HEADER_BYTES, Report, SOURCE_HEADER_BYTES, WireNumber,
    write_repair_header, write_source,
};
use crate::policy::{LossEstimate, Policy, QueueingDetector, RepairPlan, Titration};
use crate::ring::Ring;
use bentpipe_base::{Nanos, Time};
use core::ops::Range;
use std::collections::VecDeque;

/// Packets that wait to be sent again. What is asked for beyond them will be asked for again.
const MAX_EXACT: usize = 4096;
/// A packet keeps its bytes until the receiver has all packets up to so many behind it: it may wait to be sent again.
const STILL_KEPT: u64 = 256;

/// A packet that does not enter the tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushError {
    TooLong,
    /// As many packets as are kept wait to be sent: `poll_transmit` was not asked.
    Full,
}

/// What reports have said so far, for whoever sets the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The newest packet that came as it was sent, and how long before the report.
    pub newest: u64,
    pub dwell: Nanos,
    /// Packets of which it is decided whether they were lost.
    pub decided: u64,
}

#[derive(Clone, Copy, Debug)]
struct PacketRecord {
    sent: Time,
    wire_bytes: u32,
    exact_waits: bool,
    /// The one that waits was asked for.
    is_asked_for: bool,
    /// How often it was sent again.
    again: u8,
    /// When it was sent last because it was asked for.
    answered: Time,
}

/// Before any time.
const NEVER: Time = Time(i64::MIN / 2);

#[derive(Clone, Debug)]
pub struct TunnelSender {
    config: SenderConfig,
    encoder: Encoder,
    records: Ring<PacketRecord>,
    /// The first packet that was not sent yet.
    next: u64,
    /// The receiver has all before it, or has given up.
    acknowledged: u64,
    exact: VecDeque<u64>,
    plan: RepairPlan,
    waiting_repairs: u32,
    key: u16,
    last_push: Time,
    estimate: LossEstimate,
    queueing: QueueingDetector,
    /// Packets before this number met a queue.
    queued_before: u64,
    titration: Option<Titration>,
    last_report: Option<Report>,
    heard: Option<Heard>,
    round_trip: Option<Nanos>,
    copies: u8,
    span: Option<Nanos>,
    counters: SenderCounters,
}

impl TunnelSender {
    pub fn new(config: SenderConfig) -> Result<Self, SenderConfigError> {
        config.check()?;
        let estimate = LossEstimate::new(match config.policy {
            Policy::Adaptive { initial_loss, .. } => initial_loss,
            Policy::Off | Policy::Fixed { .. } => 0.0,
        });
        Ok(Self {
            config,
            encoder: Encoder::new(config.kept_packets as usize, Kernel::fastest()),
            records: Ring::new(config.kept_packets as usize),
            next: 0,
            acknowledged: 0,
            exact: VecDeque::new(),
            plan: RepairPlan::new(
                &config.policy,
                config.recover_within,
                config.window_packets,
                &estimate,
            ),
            waiting_repairs: 0,
            key: 0,
            last_push: Time::ZERO,
            estimate,
            queueing: QueueingDetector::default(),
            queued_before: 0,
            titration: config.titration.map(Titration::new),
            last_report: None,
            heard: None,
            round_trip: None,
            copies: 1,
            span: None,
            counters: SenderCounters::default(),
        })
    }

    pub fn counters(&self) -> SenderCounters {
        self.counters
    }

    /// Repairs per packet at present.
    pub fn ratio(&self) -> f64 {
        self.plan.ratio()
    }

    /// The number of the next packet that is sent for the first time.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// The receiver has all packets before this number, or has given them up.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// From sending a packet to the report of it, without the time that the receiver took: of the newest packet that was reported.
    pub fn round_trip(&self) -> Option<Nanos> {
        self.round_trip
    }

    /// The least of them in the last 10 to 20 s.
    pub fn least_round_trip(&self) -> Option<Nanos> {
        self.queueing.least()
    }

    /// What reports have said. `None`: none came yet.
    pub fn heard(&self) -> Option<Heard> {
        self.heard
    }

    /// Whether [`Self::poll_transmit`] has a packet that was asked for.
    pub fn has_exact(&self) -> bool {
        !self.exact.is_empty()
    }

    /// How often the first packet that the receiver misses was sent again, at most 255 times. 0: it misses none that was sent.
    pub fn first_missing_sent_again(&self) -> u8 {
        let is_missing = self.acknowledged < self.next;
        let record = is_missing.then(|| self.records[self.acknowledged]);
        record.map_or(0, |it| it.again)
    }

    /// Sends the newest packet again. It names all numbers before it, so the receiver asks for what it misses: also for the last
    /// packets before a pause, of which it knows nothing if none of them came.
    pub fn send_newest_again(&mut self) {
        if let Some(newest) = self.next.checked_sub(1) {
            self.send_again(newest);
        }
    }

    /// Sends a packet again, though nobody has asked for it, if it may still be missing.
    pub fn send_again(&mut self, number: u64) {
        self.ask_exact(number);
    }

    /// What was sent again and asked for once more was lost twice: from now on it is sent so many times at once. 1: each time once.
    pub fn set_copies(&mut self, copies: u8) {
        self.copies = copies.max(1);
    }

    /// From now on a repair covers only packets that were sent within so long, and the newest one: what is older is of no use any more.
    pub fn set_span(&mut self, span: Nanos) {
        self.span = Some(span);
    }

    /// What the channel is estimated to lose.
    pub fn estimate(&self) -> LossEstimate {
        self.estimate
    }

    /// A packet enters the tunnel.
    pub fn push(&mut self, now: Time, packet: &[u8]) -> Result<(), PushError> {
        self.push_as(now, packet, packet.len() as u32)
    }

    /// A packet enters the tunnel that has `wire_bytes` on the wire; `packet` names it.
    pub fn push_as(&mut self, now: Time, packet: &[u8], wire_bytes: u32) -> Result<(), PushError> {
        let longest = packet.len().max(wire_bytes as usize);
        if longest > self.config.packet_max_bytes as usize {
            return Err(PushError::TooLong);
        }
        if self.encoder.kept().end - self.next >= u64::from(self.config.kept_packets) {
            return Err(PushError::Full);
        }
        let id = self.encoder.push(packet).ok_or(PushError::TooLong)?;
        let record = PacketRecord {
            sent: now,
            wire_bytes,
            exact_waits: false,
            is_asked_for: false,
            again: 0,
            answered: NEVER,
        };
        self.records.set(id, record);
        self.last_push = now;
        let due = self.plan.on_source(now, id + 1 - self.acknowledged);
        self.add_waiting(due);
        Ok(())
    }

    fn add_waiting(&mut self, repairs: u32) {
        let limit = self
            .titration
            .map_or(self.config.window_packets, |it| it.max_waiting());
        let waiting = self.waiting_repairs.saturating_add(repairs);
        self.waiting_repairs = waiting.min(limit);
        self.counters.repairs_given_up += u64::from(waiting - self.waiting_repairs);
    }

    /// The queue behind the tunnel holds so much: titration goes by it.
    pub fn set_queue(&mut self, now: Time, bytes: u64) {
        if let Some(titration) = &mut self.titration {
            titration.set_queue(now, bytes);
        }
    }

    /// A report of the receiver came.
    pub fn handle(&mut self, now: Time, frame: &[u8]) -> Result<(), FrameError> {
        let Frame::Report(report) = Frame::parse(frame)? else {
            return Err(FrameError::Direction);
        };
        let newest = report.newest.nearest_to(self.next);
        let first_missing = report.first_missing.nearest_to(newest);
        if newest >= self.next || first_missing > self.next {
            self.counters.implausible_reports += 1;
            return Ok(());
        }
        for &(first, length) in &report.ranges {
            let first = first.nearest_to(newest);
            for id in first..first.saturating_add(length.into()) {
                self.on_asked(now, newest, id);
            }
        }
        let last = self.last_report.take();
        let zero = Report::default();
        let before = last.as_ref().unwrap_or(&zero);
        let decided = report.decided.wrapping_sub(before.decided);
        if decided > u32::MAX / 2 {
            // An older report was overtaken.
            self.last_report = last;
            return Ok(());
        }
        self.heard = Some(Heard {
            newest,
            dwell: Nanos(i64::from(report.dwell_us) * 1000),
            decided: self.heard.map_or(0, |it| it.decided) + u64::from(decided),
        });
        let is_new = last.as_ref().is_none_or(|it| it.newest != report.newest);
        if is_new && self.encoder.kept().contains(&newest) {
            let dwell = Nanos(i64::from(report.dwell_us) * 1000);
            let round_trip = now - self.records[newest].sent - dwell;
            self.round_trip = Some(round_trip);
            self.queueing.on_round_trip(now, round_trip);
            if self.queueing.is_queueing() {
                self.queued_before = newest + 1;
            }
        }
        let lost = report.lost.wrapping_sub(before.lost);
        let runs = report.runs.wrapping_sub(before.runs);
        let lost = lost.min(decided);
        self.counters.reported_lost += u64::from(lost);
        // Decided were the packets from this number on: before a pause, perhaps, while the newest came after it.
        let first_decided = WireNumber::of(before.decided.into()).nearest_to(newest);
        let since = |field: fn(&Report) -> u32| field(&report).wrapping_sub(field(before));
        let judged = since(|it| it.judged).min(decided);
        if judged > 0 {
            // What is not judged counts for nothing: frames from before and behind it tell enough.
            let mut overflow = since(|it| it.overflow);
            self.counters.judged_overflow += u64::from(overflow.min(judged).min(lost));
            let mut channel = since(|it| it.channel);
            let mut runs = runs;
            if self.was_queued_before_idle(now, &report, newest) {
                overflow = overflow.wrapping_add(since(|it| it.unknown));
            } else {
                channel = channel.wrapping_add(since(|it| it.unknown));
                runs = runs.wrapping_add(since(|it| it.unknown_runs));
            }
            let overflow = overflow.min(judged).min(lost);
            self.counters.reported_overflow += u64::from(overflow);
            // Of what passed the queue, so much was lost behind it.
            let passed = judged - overflow;
            self.estimate.on_report(passed, channel.min(passed), runs);
        } else if first_decided < self.queued_before {
            self.counters.reported_overflow += u64::from(lost);
        } else {
            self.estimate.on_report(decided, lost, runs);
        }
        self.acknowledged = self.acknowledged.max(first_missing);
        let not_needed = self.acknowledged.saturating_sub(STILL_KEPT);
        self.encoder.release_before(not_needed);
        self.counters.deficit = report.deficit;
        self.last_report = Some(report);
        let is_nothing_missing = self.acknowledged == self.next;
        self.plan
            .on_report(self.estimate.channel(), is_nothing_missing);
        Ok(())
    }

    /// Whether the last packet before the bottleneck idled had waited in a queue, so that those lost after it are overflow.
    fn was_queued_before_idle(&self, now: Time, report: &Report, newest: u64) -> bool {
        let number = report.before_idle.nearest_to(newest);
        let is_kept = number < self.next && self.encoder.kept().contains(&number);
        is_kept && {
            let since = Nanos(i64::from(report.before_idle_us) * 1000);
            let round_trip = now - self.records[number].sent - since;
            self.queueing.would_queue(round_trip)
        }
    }

    /// The receiver asks for a packet, by its clock. It does not know how long its answers wait here and in a queue of the path. Each answer to
    /// an asking that is too early lengthens both, so that more askings are too early. So one waits until the answer before it
    /// must have come: a packet that was sent after it has come, as in RFC 8985, or a round trip has passed. One round trip that was
    /// very long, as after an outage, does not count for more than two short ones.
    fn on_asked(&mut self, now: Time, newest: u64, id: u64) {
        let kept = self.encoder.kept();
        if (self.acknowledged..self.next).contains(&id) && kept.contains(&id) {
            let answered = self.records[id].answered;
            let is_overtaken = !kept.contains(&newest) || self.records[newest].sent > answered;
            let longest = self
                .queueing
                .least()
                .map_or(Nanos::ZERO, |it| Nanos(2 * it.0));
            let waits = self.round_trip.map_or(Nanos::ZERO, |it| it.min(longest));
            if answered != NEVER && !is_overtaken && now - answered < waits {
                self.counters.asked_too_early += 1;
                return;
            }
            self.records[id].is_asked_for = true;
        }
        self.ask_exact(id);
    }

    fn ask_exact(&mut self, id: u64) {
        if id < self.acknowledged || id >= self.next {
            return;
        }
        if !self.encoder.kept().contains(&id) {
            self.counters.asked_too_late += 1;
            return;
        }
        let record = &mut self.records[id];
        if self.exact.len() < MAX_EXACT && !record.exact_waits {
            record.exact_waits = true;
            let copies = if record.again > 0 { self.copies } else { 1 };
            for _ in 0..copies {
                self.exact.push_back(id);
            }
        }
    }

    /// Appends the next frame to `out`: packets that were asked for, then packets, then repairs.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        let sent = self
            .send_exact(now, out)
            .or_else(|| self.send_source(now, out))
            .or_else(|| self.send_repair(now, out))?;
        let wire_bytes = u64::from(sent.wire_bytes);
        let counters = &mut self.counters;
        let (frames, bytes) = match sent.kind {
            FrameKind::Exact => (&mut counters.exact_repairs, &mut counters.exact_bytes),
            FrameKind::Repair => (&mut counters.repairs, &mut counters.repair_bytes),
            FrameKind::Source | FrameKind::Report => {
                (&mut counters.sources, &mut counters.source_bytes)
            }
        };
        *frames += 1;
        *bytes += wire_bytes;
        if let Some(titration) = &mut self.titration {
            titration.on_sent(now, sent.wire_bytes);
        }
        Some(sent)
    }

    fn send_exact(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        while let Some(id) = self.exact.pop_front() {
            let Some(packet) = self.encoder.packet(id) else {
                self.counters.asked_too_late += 1;
                continue;
            };
            write_source(id, packet, true, out);
            let record = &mut self.records[id];
            record.exact_waits = false;
            if record.is_asked_for {
                record.is_asked_for = false;
                record.answered = now;
            }
            record.again = record.again.saturating_add(1);
            return Some(self.sent_packet(FrameKind::Exact, id));
        }
        None
    }

    fn send_source(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        let id = self.next;
        write_source(id, self.encoder.packet(id)?, false, out);
        self.next += 1;
        self.plan.on_source_sent();
        self.records[id].sent = now;
        Some(self.sent_packet(FrameKind::Source, id))
    }

    fn sent_packet(&self, kind: FrameKind, id: u64) -> Sent {
        Sent {
            kind,
            wire_bytes: SOURCE_HEADER_BYTES as u32 + self.records[id].wire_bytes,
        }
    }

    /// What a repair would cover: the newest packets that were sent, but for those that the receiver has.
    fn window(&self) -> Range<u64> {
        let newest = self.next.saturating_sub(self.config.window_packets.into());
        let first = newest.max(self.acknowledged).max(self.encoder.kept().start);
        first..self.next
    }

    /// What of a window is young enough.
    fn recent(&self, now: Time, window: Range<u64>) -> Range<u64> {
        let Some(span) = self.span else {
            return window;
        };
        let (mut first, mut end) = (window.start, window.end.saturating_sub(1));
        while first < end {
            let middle = u64::midpoint(first, end);
            if self.records[middle].sent + span < now {
                first = middle + 1;
            } else {
                end = middle;
            }
        }
        first..window.end
    }

    fn send_repair(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        if self.end_of_burst().is_some_and(|at| at <= now) && self.plan.end_burst() {
            self.add_waiting(1);
        }
        if self.waiting_repairs == 0 || self.titration.is_some_and(|it| it.room_at() > now) {
            return None;
        }
        let window = self.recent(now, self.window());
        if window.is_empty() {
            self.waiting_repairs = 0;
            return None;
        }
        self.waiting_repairs -= 1;
        self.plan.on_repair_sent();
        let id = RepairId {
            first: window.start,
            symbols: (window.end - window.start) as u16,
            key: self.key,
            density: Density::of_eighths(self.config.density_eighths),
        };
        self.key = self.key.wrapping_add(1);
        write_repair_header(&id, out);
        self.encoder.repair(&id, out);
        let lengths = window.map(|id| self.records[id].wire_bytes);
        Some(Sent {
            kind: FrameKind::Repair,
            wire_bytes: REPAIR_HEADER_BYTES as u32 + lengths.max().unwrap_or(0),
        })
    }

    fn end_of_burst(&self) -> Option<Time> {
        // Whether more are needed is known when those that wait have been sent. What the receiver has needs none.
        if self.waiting_repairs > 0 || self.window().is_empty() {
            return None;
        }
        let silence = self.plan.end_of_burst(self.config.end_of_burst)?;
        Some(self.last_push + silence)
    }

    /// When to ask `poll_transmit` again, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Time> {
        let room = self.titration.map_or(self.last_push, |it| it.room_at());
        // A repair that is due waits for room too.
        let waiting = (self.waiting_repairs > 0 && !self.window().is_empty()).then_some(room);
        waiting.or_else(|| self.end_of_burst())
    }
}
