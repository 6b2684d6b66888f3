//! Where packets leave the tunnel.

use super::counters::ReceiverCounters;
use super::gaps::{BeforeIdle, Gaps, LostAt, Run};
use super::losses::{Fate, Losses, REORDERING_PACKETS};
use super::missing::{ExactConfig, MissingPackets};
use super::release::{ReleaseOrder, Released, Releases};
use super::{Arrival, FrameKind, Sent};
use crate::decoder::{Decoder, DecoderConfig, RepairOutcome, SourceOutcome};
use crate::encoder::RepairId;
use crate::field::Kernel;
use crate::frame::{Frame, FrameError, Report, WireNumber};
use crate::ring::Ring;
use bentpipe_base::{Nanos, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// The newest packets that are kept, to be put in order and to decode with: the sender's window and the packets of as long as
    /// a packet may be late. What is missing when it leaves them is lost.
    pub kept_packets: u32,
    pub packet_max_bytes: u32,
    /// The most missing packets that repairs are solved for at once.
    pub max_unknowns: u32,
    pub order: ReleaseOrder,
    /// Without it nothing is asked for.
    pub exact: Option<ExactConfig>,
    /// At most one report in so long. There is none where nothing came and nothing is asked for.
    pub report_every: Nanos,
}

/// After so long without any other frame, a sender whose numbers went back has begun anew.
const SILENCE: Nanos = Nanos::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct PacketRecord {
    /// Until the packet is known: when it was named.
    known_at: Time,
    arrival: Option<Arrival>,
    /// Where it is lost if it does not come as it was sent.
    lost_at: Option<LostAt>,
}

/// A packet that left the kept ones before it was released.
#[derive(Clone, Debug)]
struct Rescued {
    number: u64,
    record: PacketRecord,
    packet: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct TunnelReceiver {
    config: ReceiverConfig,
    decoder: Decoder,
    records: Ring<PacketRecord>,
    releases: Releases,
    rescued: VecDeque<Rescued>,
    /// Holds the packet that `poll_release` lends.
    lent: Vec<u8>,
    missing: MissingPackets,
    unknown: u64,
    first_missing: u64,
    losses: Losses,
    gaps: Gaps,
    before_idle: Option<BeforeIdle>,
    newest_source: Option<(u64, Time)>,
    last_report: Option<Time>,
    has_news: bool,
    /// A number far from all others, which the next packet may confirm.
    suspect: Option<u64>,
    /// When a frame last came whose number was not far from the others.
    last_near: Option<Time>,
    give_up_after: Option<Nanos>,
    counters: ReceiverCounters,
}

/// How a packet came that is kept. One that the decoder has recovered has not come before that was said.
fn arrival(decoder: &Decoder, records: &Ring<PacketRecord>, id: u64) -> Option<Arrival> {
    let kept = decoder.kept();
    if !kept.contains(&id) {
        return None;
    }
    records[id].arrival
}

/// Of a packet that is kept.
fn fate(decoder: &Decoder, records: &Ring<PacketRecord>, id: u64) -> Fate {
    let at = records.get(id).filter(|_| decoder.kept().contains(&id));
    Fate {
        lost: arrival(decoder, records, id) != Some(Arrival::AsSource),
        at: at.and_then(|it| it.lost_at),
    }
}

fn came(decoder: &Decoder, records: &Ring<PacketRecord>) -> impl Fn(u64) -> bool {
    move |id| arrival(decoder, records, id).is_some()
}

impl TunnelReceiver {
    pub fn new(config: ReceiverConfig) -> Self {
        let kept = config.kept_packets.max(1);
        Self {
            config: ReceiverConfig {
                kept_packets: kept,
                ..config
            },
            decoder: Decoder::new(
                DecoderConfig {
                    kept_symbols: kept as usize,
                    packet_max_bytes: config.packet_max_bytes as usize,
                    max_unknowns: config.max_unknowns as usize,
                },
                Kernel::fastest(),
            ),
            records: Ring::new(kept as usize),
            releases: Releases::new(config.order),
            rescued: VecDeque::new(),
            lent: Vec::new(),
            missing: MissingPackets::new(config.exact),
            unknown: 0,
            first_missing: 0,
            losses: Losses::default(),
            gaps: Gaps::default(),
            before_idle: None,
            newest_source: None,
            last_report: None,
            has_news: false,
            suspect: None,
            last_near: None,
            give_up_after: None,
            counters: ReceiverCounters::default(),
        }
    }

    pub fn counters(&self) -> ReceiverCounters {
        ReceiverCounters {
            corrupt: self.decoder.corrupt(),
            ..self.counters
        }
    }

    /// Missing packets less independent equations: so many packets would have to be sent again to know all.
    pub fn deficit(&self) -> u64 {
        self.unknown.saturating_sub(self.decoder.rank() as u64)
    }

    /// From now on a packet is asked for when it has been missing so long: see [`ExactConfig::patience`].
    pub fn set_patience(&mut self, patience: Nanos) {
        self.missing.set_patience(patience);
    }

    /// The path's least round trip, if it is known: what comes sooner after it was asked for was sent without being asked for.
    pub fn set_least_round_trip(&mut self, least: Nanos) {
        self.missing.set_least_round_trip(least);
    }

    /// From now on reports do not count those as missing that have been missing for so long: the sender need not repair them.
    pub fn give_up_after(&mut self, span: Nanos) {
        self.give_up_after = Some(span);
    }

    fn has_given_up(&self, now: Time, id: u64) -> bool {
        let is_kept = self.decoder.kept().contains(&id);
        let after = self.give_up_after.filter(|_| is_kept);
        after.is_some_and(|after| self.records[id].known_at + after <= now)
    }

    /// A frame came from the sender.
    pub fn handle(&mut self, now: Time, frame: &[u8]) -> Result<(), FrameError> {
        self.handle_as(now, frame, frame.len() as u32)
    }

    /// A frame came that has `wire_bytes` on the wire: as [`Sent::wire_bytes`](super::Sent) has them.
    pub fn handle_as(
        &mut self,
        now: Time,
        frame: &[u8],
        wire_bytes: u32,
    ) -> Result<(), FrameError> {
        let parsed = Frame::parse(frame).inspect_err(|_| self.counters.malformed += 1)?;
        if !matches!(parsed, Frame::Report(_)) {
            self.gaps.on_frame(now, wire_bytes);
        }
        match parsed {
            Frame::Source { number, packet } => {
                self.on_packet(now, number, packet, Arrival::AsSource);
            }
            Frame::Exact { number, packet } => {
                self.on_packet(now, number, packet, Arrival::AsExactRepair);
            }
            Frame::Repair {
                first,
                symbols,
                key,
                density,
                symbol,
            } => {
                let Some(first) = self.locate(now, first, u64::from(symbols)) else {
                    return Ok(());
                };
                let id = RepairId {
                    first,
                    symbols,
                    key,
                    density,
                };
                self.on_repair(now, &id, symbol);
            }
            Frame::Report(_) => return Err(FrameError::Direction),
        }
        while let Some(id) = self.decoder.poll_recovered() {
            self.counters.recovered += 1;
            self.on_known(now, id, Arrival::Recovered);
        }
        Ok(())
    }

    /// The whole number of the first of `packets`. A frame that is far from all others is left out until the next one is near it:
    /// a single wrong number must not make the receiver forget what it has. Far ahead is what comes after an outage. Far
    /// behind are old frames, unless nothing else comes any more: then the sender has begun anew.
    fn locate(&mut self, now: Time, number: WireNumber, packets: u64) -> Option<u64> {
        let end = self.decoder.kept().end;
        let kept = u64::from(self.config.kept_packets);
        let is_near = |id: u64, other: u64| id.abs_diff(other) <= 2 * kept;
        let id = number.nearest_to(end);
        if is_near(id, end) && id + packets <= end + 2 * kept {
            self.suspect = None;
            self.last_near = Some(now);
            return Some(id);
        }
        let is_behind = id < end;
        // A number that went back stands for the same one a turn later.
        let ahead = if is_behind {
            id + WireNumber::RANGE
        } else {
            id
        };
        let silent = self.last_near.is_none_or(|at| now - at >= SILENCE);
        let confirmed = self.suspect.is_some_and(|it| is_near(it, ahead))
            && packets <= kept
            && (silent || !is_behind);
        if confirmed {
            self.last_near = Some(now);
        }
        self.suspect = (!confirmed).then_some(ahead);
        self.counters.implausible += u64::from(!confirmed);
        confirmed.then_some(ahead)
    }

    fn on_packet(&mut self, now: Time, number: WireNumber, packet: &[u8], arrival: Arrival) {
        if packet.len() > self.config.packet_max_bytes as usize {
            self.counters.malformed += 1;
            return;
        }
        let Some(id) = self.locate(now, number, 1) else {
            return;
        };
        self.name_up_to(now, id + 1, Some(id));
        self.has_news = true;
        let is_source = arrival == Arrival::AsSource;
        // Without any, nothing could be reported: then a packet that was sent again stands for it.
        let is_newer = self.newest_source.is_none_or(|(newest, _)| id > newest);
        if is_newer && (is_source || self.newest_source.is_none()) {
            self.newest_source = Some((id, now));
        }
        if !is_source {
            self.missing.on_exact(now, id);
        }
        match self.decoder.source(id, packet) {
            SourceOutcome::New => {
                if is_source {
                    self.counters.sources += 1;
                } else {
                    self.counters.exact_repairs += 1;
                }
                self.on_known(now, id, arrival);
            }
            SourceOutcome::Known if is_source => self.counters.duplicate_sources += 1,
            SourceOutcome::Known => self.counters.useless_exact_repairs += 1,
            SourceOutcome::Expired | SourceOutcome::TooLong => self.counters.expired += 1,
        }
    }

    fn on_repair(&mut self, now: Time, id: &RepairId, symbol: &[u8]) {
        self.name_up_to(now, id.window().end, None);
        let counters = &mut self.counters;
        *match self.decoder.repair(id, symbol) {
            RepairOutcome::Innovative => &mut counters.innovative_repairs,
            RepairOutcome::NothingMissing | RepairOutcome::Dependent => {
                &mut counters.useless_repairs
            }
            RepairOutcome::Expired | RepairOutcome::NoRoom => &mut counters.unusable_repairs,
            RepairOutcome::Malformed => &mut counters.malformed,
        } += 1;
    }

    /// A frame has named numbers before `end`. Those that are new are missing, save `coming`.
    fn name_up_to(&mut self, now: Time, end: u64, coming: Option<u64>) {
        let kept = self.decoder.kept();
        if end <= kept.end {
            return;
        }
        let start = end
            .saturating_sub(self.config.kept_packets.into())
            .max(kept.start);
        let (decoder, records) = (&self.decoder, &self.records);
        let fate = |id| fate(decoder, records, id);
        // What was kept is decided by what came; what is skipped beyond it is lost.
        let seen = end.min(kept.end + REORDERING_PACKETS);
        self.losses.advance(seen, kept.start, fate);
        self.losses.advance(end, start, fate);
        self.forget_before(start);
        let missing = end - kept.end - u64::from(coming.is_some());
        let run = self.gaps.judge(missing);
        if missing > 0 && run == Some(Run::Unknown) {
            let last = self.newest_source;
            self.before_idle = last.map(|(number, came)| BeforeIdle { number, came });
        }
        for id in start.max(kept.end)..end {
            let lost_at = run.map(|run| run.of(id - kept.end));
            let record = PacketRecord {
                known_at: now,
                arrival: None,
                lost_at,
            };
            self.records.set(id, record);
            self.unknown += 1;
            if Some(id) != coming {
                self.missing.add(now, id);
            }
        }
        self.decoder.advance_to(end);
    }

    fn forget_before(&mut self, start: u64) {
        let kept = self.decoder.kept();
        let decoder = &self.decoder;
        self.releases
            .leave_before(start, &kept, came(decoder, &self.records));
        let (rescued, records) = (&mut self.rescued, &self.records);
        self.releases.take_ready_before(start, |number| {
            if let Some(packet) = decoder.packet(number) {
                rescued.push_back(Rescued {
                    number,
                    record: records[number],
                    packet: packet.to_vec(),
                });
            }
        });
        while self.rescued.len() > self.config.kept_packets as usize {
            self.rescued.pop_front();
            self.counters.not_released += 1;
        }
        let gone = kept.start..start.min(kept.end);
        let lost = gone.filter(|&id| !self.decoder.is_known(id)).count() as u64;
        self.unknown -= lost;
        self.counters.residual_lost += lost + start.saturating_sub(kept.end);
        self.missing.forget_before(start);
    }

    fn on_known(&mut self, now: Time, id: u64, arrival: Arrival) {
        if !self.decoder.is_known(id) {
            return;
        }
        let record = &mut self.records[id];
        record.known_at = now;
        record.arrival = Some(arrival);
        self.unknown -= 1;
        let came = came(&self.decoder, &self.records);
        self.releases.on_known(now, id, came);
    }

    /// The next packet that leaves the tunnel.
    pub fn poll_release(&mut self, now: Time) -> Option<Released<'_>> {
        let came = came(&self.decoder, &self.records);
        self.releases.expire(now, &self.decoder.kept(), came);
        let (number, record) = if let Some(rescued) = self.rescued.pop_front() {
            self.lent = rescued.packet;
            (rescued.number, rescued.record)
        } else {
            let number = self.releases.next_ready()?;
            (number, self.records[number])
        };
        let packet = self.decoder.packet(number).unwrap_or(&self.lent);
        Some(Released {
            packet,
            number,
            arrival: record.arrival.unwrap_or(Arrival::AsSource),
            held: now - record.known_at,
        })
    }

    /// Gives back the memory of packets that came so many packets, or more, before the first missing one. All that have come must have been
    /// released. Repairs that cover more than so many packets are then of no use.
    pub fn free_before(&mut self, packets: u64) {
        self.first_missing = self.first_missing.max(self.decoder.kept().start);
        while self.decoder.is_known(self.first_missing) {
            self.first_missing += 1;
        }
        let first = self.first_missing.saturating_sub(packets);
        self.decoder.release_before(first);
    }

    fn report_due(&self) -> Option<Time> {
        self.newest_source?;
        let asking = self.missing.next_due();
        let due = match (self.has_news, asking) {
            (true, _) => Time(i64::MIN),
            (false, asking) => asking?,
        };
        let earliest = self.last_report.map(|at| at + self.config.report_every);
        Some(due.max(earliest.unwrap_or(due)))
    }

    /// Appends a report to `out`, if one is due.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        let (newest, came) = self.newest_source?;
        self.report_due().filter(|&due| due <= now)?;
        let ranges = self.missing.ask(now, &mut self.decoder);
        let kept = self.decoder.kept();
        self.first_missing = self.first_missing.max(kept.start);
        while self.decoder.is_known(self.first_missing)
            || self.has_given_up(now, self.first_missing)
        {
            self.first_missing += 1;
        }
        let before_idle = self.before_idle.unwrap_or(BeforeIdle {
            number: newest,
            came,
        });
        let asked = ranges.iter().map(|it| u64::from(it.1)).sum::<u64>();
        let report = Report {
            newest: WireNumber::of(newest),
            first_missing: WireNumber::of(self.first_missing),
            dwell_us: u32::try_from((now - came).0 / 1000).unwrap_or(u32::MAX),
            decided: self.losses.decided,
            lost: self.losses.lost,
            runs: self.losses.runs,
            judged: self.losses.judged,
            channel: self.losses.channel,
            overflow: self.losses.overflow,
            unknown: self.losses.unknown,
            unknown_runs: self.losses.unknown_runs,
            before_idle: WireNumber::of(before_idle.number),
            before_idle_us: u32::try_from((now - before_idle.came).0 / 1000).unwrap_or(u32::MAX),
            deficit: u16::try_from(self.deficit()).unwrap_or(u16::MAX),
            ranges: ranges
                .iter()
                .map(|&(first, length)| (WireNumber::of(first), length))
                .collect(),
        };
        let before = out.len();
        report.write(out);
        self.last_report = Some(now);
        self.has_news = false;
        self.counters.reports += 1;
        self.counters.asked += asked;
        Some(Sent {
            kind: FrameKind::Report,
            wire_bytes: (out.len() - before) as u32,
        })
    }

    /// When to ask `poll_release` and `poll_transmit` again, if nothing else happens.
    pub fn poll_timeout(&self) -> Option<Time> {
        match (self.releases.next_time(), self.report_due()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Missing packets that are gone through for each report.
    #[cfg(test)]
    pub fn missing_looked_at(&self) -> usize {
        self.missing.looked_at()
    }

    /// Whether the bytes of a packet are still there.
    #[cfg(test)]
    pub fn has_bytes(&self, number: u64) -> bool {
        self.decoder.packet(number).is_some()
    }

    /// The longest of the lists that grow with what comes.
    #[cfg(test)]
    pub fn longest_list(&self) -> usize {
        let lists = [self.missing.len(), self.releases.len(), self.rescued.len()];
        lists.into_iter().max().unwrap_or(0)
    }
}
