//! Measures the path from near, without a session: near's connection to far carries questions and packets that are counted. A gateway of the same key that
//! carries users' traffic is not disturbed: far keeps its session, and says that it is busy.

use crate::carrier::measure::{Came, MOST_PACKETS, Message, State, Train};
use crate::udp::Udp;
use bentpipe_carrier::identity::{Identity, PublicKey};
use bentpipe_carrier::quic::{self, Endpoint};
use bentpipe_carrier::{Event, PeerId, Why};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const QUESTIONS: u64 = 10;
const BETWEEN: Duration = Duration::from_millis(100);
/// An answer that takes longer is taken for lost.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// The search for the longest packet is over when it has found nothing more for so long.
const SEARCH_RESTS: Duration = Duration::from_secs(2);
const SEARCH_WITHIN: Duration = Duration::from_secs(20);

/// What to measure with.
#[derive(Debug)]
pub struct Probe {
    /// Bound, and does not block.
    pub udp: OwnedFd,
    pub far: SocketAddr,
    pub key: PublicKey,
    pub identity: Identity,
    /// Its `largest_udp_payload` is what is tried.
    pub carrier: quic::Config,
    /// Headers around a datagram of the carrier, in bytes.
    pub outer_bytes: u32,
    /// Far that has not answered after this is away.
    pub connect_within: Duration,
}

/// Packets in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direction {
    pub sent: u64,
    pub came: u64,
    /// In bits of IP packets per second, as it came.
    pub bit_s: f64,
}

/// Why there are no figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeError {
    /// No answer at all: UDP is blocked, or far is away.
    NoAnswer,
    Ended(Why),
    Io(String),
}

/// What was found. `None` where far did not say.
#[derive(Clone, Debug)]
pub struct PathFigures {
    pub round_trips: Vec<Duration>,
    pub questions: u64,
    /// The longest UDP payload that has crossed to far, in bytes.
    pub udp_payload: u16,
    /// Far carries users' traffic: nothing more was measured.
    pub busy: bool,
    /// Far's clock less this one's, in seconds.
    pub clock_s: Option<f64>,
    pub to_far: Option<Direction>,
    pub from_far: Option<Direction>,
}

struct Talk {
    endpoint: Endpoint,
    udp: Udp,
    peer: PeerId,
    outer_bytes: u32,
    packet: Vec<u8>,
    connected: Option<usize>,
    ended: Option<Why>,
    answers: Vec<(u64, State, Instant)>,
    came: Came,
}

impl Talk {
    /// Sends and reads what there is.
    fn turn(&mut self) -> Result<(), ProbeError> {
        let now = Instant::now();
        let endpoint = &mut self.endpoint;
        while self.udp.receive(|from, packets, segment| {
            endpoint.handle_packets(now, from, None, None, packets, segment);
        }) {}
        if endpoint.poll_timeout().is_some_and(|at| at <= now) {
            endpoint.handle_timeout(now);
        }
        while let Some((_, event)) = endpoint.poll_event(now) {
            match event {
                Event::Connected { max_datagram, .. } => self.connected = Some(max_datagram),
                Event::Closed { why } | Event::Refused { why, .. } => self.ended = Some(why),
                Event::Datagram(datagram) => match Message::from_bytes(&datagram) {
                    Some(Message::State { token, state, .. }) => {
                        self.answers.push((token, state, now));
                    }
                    Some(Message::Packet { run, .. }) => self.came.take(now, run, datagram.len()),
                    _ => {}
                },
                _ => {}
            }
        }
        while let Some(transmit) = endpoint.poll_transmit(now, &mut self.packet) {
            self.packet.truncate(transmit.size);
            let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
            // What the socket does not take is lost, as on the path.
            self.udp
                .send(transmit.destination, &mut self.packet, segment);
        }
        match &self.ended {
            Some(Why::HandshakeTimedOut) => Err(ProbeError::NoAnswer),
            Some(why) => Err(ProbeError::Ended(why.clone())),
            None => Ok(()),
        }
    }

    /// Until then, or until something comes.
    fn wait(&mut self, until: Instant) -> Result<(), ProbeError> {
        let at = self
            .endpoint
            .poll_timeout()
            .map_or(until, |at| at.min(until));
        let left = at.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: left.as_secs() as _,
            tv_nsec: left.subsec_nanos().into(),
        };
        let mut watched = [PollFd::new(&self.udp, PollFlags::IN)];
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => self.turn(),
            Err(error) => Err(ProbeError::Io(error.to_string())),
        }
    }

    fn say(&mut self, message: Message) {
        // One that gets lost is said again.
        let _ = self.endpoint.send_datagram(self.peer, &message.to_bytes());
    }

    /// Goes on until then, or until `done`.
    fn go_on(
        &mut self,
        until: Instant,
        mut done: impl FnMut(&Self) -> bool,
    ) -> Result<(), ProbeError> {
        self.turn()?;
        while Instant::now() < until && !done(self) {
            self.wait(until)?;
        }
        Ok(())
    }

    fn round_trips(&mut self, found: &mut PathFigures) -> Result<Option<State>, ProbeError> {
        let mut asked = Vec::new();
        for token in 0..QUESTIONS {
            asked.push((Instant::now(), SystemTime::now()));
            self.say(Message::Ask { run: 0, token });
            self.go_on(Instant::now() + BETWEEN, |_| false)?;
        }
        let all = |it: &Self| it.answers.len() as u64 >= QUESTIONS;
        self.go_on(Instant::now() + ANSWER_WITHIN, all)?;
        let mut last = None;
        for (token, state, at) in self.answers.drain(..) {
            let Some((then, clock)) = asked.get(token as usize) else {
                continue;
            };
            let round_trip = at - *then;
            found.round_trips.push(round_trip);
            let here = clock.duration_since(UNIX_EPOCH).unwrap_or_default() + round_trip / 2;
            found.clock_s = Some(state.clock_ms as f64 / 1e3 - here.as_secs_f64());
            last = Some(state);
        }
        found.questions = QUESTIONS;
        Ok(last)
    }

    fn bit_s(&self, packets: u64, bytes: u64, span_ns: u64) -> f64 {
        // The first packet opens the span.
        let all = bytes + packets * u64::from(self.outer_bytes);
        let share = packets.saturating_sub(1) as f64 / packets.max(1) as f64;
        if span_ns == 0 {
            0.0
        } else {
            8e9 * all as f64 * share / span_ns as f64
        }
    }

    fn send_train(
        &mut self,
        length: usize,
        packets: u64,
        rate_bit_s: u64,
        patience: Duration,
    ) -> Result<Option<Direction>, ProbeError> {
        let bytes = length as u64 + u64::from(self.outer_bytes);
        let mut train = Train::new(Instant::now(), 1, packets, bytes, rate_bit_s);
        while let Some(next) = train.next_at() {
            while let Some(packet) = train.poll(Instant::now(), length) {
                if self.endpoint.send_datagram(self.peer, &packet).is_err() {
                    self.turn()?;
                }
            }
            self.turn()?;
            self.go_on(next.max(Instant::now()), |_| false)?;
        }
        self.go_on(Instant::now() + patience, |_| false)?;
        self.answers.clear();
        for token in 0..3 {
            self.say(Message::Ask { run: 1, token });
            self.go_on(Instant::now() + ANSWER_WITHIN, |it| !it.answers.is_empty())?;
            if let Some((_, state, _)) = self.answers.pop() {
                return Ok(Some(Direction {
                    sent: packets,
                    came: state.packets,
                    bit_s: self.bit_s(state.packets, state.bytes, state.span_ns),
                }));
            }
        }
        Ok(None)
    }

    fn receive_train(
        &mut self,
        packets: u64,
        rate_bit_s: u64,
        patience: Duration,
    ) -> Result<Option<Direction>, ProbeError> {
        let run = 2;
        for _ in 0..3 {
            self.say(Message::Send {
                run,
                packets,
                rate_bit_s,
            });
            self.go_on(Instant::now() + ANSWER_WITHIN, |it| it.came.run == run)?;
            if self.came.run == run {
                break;
            }
        }
        // All have come, or nothing more comes.
        while self.came.run == run && self.came.packets < packets {
            let before = self.came.packets;
            let until = Instant::now() + patience.max(Duration::from_secs(1));
            self.go_on(until, |it| it.came.packets > before)?;
            if self.came.packets == before {
                break;
            }
        }
        let came = Some(self.came).filter(|came| came.run == run);
        Ok(came.map(|came| Direction {
            sent: packets,
            came: came.packets,
            bit_s: self.bit_s(came.packets, came.bytes, came.span_ns()),
        }))
    }

    fn search(&mut self) -> Result<u16, ProbeError> {
        let (begun, mut found, mut since) = (Instant::now(), 0, Instant::now());
        loop {
            let statistics = self.endpoint.statistics(self.peer);
            let (mtu, rtt) = statistics.map_or((0, Duration::ZERO), |it| (it.mtu, it.rtt));
            if mtu != found {
                (found, since) = (mtu, Instant::now());
            }
            if since.elapsed() > SEARCH_RESTS.max(8 * rtt) || begun.elapsed() > SEARCH_WITHIN {
                return Ok(found);
            }
            // The search goes on with what is sent.
            self.say(Message::Ask {
                run: 0,
                token: u64::MAX,
            });
            self.go_on(Instant::now() + BETWEEN, |_| false)?;
        }
    }
}

impl Probe {
    /// Packets that fit into so many bytes on the path, and the bytes of all of them.
    pub fn packets(&self, bytes: u64) -> (u64, u64) {
        let each = self.carrier.certain_datagram() as u64 + u64::from(self.outer_bytes);
        let packets = (bytes / each).clamp(2, MOST_PACKETS);
        (packets, packets * each)
    }

    /// Measures: questions, the longest packet, then `packets` each way at `rate_bit_s` at most, and far no faster than its own rate.
    pub fn run(self, packets: u64, rate_bit_s: u64) -> Result<PathFigures, ProbeError> {
        let wrong = |error: io::Error| ProbeError::Io(error.to_string());
        let udp = Udp::new(self.udp, None).map_err(wrong)?;
        let length = self.carrier.certain_datagram();
        let endpoint = Endpoint::near(
            self.carrier,
            self.far,
            self.key,
            &self.identity,
            Instant::now(),
        )
        .map_err(|error| ProbeError::Io(error.to_string()))?;
        let peer = endpoint.peers().next().ok_or(ProbeError::NoAnswer)?;
        let mut talk = Talk {
            endpoint,
            udp,
            peer,
            outer_bytes: self.outer_bytes,
            packet: Vec::new(),
            connected: None,
            ended: None,
            answers: Vec::new(),
            came: Came::default(),
        };
        talk.go_on(Instant::now() + self.connect_within, |it| {
            it.connected.is_some()
        })?;
        if talk.connected.is_none() {
            return Err(ProbeError::NoAnswer);
        }
        let mut found = PathFigures {
            round_trips: Vec::new(),
            questions: 0,
            udp_payload: 0,
            busy: false,
            clock_s: None,
            to_far: None,
            from_far: None,
        };
        let state = talk.round_trips(&mut found)?;
        found.udp_payload = talk.search()?;
        found.busy = state.is_some_and(|it| it.busy);
        if state.is_some() && !found.busy {
            let longest = found.round_trips.iter().max().copied().unwrap_or_default();
            let patience = longest + Duration::from_millis(300);
            found.to_far = talk.send_train(length, packets, rate_bit_s, patience)?;
            found.from_far = talk.receive_train(packets, rate_bit_s, patience)?;
        }
        talk.endpoint
            .close(Instant::now(), peer, 0, "the path is measured");
        // The other end hears of it, or finds it out.
        let _ = talk.turn();
        Ok(found)
    }
}
