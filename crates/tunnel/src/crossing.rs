//! One direction of a tunnel: the sender at its entrance, the receiver at its exit, the packets between them, and what is
//! measured. Each end touches its own part only.

use crate::config::{Redundancy, TunnelConfig, inner_mtu, outer_bytes};
use crate::delays::Delays;
use crate::figures::{PerSecond, TunnelFigures};
use bentpipe_base::{Nanos, Time};
use bentpipe_fec::{
    Arrival, ExactConfig, Policy, ReceiverConfig, ReleaseOrder, SenderConfig, SenderConfigError,
    TunnelReceiver, TunnelSender, carried_number,
};
use bentpipe_path::Goodput;
use bentpipe_path::packet::{Ecn, Packet};
use std::collections::VecDeque;

/// Packets whose times of sending the sender knows: those of a round trip, to measure it.
const SENT_PACKETS: u32 = 65_536;
/// A packet that is missing when so many windows have passed is given up, unless more are kept for exact repairs.
const KEPT_WINDOWS: u32 = 4;
/// For packets that are late on a short window.
const LEAST_KEPT_PACKETS: u32 = 1024;
const REPORT_EVERY: Nanos = Nanos::from_millis(50);
const END_OF_BURST: Nanos = Nanos::from_millis(5);
/// The share of windows with more losses than repairs that an adaptive sender accepts, and what it assumes at first.
const RESIDUAL: f64 = 0.01;
const INITIAL_LOSS: f64 = 0.01;
const MAX_RATIO: f64 = 0.5;
/// A packet is requested at most so often.
const TRIES: u8 = 10;
/// Repairs cover any packet of their window.
const DENSITY_EIGHTHS: u8 = 8;

/// A packet on its way through the tunnel.
#[derive(Debug)]
struct Inside<P> {
    packet: P,
    /// When it or the first later one came to the exit.
    due: Option<Time>,
}

/// `P` is what the driver knows of a packet. Its bytes are in the code.
#[derive(Debug)]
pub struct Crossing<P> {
    pub sender: TunnelSender,
    pub receiver: TunnelReceiver,
    /// A missing packet may come while no more than so many newer ones have.
    reach: u64,
    kept: u64,
    hold: Nanos,
    outer_bytes: u32,
    /// From number `first` on; `None` where the packet has left.
    inside: VecDeque<Option<Inside<P>>>,
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
    exact: Delays,
    added: Delays,
    per_second: PerSecond,
}

/// How long a lost packet is of use to the exit. One that is requested comes again anyway. Where no packet waits, the time
/// between two reports.
fn recover_within(config: &TunnelConfig) -> Nanos {
    let patience = config.exact.map(|it| it.patience_ns);
    let times = [Some(config.hold_ns), patience].into_iter().flatten();
    let shortest = times.filter(|&it| it > Nanos::ZERO).min();
    shortest.unwrap_or(REPORT_EVERY)
}

impl<P: Packet> Crossing<P> {
    pub fn new(
        config: &TunnelConfig,
        mtu: u32,
        ip: u8,
        bin: Nanos,
    ) -> Result<Self, SenderConfigError> {
        let window = config.window_packets;
        let packet_max_bytes = inner_mtu(mtu, ip);
        let policy = match config.redundancy {
            Redundancy::Fixed { ratio } => Policy::Fixed { ratio },
            Redundancy::Adaptive => Policy::Adaptive {
                residual: RESIDUAL,
                initial_loss: INITIAL_LOSS,
                max_ratio: MAX_RATIO,
            },
        };
        let sender = TunnelSender::new(SenderConfig {
            window_packets: window,
            kept_packets: SENT_PACKETS.max(window),
            packet_max_bytes,
            policy,
            density_eighths: DENSITY_EIGHTHS,
            end_of_burst: END_OF_BURST,
            recover_within: recover_within(config),
            titration: None,
        })?;
        let requested = config.exact.map_or(0, |it| it.kept_packets);
        let covered = if config.redundancy == (Redundancy::Fixed { ratio: 0.0 }) {
            0
        } else {
            window
        };
        let kept_packets = window.saturating_mul(KEPT_WINDOWS);
        let kept_packets = kept_packets.max(LEAST_KEPT_PACKETS).max(requested);
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
            exact: config.exact.map(|it| ExactConfig {
                patience: it.patience_ns,
                again: it.again_ns,
                tries: TRIES,
            }),
            report_every: REPORT_EVERY,
        });
        Ok(Self {
            sender,
            receiver,
            reach: covered.max(requested).into(),
            kept: u64::from(kept_packets) + u64::from(window),
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
            exact: Delays::default(),
            added: Delays::default(),
            per_second: PerSecond::default(),
        })
    }

    /// What the next packet that enters will be numbered.
    pub fn next_number(&self) -> u64 {
        self.first + self.inside.len() as u64
    }

    /// A packet enters. One that is longer than the tunnel's MTU is dropped. `bytes`: what is coded; a simulator's are a name.
    pub fn push(&mut self, now: Time, packet: P, bytes: &[u8]) {
        let wire_bytes = packet.wire_bytes();
        if self.sender.push_as(now, bytes, wire_bytes).is_err() {
            self.too_long += 1;
            return;
        }
        self.inner_bytes += u64::from(wire_bytes);
        self.inside.push_back(Some(Inside { packet, due: None }));
    }

    fn at(&mut self, number: u64) -> Option<&mut Option<Inside<P>>> {
        let place = number.checked_sub(self.first)?;
        self.inside.get_mut(usize::try_from(place).ok()?)
    }

    /// What the outer header of a frame has: the packet's, where it carries one.
    pub fn ecn(&mut self, frame: &[u8]) -> Ecn {
        let number = carried_number(frame, self.next_number());
        let inside = number.and_then(|number| self.at(number)?.as_ref());
        inside.map_or(Ecn::NotEct, |inside| inside.packet.ecn())
    }

    /// A frame of the sender has come to the exit, marked on the way or not. One that does not parse is counted by the receiver.
    /// `wire_bytes` are without the headers below the tunnel.
    pub fn handle(&mut self, now: Time, frame: &[u8], wire_bytes: u32, marked: bool) {
        if let Some(number) = carried_number(frame, self.next_due)
            && number < self.next_number()
        {
            self.came(now, number, marked);
        }
        let _ = self.receiver.handle_as(now, frame, wire_bytes);
    }

    /// A packet has come to the exit as it is.
    fn came(&mut self, now: Time, number: u64, marked: bool) {
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

    /// The next packet that leaves the tunnel, and its number. `bytes` are then what was coded for it.
    pub fn release(&mut self, now: Time, bytes: &mut Vec<u8>) -> Option<(u64, P)> {
        loop {
            let released = self.receiver.poll_release(now)?;
            let (arrival, number) = (released.arrival, released.number);
            bytes.clear();
            bytes.extend_from_slice(released.packet);
            let Some(inside) = self.at(number).and_then(Option::take) else {
                continue;
            };
            let delay = now - inside.due.unwrap_or(now);
            self.added.add(delay);
            self.per_second.add(now, delay);
            match arrival {
                Arrival::AsSource => {}
                Arrival::AsExactRepair => self.exact.add(delay),
                Arrival::Recovered => self.recovery.add(delay),
            }
            self.forget();
            if let Some(segment) = inside.packet.segment() {
                let flow = inside.packet.flow();
                let fresh = self.goodput.count(now, flow, segment);
                self.count(now, fresh.into());
            }
            return Some((number, inside.packet));
        }
    }

    /// Packets that can come no more are lost.
    fn forget(&mut self) {
        while let Some(front) = self.inside.front()
            && (front.is_none() || self.first + self.kept < self.next_due)
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
        // Neither waiting for its turn nor covered by a repair to come or requested.
        let is_lost = |(place, inside): (usize, &Option<Inside<P>>)| {
            let number = self.first + place as u64;
            let due = inside.as_ref().and_then(|inside| inside.due);
            number + self.reach < self.next_due && due.is_some_and(|due| due + self.hold < ended)
        };
        let lost = self.inside.iter().enumerate().filter(|it| is_lost(*it));
        let figures = TunnelFigures::new(
            &self.sender.counters(),
            &self.receiver.counters(),
            self.lost + lost.count() as u64,
            self.too_long,
            self.inner_bytes,
            [&self.recovery, &self.exact, &self.added],
            self.outer_bytes,
        );
        TunnelFigures {
            per_second: self.per_second.clone(),
            ..figures
        }
    }
}
