//! A sender and a receiver at the ends of a path with a delay, a rate and losses of its choice. Time is virtual.

use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_fec::{
    Arrival, ExactConfig, FrameKind, Policy, ReceiverConfig, ReleaseOrder, SenderConfig, Sent,
    TunnelReceiver, TunnelSender,
};
use std::collections::BTreeMap;

pub const ONE_WAY: Nanos = Nanos::from_millis(275);
pub const ROUND_TRIP: Nanos = Nanos::from_millis(550);
/// IP and UDP.
pub const OUTER_BYTES: u32 = 28;

pub fn sender_config(policy: Policy) -> SenderConfig {
    SenderConfig {
        window_packets: 256,
        kept_packets: 4000,
        packet_max_bytes: 1500,
        policy,
        density_eighths: 8,
        end_of_burst: Nanos::from_millis(5),
        // The window, at a packet every 750 us.
        recover_within: Nanos::from_millis(192),
        titration: None,
    }
}

pub fn receiver_config() -> ReceiverConfig {
    ReceiverConfig {
        kept_packets: 4000,
        packet_max_bytes: 1500,
        max_unknowns: 1000,
        order: ReleaseOrder::InOrder {
            hold: Nanos::from_secs(10),
        },
        exact: Some(ExactConfig {
            patience: Nanos::from_millis(150),
            again: Nanos::from_millis(700),
            tries: 10,
        }),
        report_every: Nanos::from_millis(25),
    }
}

enum Event {
    /// With its bytes on the wire.
    ToReceiver(Vec<u8>, u32),
    ToSender(Vec<u8>),
    Push(u64),
}

pub struct Release {
    pub number: u64,
    pub at: Time,
    pub arrival: Arrival,
    pub held: Nanos,
}

pub struct Path {
    pub sender: TunnelSender,
    pub receiver: TunnelReceiver,
    pub now: Time,
    /// Of the bottleneck.
    pub rate_bit_s: Option<u64>,
    /// Of its queue, which drops the tail.
    pub queue_bytes: Option<u64>,
    /// Whether a frame is lost behind the bottleneck.
    pub is_lost: Box<dyn FnMut(Sent) -> bool>,
    /// Packets are named by numbers of so many bytes and counted as long as this.
    pub named: bool,
    free_at: Time,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    pub pushed: Vec<Time>,
    pub released: Vec<Release>,
    pub sent: Vec<(Time, Sent)>,
}

pub fn packet_bytes(number: u64) -> u32 {
    if number.is_multiple_of(10) { 60 } else { 1400 }
}

pub fn packet(number: u64) -> Vec<u8> {
    let mut random = SplitMix64(number);
    let mut packet: Vec<u8> = (0..packet_bytes(number))
        .map(|_| random.draw() as u8)
        .collect();
    packet[..8].copy_from_slice(&number.to_be_bytes());
    packet
}

/// Losses one by one at this rate.
pub fn random_loss(rate: f64, seed: u64) -> Box<dyn FnMut(Sent) -> bool> {
    let mut random = SplitMix64(seed);
    Box::new(move |_| f64::from(random.draw_below(1 << 30)) < rate * f64::from(1 << 30))
}

impl Path {
    pub fn new(sender: SenderConfig, receiver: ReceiverConfig) -> Self {
        Self {
            sender: TunnelSender::new(sender).expect("the sender can work"),
            receiver: TunnelReceiver::new(receiver),
            now: Time::ZERO,
            rate_bit_s: None,
            queue_bytes: None,
            is_lost: Box::new(|_| false),
            named: true,
            free_at: Time::ZERO,
            events: BTreeMap::new(),
            count: 0,
            pushed: Vec::new(),
            released: Vec::new(),
            sent: Vec::new(),
        }
    }

    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    /// So many packets from `start` on, one every `gap`.
    pub fn push_every(&mut self, start: Time, gap: Nanos, packets: u64) {
        let first = self.pushed.len() as u64;
        for number in 0..packets {
            let time = start + Nanos(gap.0 * number as i64);
            self.pushed.push(time);
            self.at(time, Event::Push(first + number));
        }
    }

    fn poll(&mut self) {
        let mut frame = Vec::new();
        while let Some(sent) = self.sender.poll_transmit(self.now, &mut frame) {
            let frame = core::mem::take(&mut frame);
            assert_eq!(FrameKind::of(&frame), Some(sent.kind));
            self.sent.push((self.now, sent));
            let begins = self.free_at.max(self.now);
            let bits = u64::from(sent.wire_bytes + OUTER_BYTES) * 8;
            let queued = self.rate_bit_s.map_or(0, |rate| {
                (begins - self.now).0 as u64 * (rate / 1000) / 8_000_000
            });
            if self
                .queue_bytes
                .is_some_and(|limit| queued + bits / 8 > limit)
            {
                continue;
            }
            let takes = self
                .rate_bit_s
                .map_or(0, |rate| bits * 1_000_000_000 / rate);
            self.free_at = begins + Nanos(takes as i64);
            if !(self.is_lost)(sent) {
                let arrives = Event::ToReceiver(frame, sent.wire_bytes);
                self.at(self.free_at + ONE_WAY, arrives);
            }
        }
        while let Some(released) = self.receiver.poll_release(self.now) {
            if self.named {
                assert_eq!(released.packet, released.number.to_be_bytes());
            } else {
                assert_eq!(released.packet, packet(released.number));
            }
            self.released.push(Release {
                number: released.number,
                at: self.now,
                arrival: released.arrival,
                held: released.held,
            });
        }
        while let Some(sent) = self.receiver.poll_transmit(self.now, &mut frame) {
            assert_eq!(sent.kind, FrameKind::Report);
            assert_eq!(FrameKind::of(&frame), Some(sent.kind));
            let frame = core::mem::take(&mut frame);
            self.at(self.now + ONE_WAY, Event::ToSender(frame));
        }
    }

    /// Runs until nothing happens any more, or until this time.
    pub fn run_until(&mut self, end: Time) {
        loop {
            let event = self.events.first_key_value().map(|(key, _)| key.0);
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
            let next = timers.into_iter().flatten().chain(event).min();
            let Some(next) = next.map(|it| it.max(self.now)).filter(|&it| it <= end) else {
                return;
            };
            self.now = next;
            if event == Some(next) {
                match self.events.pop_first().expect("there is one").1 {
                    Event::ToReceiver(frame, bytes) => {
                        let handled = self.receiver.handle_as(self.now, &frame, bytes);
                        handled.expect("a frame");
                    }
                    Event::ToSender(frame) => {
                        self.sender.handle(self.now, &frame).expect("a report");
                    }
                    Event::Push(number) => {
                        let push = if self.named {
                            let name = number.to_be_bytes();
                            self.sender.push_as(self.now, &name, packet_bytes(number))
                        } else {
                            self.sender.push(self.now, &packet(number))
                        };
                        push.expect("there is room");
                    }
                }
            }
            self.poll();
        }
    }

    pub fn run(&mut self) {
        self.run_until(Time::NEVER);
    }

    /// How long packets took beyond the way without losses, in milliseconds.
    pub fn waits_ms(&self) -> Vec<f64> {
        let wait =
            |it: &Release| (it.at - self.pushed[it.number as usize] - ONE_WAY).as_secs_f64() * 1e3;
        self.released.iter().map(wait).collect()
    }

    pub fn mean_wait_ms(&self) -> f64 {
        let waits = self.waits_ms();
        waits.iter().sum::<f64>() / waits.len() as f64
    }
}
