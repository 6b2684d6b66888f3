//! One direction of a tunnel: the sender at its entrance, the receiver at its exit, the packets between them, and what is
//! measured. Each end touches its own part only.

use super::delays::Delays;
use super::figures::TunnelFigures;
use super::{Redundancy, TunnelConfig, inner_mtu, outer_bytes};
use crate::packet::Packet;
use bentpipe_base::{Direction, Nanos, Time};
use bentpipe_fec::{
    Arrival, Policy, ReceiverConfig, ReleaseOrder, SenderConfig, SenderConfigError,
    TitrationConfig, TunnelReceiver, TunnelSender,
};
use bentpipe_path::Goodput;
use bentpipe_path::packet::{Ecn, Packet as _};
use std::collections::VecDeque;

/// Packets whose times of sending the sender knows: those of a round trip, to measure it.
const SENT_PACKETS: u32 = 65_536;
/// A packet that is missing when so many windows have passed is given up: no repair covers it any more.
const KEPT_WINDOWS: u32 = 4;
/// For packets that are late on a short window.
const LEAST_KEPT_PACKETS: u32 = 1024;
const REPORT_EVERY: Nanos = Nanos::from_millis(50);
const END_OF_BURST: Nanos = Nanos::from_millis(5);
/// The share of windows with more losses than repairs that an adaptive sender accepts, and what it assumes at first.
const RESIDUAL: f64 = 0.01;
const INITIAL_LOSS: f64 = 0.01;
const MAX_RATIO: f64 = 0.5;
/// Repairs cover any packet of their window.
const DENSITY_EIGHTHS: u8 = 8;

/// A packet on its way through the tunnel.
#[derive(Debug)]
struct Inside {
    packet: Packet,
    /// When it or the first later one came to the exit.
    due: Option<Time>,
}

#[derive(Debug)]
pub(crate) struct Crossing {
    pub sender: TunnelSender,
    pub receiver: TunnelReceiver,
    window: u64,
    hold: Nanos,
    outer_bytes: u32,
    /// From number `first` on; `None` where the packet has left.
    inside: VecDeque<Option<Inside>>,
    first: u64,
    /// The first number that neither it nor a later one has come of.
    next_due: u64,
    lost: u64,
    too_long: u64,
    inner_bytes: u64,
    goodput: Goodput,
    bin: Nanos,
    /// Payload that left for the first time, by the start of its bin, until the bin is asked for.
    bins: VecDeque<(Time, u64)>,
    recovery: Delays,
    added: Delays,
}

impl Crossing {
    pub fn new(
        config: &TunnelConfig,
        direction: Direction,
        mtu: u32,
        ip: u8,
        bin: Nanos,
    ) -> Result<Self, SenderConfigError> {
        let window = config.window_packets;
        let packet_max_bytes = inner_mtu(mtu, ip);
        let policy = match config.redundancy {
            Redundancy::Fixed { ratio } => Policy::Fixed { ratio },
            Redundancy::Adaptive | Redundancy::Titrated { .. } => Policy::Adaptive {
                residual: RESIDUAL,
                initial_loss: INITIAL_LOSS,
                max_ratio: MAX_RATIO,
            },
        };
        let titration = config
            .redundancy
            .room(direction)
            .map(|room| TitrationConfig {
                rate_bit_s: room.rate_bit_s,
                room_bytes: room.queue_bytes,
                outer_bytes: outer_bytes(ip),
                max_waiting: window,
            });
        let sender = TunnelSender::new(SenderConfig {
            window_packets: window,
            kept_packets: SENT_PACKETS.max(window),
            packet_max_bytes,
            policy,
            density_eighths: DENSITY_EIGHTHS,
            end_of_burst: END_OF_BURST,
            titration,
        })?;
        let kept_packets = window.saturating_mul(KEPT_WINDOWS).max(LEAST_KEPT_PACKETS);
        let receiver = TunnelReceiver::new(ReceiverConfig {
            kept_packets,
            packet_max_bytes,
            max_unknowns: kept_packets,
            order: if config.hold_ns > Nanos::ZERO {
                ReleaseOrder::InOrder {
                    hold: config.hold_ns,
                }
            } else {
                ReleaseOrder::AsTheyCome
            },
            exact: None,
            report_every: REPORT_EVERY,
        });
        Ok(Self {
            sender,
            receiver,
            window: window.into(),
            hold: config.hold_ns,
            outer_bytes: outer_bytes(ip),
            inside: VecDeque::new(),
            first: 0,
            next_due: 0,
            lost: 0,
            too_long: 0,
            inner_bytes: 0,
            goodput: Goodput::new(),
            bin,
            bins: VecDeque::new(),
            recovery: Delays::default(),
            added: Delays::default(),
        })
    }

    /// A packet enters. One that is longer than the tunnel's MTU is dropped.
    pub fn push(&mut self, now: Time, packet: Packet) {
        let number = self.first + self.inside.len() as u64;
        let wire_bytes = packet.wire_bytes();
        let name = number.to_be_bytes();
        if self.sender.push_as(now, &name, wire_bytes).is_err() {
            self.too_long += 1;
            return;
        }
        self.inner_bytes += u64::from(wire_bytes);
        self.inside.push_back(Some(Inside { packet, due: None }));
    }

    fn at(&mut self, number: u64) -> Option<&mut Option<Inside>> {
        let place = number.checked_sub(self.first)?;
        self.inside.get_mut(usize::try_from(place).ok()?)
    }

    /// Of a packet that is inside.
    pub fn ecn(&mut self, number: u64) -> Ecn {
        let inside = self.at(number).and_then(|inside| inside.as_ref());
        inside.map_or(Ecn::NotEct, |inside| inside.packet.ecn())
    }

    /// A packet has come to the exit as it is, marked on the way or not.
    pub fn came(&mut self, now: Time, number: u64, marked: bool) {
        for each in self.next_due..=number {
            if let Some(Some(inside)) = self.at(each) {
                inside.due = Some(now);
            }
        }
        self.next_due = self.next_due.max(number + 1);
        if marked
            && let Some(Some(inside)) = self.at(number)
            && inside.packet.ecn() != Ecn::NotEct
        {
            inside.packet.mark_ce();
        }
    }

    /// The next packet that leaves the tunnel.
    pub fn release(&mut self, now: Time) -> Option<Packet> {
        loop {
            let released = self.receiver.poll_release(now)?;
            let arrival = released.arrival;
            let name: Result<[u8; 8], _> = released.packet.try_into();
            let number = u64::from_be_bytes(name.unwrap_or([u8::MAX; 8]));
            let Some(inside) = self.at(number).and_then(Option::take) else {
                continue;
            };
            let delay = now - inside.due.unwrap_or(now);
            self.added.add(delay);
            if arrival != Arrival::AsSource {
                self.recovery.add(delay);
            }
            self.forget();
            if let Some(segment) = inside.packet.segment() {
                let flow = inside.packet.flow();
                let fresh = self.goodput.count(now, flow, segment);
                self.count(now, fresh.into());
            }
            return Some(inside.packet);
        }
    }

    /// Packets that can come no more are lost.
    fn forget(&mut self) {
        let kept = u64::from(KEPT_WINDOWS + 1) * self.window + u64::from(LEAST_KEPT_PACKETS);
        while let Some(front) = self.inside.front()
            && (front.is_none() || self.first + kept < self.next_due)
        {
            self.lost += u64::from(front.is_some());
            self.inside.pop_front();
            self.first += 1;
        }
    }

    fn count(&mut self, now: Time, bytes: u64) {
        let start = Time(now.0.div_euclid(self.bin.0) * self.bin.0);
        match self.bins.back_mut() {
            Some(bin) if bin.0 == start => bin.1 += bytes,
            _ => self.bins.push_back((start, bytes)),
        }
    }

    /// The payload that left the tunnel for the first time in the bin that begins then.
    pub fn take_goodput(&mut self, start: Time) -> u64 {
        let mut bytes = 0;
        while let Some(bin) = self.bins.pop_front_if(|bin| bin.0 <= start) {
            bytes += bin.1;
        }
        bytes
    }

    pub fn figures(&self, ended: Time) -> TunnelFigures {
        // Neither waiting for its turn nor covered by a repair to come.
        let is_lost = |(place, inside): (usize, &Option<Inside>)| {
            let number = self.first + place as u64;
            let due = inside.as_ref().and_then(|inside| inside.due);
            number + self.window < self.next_due && due.is_some_and(|due| due + self.hold < ended)
        };
        let lost = self.inside.iter().enumerate().filter(|it| is_lost(*it));
        TunnelFigures::new(
            &self.sender.counters(),
            &self.receiver.counters(),
            self.lost + lost.count() as u64,
            self.too_long,
            self.inner_bytes,
            [&self.recovery, &self.added],
            self.outer_bytes,
        )
    }
}
