//! Two or more QUIC endpoints and the path between them, in virtual time.

use bentpipe_carrier::identity::{Identity, PublicKey};
use bentpipe_carrier::quic::{Config, Endpoint};
use bentpipe_carrier::{Event, PeerId, Why};
use bytes::BytesMut;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub const MS: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);
pub const FAR: &str = "203.0.113.1:4433";
pub const NEAR: &str = "192.0.2.7:51000";

pub fn identity(number: u8) -> Identity {
    Identity::from_seed([number; 32])
}

/// Repeats to the packet, and searches for the MTU.
pub fn seeded() -> Config {
    Config {
        seed: Some(1),
        largest_udp_payload: 1452,
        ..Config::default()
    }
}

/// `SplitMix64`: the tests' own randomness.
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn chance(&mut self, p: f64) -> bool {
        ((self.draw() >> 11) as f64) < p * (1u64 << 53) as f64
    }
}

/// What the path does with a packet, in both directions.
#[derive(Clone, Debug)]
pub struct Path {
    pub delay: Duration,
    /// Added to the delay, drawn evenly for each packet: it reorders.
    pub jitter: Duration,
    pub loss: f64,
    pub duplicates: f64,
    /// Longer UDP payloads vanish.
    pub mtu: usize,
    pub open: bool,
    /// Where the far end sees the near end, and where it reaches it.
    pub near: SocketAddr,
}

impl Path {
    pub fn geo() -> Self {
        Self {
            delay: 275 * MS,
            jitter: Duration::ZERO,
            loss: 0.0,
            duplicates: 0.0,
            mtu: 1472,
            open: true,
            near: NEAR.parse().unwrap(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Near,
    Far,
}

pub struct Net {
    pub start: Instant,
    pub now: Instant,
    pub near: Endpoint,
    pub far: Endpoint,
    pub path: Path,
    pub random: Random,
    pub events: [Vec<(Instant, PeerId, Event)>; 2],
    /// UDP payload that each end sent, and the number of packets.
    pub sent_bytes: [usize; 2],
    pub sent_packets: [usize; 2],
    /// Every packet with the time when it was sent, if it is kept.
    pub trace: Option<Vec<(Duration, Side, usize)>>,
    /// Whose sockets take nothing.
    pub blocked: Vec<Side>,
    /// The number of a packet among those sent (a packet is flawed once), where in it, and which bits are turned over.
    pub flaws: Vec<(usize, u16, u8)>,
    /// The far end's events are not asked for.
    deaf: bool,
    peers: [Option<PeerId>; 2],
    under_way: BTreeMap<(Instant, u64), (Side, SocketAddr, BytesMut)>,
    packets: u64,
}

impl Net {
    /// The keys 1 (near) and 2 (far), and `path` between them.
    pub fn new(path: Path, config: &Config) -> Self {
        let own = identity(2);
        Self::with_keys(path, config, own.public(), [identity(1).public()].into())
    }

    pub fn with_keys(
        path: Path,
        config: &Config,
        pinned: PublicKey,
        allowed: BTreeSet<PublicKey>,
    ) -> Self {
        let start = Instant::now();
        let far = FAR.parse().unwrap();
        Self {
            start,
            now: start,
            near: Endpoint::near(config.clone(), far, pinned, &identity(1), start).unwrap(),
            far: Endpoint::far(config.clone(), &identity(2), allowed, start).unwrap(),
            path,
            random: Random(7),
            events: [Vec::new(), Vec::new()],
            sent_bytes: [0; 2],
            sent_packets: [0; 2],
            trace: None,
            blocked: Vec::new(),
            flaws: Vec::new(),
            deaf: false,
            peers: [None; 2],
            under_way: BTreeMap::new(),
            packets: 0,
        }
    }

    /// A pair that is connected, with the MTU found.
    pub fn connected(mut path: Path, config: &Config) -> Self {
        let loss = std::mem::take(&mut path.loss);
        let mut net = Self::new(path, config);
        net.run(10 * SECOND);
        assert!(
            net.peer(Side::Near).is_some() && net.peer(Side::Far).is_some(),
            "{:?}",
            net.events
        );
        net.path.loss = loss;
        net
    }

    pub fn endpoint(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Near => &mut self.near,
            Side::Far => &mut self.far,
        }
    }

    /// The last connection that came about.
    pub fn peer(&self, side: Side) -> Option<PeerId> {
        self.peers[side as usize]
    }

    /// Each end's events since the last call.
    pub fn take(&mut self, side: Side) -> Vec<Event> {
        std::mem::take(&mut self.events[side as usize])
            .into_iter()
            .map(|(_, _, event)| event)
            .collect()
    }

    pub fn why(&self, side: Side) -> Option<Why> {
        self.events[side as usize]
            .iter()
            .rev()
            .find_map(|(_, _, event)| match event {
                Event::Closed { why } | Event::Refused { why, .. } => Some(why.clone()),
                _ => None,
            })
    }

    pub fn send_datagram(
        &mut self,
        side: Side,
        body: &[u8],
    ) -> Result<(), bentpipe_carrier::SendError> {
        let peer = self.peer(side).expect("connected");
        self.endpoint(side).send_datagram(peer, body)
    }

    pub fn send_control(
        &mut self,
        side: Side,
        body: &[u8],
    ) -> Result<(), bentpipe_carrier::SendError> {
        let peer = self.peer(side).expect("connected");
        self.endpoint(side).send_control(peer, body)
    }

    /// Lets `duration` pass.
    pub fn run(&mut self, duration: Duration) {
        let end = self.now + duration;
        let mut at_this_time = 0;
        loop {
            self.pump();
            let timers = [self.near.poll_timeout(), self.far.poll_timeout()];
            let arrival = self.under_way.keys().next().map(|(at, _)| *at);
            let next = timers
                .into_iter()
                .flatten()
                .chain(arrival)
                .min()
                .unwrap_or(end)
                .max(self.now);
            if next > end {
                self.now = end;
                return;
            }
            at_this_time = if next == self.now {
                at_this_time + 1
            } else {
                0
            };
            assert!(at_this_time < 100_000, "time stands still");
            if next == end
                && arrival.is_none_or(|at| at > end)
                && timers.into_iter().flatten().all(|at| at > end)
            {
                self.now = end;
                return;
            }
            self.now = next;
            while let Some(entry) = self
                .under_way
                .first_entry()
                .filter(|entry| entry.key().0 <= next)
            {
                let (to, from, packet) = entry.remove();
                self.endpoint(to).handle(next, from, None, None, packet);
            }
            self.near.handle_timeout(next);
            self.far.handle_timeout(next);
        }
    }

    /// Takes what the ends have to say and to send.
    pub fn pump(&mut self) {
        for side in [Side::Near, Side::Far] {
            let now = self.now;
            self.listen(side, now);
            while !self.blocked.contains(&side) && self.transmit_one(side) {}
            self.listen(side, now);
        }
    }

    fn listen(&mut self, side: Side, now: Instant) {
        while !(self.deaf && side == Side::Far)
            && let Some((peer, event)) = self.endpoint(side).poll_event(now)
        {
            if matches!(event, Event::Connected { .. }) {
                self.peers[side as usize] = Some(peer);
            }
            self.events[side as usize].push((now, peer, event));
        }
    }

    /// One call of `poll_transmit`.
    pub fn transmit_one(&mut self, side: Side) -> bool {
        let now = self.now;
        let mut buffer = Vec::new();
        let Some(transmit) = self.endpoint(side).poll_transmit(now, &mut buffer) else {
            return false;
        };
        assert_eq!(transmit.size, buffer.len());
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        for packet in buffer.chunks(segment) {
            self.carry(side, transmit.destination, packet);
        }
        true
    }

    fn carry(&mut self, side: Side, destination: SocketAddr, packet: &[u8]) {
        let number = self.sent_packets.iter().sum::<usize>();
        let mut packet = packet.to_vec();
        for (_, at, bits) in self.flaws.iter().filter(|(flawed, ..)| *flawed == number) {
            let at = usize::from(*at) % packet.len();
            packet[at] ^= bits;
        }
        self.sent_bytes[side as usize] += packet.len();
        self.sent_packets[side as usize] += 1;
        let elapsed = self.now - self.start;
        if let Some(trace) = &mut self.trace {
            trace.push((elapsed, side, packet.len()));
        }
        let (to, from, reachable) = match side {
            Side::Near => (
                Side::Far,
                self.path.near,
                destination == FAR.parse().unwrap(),
            ),
            Side::Far => (
                Side::Near,
                FAR.parse().unwrap(),
                destination == self.path.near,
            ),
        };
        let lost = self.random.chance(self.path.loss);
        let copies = 1 + u64::from(self.random.chance(self.path.duplicates));
        let jitter = self
            .path
            .jitter
            .mul_f64((self.random.draw() >> 11) as f64 / (1u64 << 53) as f64);
        if lost || !self.path.open || !reachable || packet.len() > self.path.mtu {
            return;
        }
        for copy in 0..copies {
            self.packets += 1;
            let at = self.now + self.path.delay + jitter + copy as u32 * MS;
            self.under_way
                .insert((at, self.packets), (to, from, packet[..].into()));
        }
    }

    /// Everything under way is lost.
    pub fn lose_all_under_way(&mut self) {
        self.under_way.clear();
    }
}

/// Short forms.
impl Net {
    /// Lets time pass while the far end's events stay where they are.
    pub fn near_only(&mut self, duration: Duration) {
        self.deaf = true;
        self.run(duration);
        self.deaf = false;
    }
}

/// A message that begins with its number.
pub fn numbered(number: u32, bytes: usize) -> Vec<u8> {
    let mut body = number.to_be_bytes().to_vec();
    body.resize(bytes, 0x55);
    body
}

pub fn number(body: &[u8]) -> u32 {
    u32::from_be_bytes(body[..4].try_into().unwrap())
}

/// The numbers of the datagrams among these events.
pub fn datagrams(events: &[Event]) -> Vec<u32> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Datagram(body) => Some(number(body)),
            _ => None,
        })
        .collect()
}

/// The numbers of the control messages among these events.
pub fn controls(events: &[Event]) -> Vec<u32> {
    events
        .iter()
        .filter_map(|event| match event {
            Event::Control(body) => Some(number(body)),
            _ => None,
        })
        .collect()
}
