//! Both ends of a session, or one of them and a peer that sends what it likes, without a carrier: control messages arrive at once,
//! datagrams after a delay or never.
#![allow(dead_code, reason = "each test takes a part of it")]

use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_fec::{Policy, SenderConfig, TunnelReceiver, TunnelSender};
use bentpipe_fec::{ReceiverConfig, ReleaseOrder};
use bentpipe_gateway::{
    Config, Control, DatagramFrame, Event, FlowId, Frame, Hello, Role, Session, Target, VERSION,
};
use std::collections::VecDeque;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

pub const DATAGRAM: usize = 1400;
const OUTER: u32 = 59;

pub fn config(bit_s: u64) -> Config {
    Config::fixed(bit_s, OUTER)
}

pub fn target() -> Target {
    let at = |port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
    Target {
        destination: at(80),
        source: at(1024),
    }
}

pub fn target_v6() -> Target {
    let at = |port| SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port);
    Target {
        destination: at(80),
        source: at(1024),
    }
}

/// Carries datagrams one after the other at a rate, in each direction, with a queue before it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    bit_s: u64,
    queue_bytes: u64,
    /// When it has carried all that waits, by the direction.
    free: [Time; 2],
}

impl Link {
    pub fn new(bit_s: u64, queue_bytes: u64) -> Self {
        Self {
            bit_s,
            queue_bytes,
            free: [Time::ZERO; 2],
        }
    }

    /// When a datagram that comes now has passed. `None`: the queue has no room for it.
    fn pass(&mut self, now: Time, from: usize, datagram: &[u8]) -> Option<Time> {
        let bytes = datagram.len() as u64 + u64::from(OUTER);
        let takes = |bytes: u64| Nanos((bytes * 8_000_000_000 / self.bit_s) as i64);
        let free = self.free[from].max(now);
        if free + takes(bytes) - now > takes(self.queue_bytes) {
            return None;
        }
        self.free[from] = free + takes(bytes);
        Some(self.free[from])
    }
}

/// Near and far, and datagrams under way: when they come.
pub struct Ends {
    pub now: Time,
    pub sessions: [Session; 2],
    pub delay: Nanos,
    /// The share of datagrams that the path loses.
    pub loss: f64,
    /// Longer datagrams vanish on the path.
    pub longest: usize,
    /// Without it they take the delay only.
    pub link: Option<Link>,
    random: SplitMix64,
    pub events: [Vec<Event>; 2],
    /// By who has sent them.
    under_way: [VecDeque<(Time, Vec<u8>)>; 2],
}

impl Ends {
    pub fn new(config: Config, delay: Nanos) -> Self {
        Self::over(DATAGRAM, config, delay)
    }

    /// The same path with other chances.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.random = SplitMix64(seed);
        self
    }

    /// Over a carrier that takes datagrams of at most so many bytes.
    pub fn over(max_datagram: usize, config: Config, delay: Nanos) -> Self {
        let session =
            |role, seed| Session::new(config, role, seed, seed).expect("settings that work");
        let mut ends = Self {
            now: Time::ZERO,
            sessions: [session(Role::Near, 1), session(Role::Far, 2)],
            delay,
            loss: 0.0,
            longest: usize::MAX,
            link: None,
            random: SplitMix64(5),
            events: [Vec::new(), Vec::new()],
            under_way: [VecDeque::new(), VecDeque::new()],
        };
        for session in &mut ends.sessions {
            session.on_carrier_connected(Time::ZERO, max_datagram);
        }
        ends.settle();
        ends
    }

    pub fn near(&mut self) -> &mut Session {
        &mut self.sessions[0]
    }

    pub fn far(&mut self) -> &mut Session {
        &mut self.sessions[1]
    }

    fn settle(&mut self) {
        for _ in 0..4 {
            for from in 0..2 {
                while let Some(message) = self.sessions[from].poll_control() {
                    self.sessions[1 - from].handle_control(self.now, &message);
                }
            }
        }
        for from in 0..2 {
            let mut out = Vec::new();
            while self.sessions[from]
                .poll_datagram(self.now, &mut out)
                .is_some()
            {
                let datagram = core::mem::take(&mut out);
                let passed = match &mut self.link {
                    Some(link) => link.pass(self.now, from, &datagram),
                    None => Some(self.now),
                };
                let draw = self.random.draw() as f64 / u64::MAX as f64;
                if let Some(passed) = passed
                    && draw >= self.loss
                    && datagram.len() <= self.longest
                {
                    let comes = passed + self.delay;
                    self.under_way[from].push_back((comes, datagram));
                }
            }
            while let Some(event) = self.sessions[from].poll_event() {
                self.events[from].push(event);
            }
        }
    }

    /// Lets time pass. `hosts` reads and writes whenever something has happened.
    pub fn run(&mut self, span: Nanos, mut hosts: impl FnMut(&mut [Session; 2])) {
        let end = self.now + span;
        let mut turns = (self.now, 0);
        loop {
            turns = (self.now, if turns.0 == self.now { turns.1 + 1 } else { 0 });
            assert!(turns.1 < 10_000, "the sessions never come to rest");
            hosts(&mut self.sessions);
            self.settle();
            let timers = self.sessions.iter().filter_map(Session::poll_timeout);
            let comes = self.under_way.iter().filter_map(|it| Some(it.front()?.0));
            let next = timers.chain(comes).min().filter(|&at| at <= end);
            let Some(next) = next else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            for (from, under_way) in self.under_way.iter_mut().enumerate() {
                while let Some((_, datagram)) = under_way.pop_front_if(|it| it.0 <= self.now) {
                    self.sessions[1 - from].handle_datagram(self.now, &datagram);
                }
            }
            for session in &mut self.sessions {
                session.handle_timeout(self.now);
            }
        }
    }
}

/// Reads all that a flow has, and says how much it was.
pub fn read_all(session: &mut Session, flow: FlowId) -> u64 {
    let mut read = 0;
    loop {
        let ready = session.readable(flow).len();
        if ready == 0 {
            return read;
        }
        read += ready as u64;
        session.consume(flow, ready);
    }
}

/// A session whose peer has a valid key and sends any frames.
pub struct Victim {
    pub now: Time,
    pub session: Session,
    pub events: Vec<Event>,
    /// Frames that the session has sent.
    pub sent: Vec<Vec<u8>>,
    /// Of the plane whose packets all arrive, and of the one with datagrams.
    sender: TunnelSender,
    lossy: TunnelSender,
    receiver: TunnelReceiver,
}

pub fn hello() -> Hello {
    Hello {
        version: VERSION,
        epoch: 1,
        session: 0,
        packet_max_bytes: 1300,
        kept_packets: 1000,
        flow_credit: 1 << 20,
        session_credit: 1 << 20,
        flows: 1000,
        datagram_packets: 1000,
        age_us: 0,
        clock_us: 0,
    }
}

impl Victim {
    /// Far, which has got this HELLO.
    pub fn new(config: Config, hello: Hello) -> Self {
        let session = Session::new(config, Role::Far, 1, 2).expect("settings that work");
        let sender = SenderConfig {
            window_packets: 64,
            kept_packets: 1000,
            packet_max_bytes: 1300,
            policy: Policy::Off,
            density_eighths: 8,
            end_of_burst: Nanos(1000),
            recover_within: Nanos(1_000_000),
            titration: None,
        };
        let receiver = ReceiverConfig {
            kept_packets: 1000,
            packet_max_bytes: 1400,
            max_unknowns: 10,
            order: ReleaseOrder::AsTheyCome,
            exact: None,
            report_every: Nanos(1),
        };
        let mut victim = Self {
            now: Time::ZERO,
            session,
            events: Vec::new(),
            sent: Vec::new(),
            lossy: TunnelSender::new(sender).expect("settings that work"),
            sender: TunnelSender::new(sender).expect("settings that work"),
            receiver: TunnelReceiver::new(receiver),
        };
        victim.session.on_carrier_connected(Time::ZERO, DATAGRAM);
        victim
            .session
            .handle_control(Time::ZERO, &Control::Hello(hello).to_bytes());
        victim.poll();
        victim
    }

    /// Sends a packet of these frames.
    pub fn send(&mut self, frames: &[Frame<'_>]) {
        let mut packet = Vec::new();
        for frame in frames {
            frame.write(&mut packet);
        }
        self.sender
            .push(self.now, &packet)
            .expect("a packet that is not too long");
        let mut datagram = vec![0];
        while self.sender.poll_transmit(self.now, &mut datagram).is_some() {
            self.session.handle_datagram(self.now, &datagram);
            datagram.truncate(1);
        }
    }

    /// Sends a packet of these frames with datagrams.
    pub fn send_datagrams(&mut self, frames: &[DatagramFrame<'_>]) {
        let mut packet = Vec::new();
        for frame in frames {
            match frame {
                DatagramFrame::Whole(whole) => whole.write(&mut packet),
                DatagramFrame::Piece(piece) => piece.write(&mut packet),
            }
        }
        let pushed = self.lossy.push(self.now, &packet);
        pushed.expect("a packet that is not too long");
        let mut datagram = vec![1];
        while self.lossy.poll_transmit(self.now, &mut datagram).is_some() {
            self.session.handle_datagram(self.now, &datagram);
            datagram.truncate(1);
        }
    }

    /// Takes what the session sends now, and reports it.
    pub fn poll(&mut self) {
        // A report may let more be sent.
        while self.poll_once() {}
    }

    /// Whether the session was told anything.
    fn poll_once(&mut self) -> bool {
        while let Some(event) = self.session.poll_event() {
            self.events.push(event);
        }
        let mut out = Vec::new();
        while self.session.poll_datagram(self.now, &mut out).is_some() {
            if out[0] == 0 {
                let _ = self.receiver.handle(self.now, &out[1..]);
                let _ = self.sender.handle(self.now, &out[1..]);
            }
            out.clear();
        }
        while let Some(released) = self.receiver.poll_release(self.now) {
            self.sent.push(released.packet.to_vec());
        }
        let mut report = vec![0];
        let is_told = self.receiver.poll_transmit(self.now, &mut report).is_some();
        if is_told {
            self.session.handle_datagram(self.now, &report);
        }
        is_told
    }

    /// Lets time pass.
    pub fn wait(&mut self, span: Nanos) {
        let end = self.now + span;
        loop {
            self.poll();
            let next = self.session.poll_timeout().filter(|&at| at <= end);
            let Some(next) = next else {
                self.now = end;
                return;
            };
            assert!(next > self.now, "the session never comes to rest");
            self.now = next;
            self.session.handle_timeout(next);
        }
    }
}
