//! The coded plane: packets that all arrive, whatever the path loses. Packets leave it as they come; what a flow's bytes need of
//! order, the flow sees to.

use crate::config::{Config, Rate};
use crate::hello::Hello;
use crate::law::{Heard, Law, Sending, law};
use crate::pacer::Pacer;
use crate::probe::Probe;
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{
    ExactConfig, FrameError, FrameKind, REPAIR_HEADER_BYTES, ReceiverConfig, ReleaseOrder,
    SenderConfig, SenderConfigError, Sent, TitrationConfig, TunnelReceiver, TunnelSender,
};
use std::collections::VecDeque;

/// Before the code's frame: which plane a datagram belongs to.
pub(crate) const PLANE_BYTES: usize = 1;
/// The plane whose packets all arrive.
pub(crate) const RELIABLE: u8 = 0;
/// No plane: a datagram that says that packets are not reported.
pub(crate) const UNHEARD: u8 = 2;
/// Repairs that are due and find no room do not pile up.
const MAX_WAITING_REPAIRS: u32 = 8;
const END_OF_BURST: Nanos = Nanos::from_millis(5);
/// A packet that was asked for is asked for again after this, until it is known how long the answer takes.
const AGAIN: Nanos = Nanos::from_secs(1);
const LONGEST_PATIENCE: Nanos = Nanos::from_millis(250);
/// Of a packet that was lost twice.
const COPIES: u8 = 2;
/// Where a third of the packets is lost, one of half a million is lost so often in a row.
const HELD_TRIES: u8 = 12;
/// Between two datagrams that say that packets do not arrive, while reports come.
const TELL_HELD_EVERY: Nanos = Nanos::from_millis(250);
/// A packet with the last bytes of a flow that was idle is sent again after this where the channel loses as much as that: the host waits
/// for it.
const EXPRESS_AGAIN: Nanos = Nanos::from_millis(8);
const EXPRESS_LOSS: f64 = 0.001;
/// While the other plane sends, this one does so at least so often: the law and the probes go by its reports.
const MARKER_EVERY: Nanos = Nanos::from_millis(100);
/// At most this share of the rate goes into it, and so many bytes in a row.
const EXPRESS_SHARE: u64 = 20;
const EXPRESS_BURST: u64 = 30_000;
/// Equations that wait for more packets.
const MAX_UNKNOWNS: u32 = 512;

/// The longest packet of the plane in a datagram of so many bytes: a repair has the longest header.
pub(crate) fn packet_max_bytes(datagram: usize) -> usize {
    datagram.saturating_sub(PLANE_BYTES + REPAIR_HEADER_BYTES)
}

/// The longest payload of a datagram without an address that crosses in one packet, over a carrier that takes datagrams of so many bytes.
pub fn packet_payload_max(datagram: usize) -> usize {
    // The frame's type, its flow and its length.
    packet_max_bytes(datagram).saturating_sub(1 + 4 + 4)
}

#[derive(Debug)]
pub(crate) struct Plane {
    pub sender: TunnelSender,
    pub receiver: TunnelReceiver,
    pub pacer: Pacer,
    law: Box<dyn Law>,
    /// What reports had said of decided, lost and overflown packets when the law was told last, and of the newest one.
    told: ([u64; 4], Option<u64>),
    pub probe: Probe,
    /// The other gateway keeps so many packets.
    window: u64,
    packet_max_bytes: usize,
    outer_bytes: u32,
    report_every: Nanos,
    patience: Nanos,
    least_patience: Nanos,
    /// What had come, and what of it had been asked for too early, when the patience was looked at last.
    seen: (u64, u64),
    /// Packets of flows that were idle, and when they are sent again.
    express: VecDeque<(Time, u64)>,
    /// How far the rate's share for them has been used.
    express_used: Pacer,
    pub probes: u64,
    /// The other gateway is to be told that packets of this one are not reported.
    pub tell_unheard: bool,
    told_held: Time,
    pushed_at: Time,
    /// The carrier loses nothing.
    pub reliable: bool,
}

impl Plane {
    pub fn new(
        config: &Config,
        peer: &Hello,
        packet_max_bytes: usize,
    ) -> Result<Self, SenderConfigError> {
        let law = law(config.rate, config.report_every);
        let bit_s = law.rate_bit_s();
        // Where the rate is not known, the pacer alone holds repairs back.
        let titrated_bit_s = match config.rate {
            Rate::Fixed(bit_s) => bit_s,
            Rate::Capped(_) | Rate::Fair => u64::MAX,
        };
        let own_max = packet_max_bytes as u32;
        let mut sender = TunnelSender::new(SenderConfig {
            window_packets: config.window_packets,
            kept_packets: config.kept_packets,
            packet_max_bytes: own_max.min(peer.packet_max_bytes.into()),
            policy: config.redundancy,
            density_eighths: 8,
            end_of_burst: END_OF_BURST,
            recover_within: config.report_every,
            titration: Some(TitrationConfig {
                rate_bit_s: titrated_bit_s,
                room_bytes: 1 << 30,
                outer_bytes: config.outer_bytes,
                max_waiting: MAX_WAITING_REPAIRS,
            }),
        })?;
        sender.set_copies(COPIES);
        let receiver = TunnelReceiver::new(ReceiverConfig {
            kept_packets: config.kept_packets,
            packet_max_bytes: own_max,
            max_unknowns: MAX_UNKNOWNS,
            order: ReleaseOrder::AsTheyCome,
            exact: Some(ExactConfig {
                patience: config.patience,
                again: AGAIN,
                tries: ExactConfig::WITHOUT_END,
            }),
            report_every: config.report_every,
        });
        let window = config.kept_packets.min(peer.kept_packets);
        Ok(Self {
            sender,
            receiver,
            pacer: Pacer::new(bit_s),
            law,
            told: ([0; 4], None),
            probe: Probe::default(),
            window: u64::from(window),
            packet_max_bytes: own_max.min(peer.packet_max_bytes.into()) as usize,
            outer_bytes: config.outer_bytes,
            report_every: config.report_every,
            patience: config.patience,
            least_patience: config.patience,
            seen: (0, 0),
            express: VecDeque::new(),
            express_used: Pacer::with_burst((bit_s / EXPRESS_SHARE).max(1), EXPRESS_BURST),
            probes: 0,
            tell_unheard: false,
            told_held: Time::ZERO,
            pushed_at: Time(i64::MIN / 2),
            reliable: false,
        })
    }

    pub fn packet_max_bytes(&self) -> usize {
        self.packet_max_bytes
    }

    pub fn patience(&self) -> Nanos {
        self.patience
    }

    /// Packets that were sent and not reported.
    pub fn outstanding(&self) -> u64 {
        self.sender.next_number() - self.sender.acknowledged()
    }

    /// A frame of the code came.
    pub fn handle(&mut self, now: Time, frame: &[u8]) -> Result<(), FrameError> {
        if FrameKind::of(frame) != Some(FrameKind::Report) {
            self.receiver.handle(now, frame)?;
            self.settle_patience();
            return Ok(());
        }
        let after_silence = self.probe.is_unanswered();
        self.sender.handle(now, frame)?;
        self.probe.on_report(now, self.sender.round_trip());
        if let Some(least) = self.sender.least_round_trip() {
            self.receiver.set_least_round_trip(least);
        }
        self.tell_law(now, after_silence);
        Ok(())
    }

    fn tell_law(&mut self, now: Time, after_silence: bool) {
        let Some(heard) = self.sender.heard() else {
            return;
        };
        let counters = self.sender.counters();
        let (before, newest) = self.told;
        let counts = [
            heard.decided,
            counters.reported_lost,
            counters.reported_overflow,
            counters.judged_overflow,
        ];
        self.told = (counts, Some(heard.newest));
        let [decided, lost, overflow, judged_overflow] =
            core::array::from_fn(|it| counts[it] - before[it]);
        let is_new = newest != Some(heard.newest);
        self.law.on_report(
            now,
            &Heard {
                newest: heard.newest,
                came: now - heard.dwell,
                round_trip: self.sender.round_trip(),
                is_new,
                decided,
                lost,
                overflow,
                judged_overflow,
                after_silence,
            },
        );
        self.keep_to_law();
    }

    /// Goes on with the control law of these settings.
    pub fn set_rate(&mut self, config: &Config) {
        self.law = law(config.rate, config.report_every);
        self.keep_to_law();
    }

    pub fn rate_bit_s(&self) -> u64 {
        self.law.rate_bit_s()
    }

    fn keep_to_law(&mut self) {
        self.pacer.set_rate(self.law.rate_bit_s());
        let whole = self.law.whole_bit_s();
        self.express_used.set_rate((whole / EXPRESS_SHARE).max(1));
        // What a full queue has dropped comes when less is sent, and one copy is enough.
        let is_slowed = self.law.rate_bit_s() < whole / 4 * 3;
        self.sender.set_copies(if is_slowed { 1 } else { COPIES });
    }

    /// Nothing waits although a datagram might leave.
    pub fn on_nothing_to_send(&mut self) {
        self.law.on_nothing_to_send();
    }

    /// Whether the law lets new packets and repairs leave. With nothing outstanding no report would ever say that there is room.
    pub fn law_has_room(&self) -> bool {
        self.law.has_room() || self.outstanding() == 0
    }

    /// Where packets come after they were asked for, they are asked for too early: on this path they overtake each other.
    fn settle_patience(&mut self) {
        let counters = self.receiver.counters();
        let came = counters.sources + counters.exact_repairs;
        let early = counters.duplicate_sources + counters.useless_exact_repairs;
        let since = came - self.seen.0;
        if since < 64 {
            return;
        }
        let share = (early - self.seen.1) as f64 / since as f64;
        self.seen = (came, early);
        let now = self.patience.0 as f64;
        let next = match share {
            0.02.. => now * 1.5 + 1e6,
            0.0005.. => now,
            _ => now * 0.99,
        };
        let next = Nanos(next as i64).clamp(self.least_patience, LONGEST_PATIENCE);
        self.patience = next;
        self.receiver.set_patience(next);
    }

    /// Whether the other gateway keeps one packet more, the path answers, and the law has room.
    pub fn may_push(&self) -> bool {
        self.outstanding() < self.window && !self.probe.is_unanswered() && self.law_has_room()
    }

    /// How often such a packet is sent again, so that all of its copies are lost once in 500 times at most.
    fn express_copies(&self) -> usize {
        match self.sender.estimate().loss_rate() {
            _ if self.reliable => 0,
            ..EXPRESS_LOSS => 0,
            EXPRESS_LOSS..0.044 => 1,
            0.044..0.126 => 2,
            _ => 3,
        }
    }

    fn datagram(
        &mut self,
        now: Time,
        out: &mut Vec<u8>,
        write: impl FnOnce(&mut Self, &mut Vec<u8>) -> Option<Sent>,
    ) -> Option<Sent> {
        let before = out.len();
        out.push(RELIABLE);
        let Some(sent) = write(self, out) else {
            out.truncate(before);
            return None;
        };
        let bytes = (out.len() - before) as u64 + u64::from(self.outer_bytes);
        self.pacer.on_sent(now, bytes);
        let next = self.sender.next_number();
        let number = match sent.kind {
            FrameKind::Report => return Some(sent),
            FrameKind::Source => next - 1,
            FrameKind::Exact | FrameKind::Repair => next,
        };
        self.law.on_sent(now, Sending { bytes, number });
        Some(sent)
    }

    /// The other plane has sent a datagram.
    pub fn on_other_sent(&mut self, now: Time, kind: FrameKind, bytes: usize) {
        let bytes = bytes as u64 + u64::from(self.outer_bytes);
        self.pacer.on_sent(now, bytes);
        if kind != FrameKind::Report {
            let number = self.sender.next_number();
            self.law.on_sent(now, Sending { bytes, number });
        }
    }

    /// Whether a packet is due whose report tells of the path that the other plane's packets take.
    pub fn wants_marker(&self, now: Time) -> bool {
        self.may_push() && self.pushed_at + MARKER_EVERY <= now
    }

    /// A report of what has come. It does not wait for its turn: what it asks for is urgent.
    pub fn poll_report(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        self.datagram(now, out, |plane, out| {
            plane.receiver.poll_transmit(now, out)
        })
    }

    /// A probe if one is due, or what the other gateway has asked for.
    pub fn poll_again(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        if self.outstanding() > 0 && self.probe.due(self.report_every) <= now {
            self.sender.send_newest_again();
            self.probe.on_probe(now);
            self.probes += 1;
            self.tell_unheard = true;
        }
        if self.is_held() && self.told_held + TELL_HELD_EVERY <= now {
            self.told_held = now;
            self.tell_unheard = true;
        }
        // Those of one packet lie behind each other's next ones: none is more than a few milliseconds out of its turn.
        while let Some((_, number)) = self.express.pop_front_if(|it| it.0 <= now) {
            self.sender.send_again(number);
        }
        if !self.sender.has_exact() {
            return None;
        }
        self.datagram(now, out, |plane, out| plane.sender.poll_transmit(now, out))
    }

    /// Whether one packet was sent so often that chance cannot have lost it each time. Others arrive meanwhile: short ones, in a black hole of the
    /// path's MTU.
    pub fn is_held(&self) -> bool {
        self.sender.first_missing_sent_again() >= HELD_TRIES
    }

    /// A datagram of one byte, which arrives where long ones do not.
    pub fn push_unheard(&mut self, now: Time, out: &mut Vec<u8>) -> Sent {
        out.push(UNHEARD);
        self.pacer.on_sent(now, 1 + u64::from(self.outer_bytes));
        Sent {
            kind: FrameKind::Report,
            wire_bytes: 1,
        }
    }

    /// Sends a packet, which has at most [`Self::packet_max_bytes`]. `express`: it has the last bytes of a flow that was idle.
    pub fn push(
        &mut self,
        now: Time,
        packet: &[u8],
        express: bool,
        out: &mut Vec<u8>,
    ) -> Option<Sent> {
        debug_assert!(self.may_push() && packet.len() <= self.packet_max_bytes);
        let outstanding = self.outstanding() > 0;
        self.pushed_at = now;
        if self.sender.push(now, packet).is_err() {
            return None;
        }
        self.probe.on_sent(now, outstanding);
        if express {
            let bytes = packet.len() as u64 + u64::from(self.outer_bytes);
            let mut at = now;
            for _ in 0..self.express_copies() {
                if self.express_used.next() <= now {
                    self.express_used.on_sent(now, bytes);
                    at += EXPRESS_AGAIN;
                    self.express.push_back((at, self.sender.next_number()));
                }
            }
        }
        self.datagram(now, out, |plane, out| plane.sender.poll_transmit(now, out))
    }

    /// A repair, if one is due.
    pub fn poll_repair(&mut self, now: Time, out: &mut Vec<u8>) -> Option<Sent> {
        if self.reliable || self.probe.is_unanswered() || !self.law_has_room() {
            return None;
        }
        self.datagram(now, out, |plane, out| plane.sender.poll_transmit(now, out))
    }

    /// When there is something to send without anything new.
    pub fn poll_timeout(&self) -> Option<Time> {
        let report = self.receiver.poll_timeout();
        let again = self.sender.has_exact().then(|| self.pacer.next());
        let probe = (self.outstanding() > 0).then(|| self.probe.due(self.report_every));
        let repair = self.sender.poll_timeout();
        let repair =
            repair.filter(|_| !self.reliable && !self.probe.is_unanswered() && self.law_has_room());
        let express = self.express.front().map(|it| it.0);
        let paced = again.into_iter().chain(probe).chain(repair).chain(express);
        let paced = paced.map(|at| at.max(self.pacer.next()));
        paced.chain(report).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowId;
    use crate::datagram::Datagram;

    #[test]
    fn a_payload_that_fits_is_a_frame_that_fits_a_packet() {
        for datagram in [1162, 1414, 9000, 30_000] {
            let payload = vec![0; packet_payload_max(datagram)];
            let mut frame = Vec::new();
            let whole = Datagram {
                flow: FlowId(2 * 16_384),
                address: None,
                bytes: &payload,
            };
            whole.write(&mut frame);
            let left = packet_max_bytes(datagram) - frame.len();
            assert!(left < 4, "{datagram}: {left}");
        }
    }
}
