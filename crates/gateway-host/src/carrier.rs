//! The session's carrier: the QUIC endpoint on the UDP socket, TLS over TCP beside it, which of all connections carries the session, and what
//! they send themselves.
//!
//! Near decides ([`Choice`]). Its first control message on a connection takes the session there, and far follows.

pub(crate) mod measure;
mod near;

use crate::choice::{Choice, ChoiceConfig, Kind};
use crate::clock::Now;
use crate::report::{CarrierKind, CarrierReport, UdpReport};
use crate::tcp::{LinkId, Tcp};
use crate::udp::Udp;
use crate::{Peer, tcp};
use bentpipe_carrier::identity::Identity;
use bentpipe_carrier::quic::{self, Endpoint};
use bentpipe_carrier::{Event, PeerId, Why};
use bentpipe_gateway::Session;
use near::Near;
use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

/// Packets that are read before what they bring is worked on.
const PACKETS_PER_TURN: usize = 64;
/// The code of a close by the session's rules.
const SESSION_ENDED: u64 = 1;
/// Headers that turned out shorter than the pacer counted them make up for so many bytes of the carrier's own, and no more.
const MOST_SPARED: i64 = 4096;

/// One connection, of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Quic(PeerId),
    Tls(LinkId),
}

impl Line {
    fn kind(self) -> Kind {
        match self {
            Self::Quic(_) => Kind::Quic,
            Self::Tls(_) => Kind::Tls,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Carrier {
    endpoint: Endpoint,
    udp: Udp,
    tcp: Option<Tcp>,
    /// What came over TCP and was not looked at yet.
    told: VecDeque<(LinkId, Event)>,
    /// `None`: this is far.
    near: Option<Near>,
    /// The connection that carries the session.
    line: Option<Line>,
    /// Far: the one that did before.
    replaced: Option<Line>,
    packet: Vec<u8>,
    /// `packet` waits for room in the socket's buffer. It is for this address, in packets of so many bytes.
    held: Option<(SocketAddr, usize)>,
    datagram: Vec<u8>,
    /// The longest that every connection takes, so that the session can go on over the next one.
    max_datagram: usize,
    /// What the session's pacer counts for a datagram beside its own bytes.
    outer_bytes: u32,
    /// Bytes that were sent, less those that the session's pacer has counted.
    uncounted: i64,
    report: CarrierReport,
    measure: measure::Measure,
}

impl Carrier {
    pub fn new(
        mut config: quic::Config,
        choice: ChoiceConfig,
        own: &Identity,
        peer: &Peer,
        udp: Udp,
        outer_bytes: u32,
        now: Instant,
    ) -> io::Result<Self> {
        config.most_segments = udp.most_segments(
            config
                .certain_udp_payload
                .max(config.largest_udp_payload)
                .into(),
        );
        let max_datagram = config.certain_datagram();
        let endpoint = match *peer {
            Peer::Far { address, key } => Endpoint::near(config, address, key, own, now),
            Peer::Near { key } => Endpoint::far(config, own, BTreeSet::from([key]), now),
        };
        let endpoint =
            endpoint.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        // The endpoint has begun to connect.
        let near = matches!(peer, Peer::Far { .. })
            .then(|| Near::new(Choice::new(choice, now), endpoint.peers().next()));
        Ok(Self {
            endpoint,
            udp,
            tcp: None,
            told: VecDeque::new(),
            near,
            line: None,
            replaced: None,
            packet: Vec::new(),
            held: None,
            datagram: Vec::new(),
            max_datagram,
            outer_bytes,
            uncounted: 0,
            report: CarrierReport::default(),
            measure: measure::Measure::default(),
        })
    }

    /// There is TLS over TCP, too.
    pub fn add_tcp(&mut self, epoll: Arc<OwnedFd>, number: u64, ends: tcp::Ends) -> io::Result<()> {
        self.tcp = Some(Tcp::new(epoll, number, ends, self.max_datagram)?);
        if let Some(near) = &mut self.near {
            near.choice.allow_tls();
        }
        Ok(())
    }

    /// Whether the UDP socket's buffer is full.
    pub fn is_udp_full(&self) -> bool {
        self.held.is_some()
    }

    /// Whether nothing more of the session can be sent until a socket has room.
    pub fn is_blocked(&mut self) -> bool {
        match (self.line, &mut self.tcp) {
            (Some(Line::Tls(link)), Some(tcp)) => !tcp.has_room(link),
            _ => self.held.is_some(),
        }
    }

    /// Something happened at a TCP socket.
    pub fn tcp_happened(&mut self) {
        if let Some(tcp) = &mut self.tcp {
            tcp.happened();
        }
    }

    pub fn timeout(&mut self) -> Option<Instant> {
        self.look_for_silence();
        let quic = self.endpoint.poll_timeout();
        let tcp = self.tcp.as_ref().and_then(Tcp::timeout);
        let choice = self.near.as_ref().and_then(|near| near.choice.timeout());
        let measure = self.measure_timeout();
        [quic, tcp, choice, measure].into_iter().flatten().min()
    }

    pub fn handle_timeout(&mut self, now: Now) {
        if self
            .endpoint
            .poll_timeout()
            .is_some_and(|at| at <= now.instant)
        {
            self.endpoint.handle_timeout(now.instant);
        }
    }

    fn take_session_to(&mut self, line: Line, now: Now, session: &mut Session) {
        self.line = Some(line);
        self.report.connections += 1;
        let is_tls = line.kind() == Kind::Tls;
        self.report.tls_connections += u64::from(is_tls);
        session.on_carrier_connected(now.time, self.max_datagram);
        // TCP repeats what is lost.
        session.set_reliable(is_tls);
    }

    fn close_line(&mut self, now: Now, line: Line, code: u64, reason: &str) {
        match (line, &mut self.tcp) {
            (Line::Quic(peer), _) => self.endpoint.close(now.instant, peer, code, reason),
            (Line::Tls(link), Some(tcp)) => tcp.close(link, code, reason),
            (Line::Tls(_), None) => {}
        }
    }

    /// Reads what has come. Whether there may be more.
    pub fn receive(&mut self, now: Now) -> bool {
        let endpoint = &mut self.endpoint;
        let mut taken = 0;
        while taken < PACKETS_PER_TURN {
            let more = self.udp.receive(|from, packets, segment| {
                taken += packets.len().div_ceil(segment);
                endpoint.handle_packets(now.instant, from, None, None, packets, segment);
            });
            if !more {
                break;
            }
        }
        let told = &mut self.told;
        let more = self
            .tcp
            .as_mut()
            .is_some_and(|tcp| tcp.go_on(now.instant, |link, event| told.push_back((link, event))));
        more || taken >= PACKETS_PER_TURN
    }

    /// Passes on what the connections say.
    pub fn settle(&mut self, now: Now, session: &mut Session) {
        while let Some((peer, event)) = self.endpoint.poll_event(now.instant) {
            self.on_event(Line::Quic(peer), event, now, session);
        }
        while let Some((link, event)) = self.told.pop_front() {
            self.on_event(Line::Tls(link), event, now, session);
        }
        self.choose(now, session);
        while let Some(line) = self.line
            && let Some(message) = session.poll_control()
        {
            match (line, &mut self.tcp) {
                (Line::Quic(peer), _) => {
                    // A session has few and short ones. One that is not taken is of a connection that ends.
                    let _ = self.endpoint.send_control(peer, &message);
                }
                (Line::Tls(link), Some(tcp)) => tcp.send_control(link, &message),
                (Line::Tls(_), None) => {}
            }
        }
    }

    fn on_event(&mut self, line: Line, event: Event, now: Now, session: &mut Session) {
        let carries = self.line == Some(line);
        match event {
            Event::Connected { .. } => {
                if let Some(near) = &mut self.near
                    && near.has(line)
                {
                    near.choice.on_connected(now.instant, line.kind());
                }
            }
            Event::Datagram(datagram) if carries => session.handle_datagram(now.time, &datagram),
            Event::Datagram(datagram) => self.on_stray_datagram(now, line, &datagram),
            Event::Control(message) if carries => session.handle_control(now.time, &message),
            // What a line says that another one has replaced came too late.
            Event::Control(message) if self.near.is_none() && self.replaced != Some(line) => {
                let old = self.line;
                self.replaced = old;
                self.take_session_to(line, now, session);
                session.handle_control(now.time, &message);
                if let Some(old) = old {
                    self.close_line(now, old, 0, "a newer connection took its place");
                }
            }
            Event::Closed { why } => {
                if carries {
                    self.line = None;
                    session.on_carrier_lost(now.time);
                }
                let Some(near) = &mut self.near else {
                    self.report.last_end = Some(why.to_string());
                    return;
                };
                // What near has dropped is of no interest.
                if near.has(line) {
                    // TCP that does not get through says nothing of QUIC.
                    if carries || line.kind() == Kind::Quic {
                        self.report.last_end = Some(why.to_string());
                        // With TLS 1.3 near is ready before far has looked at its key.
                        if !carries || why == Why::KeyNotAllowed {
                            self.report.refused += 1;
                            self.report.last_refused = Some(why.to_string());
                        }
                    }
                    near.forget(line);
                    near.choice.on_ended(now.instant, line.kind());
                }
            }
            Event::Refused { from, why } => {
                self.report.refused += 1;
                self.report.last_refused = Some(format!("{}: {why}", from.ip().to_canonical()));
                self.report.last_end = Some(why.to_string());
            }
            _ => {}
        }
    }

    /// There is a session over this connection: the next failure is a new one.
    pub fn on_established(&mut self) {
        if let Some(near) = &mut self.near {
            near.choice.on_established();
        }
    }

    /// The session has ended by its own rules: the connection ends, and near makes a new one.
    pub fn end(&mut self, now: Now, reason: &str) {
        if let Some(line) = self.line {
            self.flush(now);
            self.close_line(now, line, SESSION_ENDED, reason);
        }
    }

    /// Sends what may be sent now. Whether any of it was the session's.
    pub fn send(&mut self, now: Now, session: &mut Session) -> bool {
        self.send_train(now);
        let mut sent = false;
        while self.flush(now) && self.fill(now, session) {
            sent = true;
        }
        // Acknowledgements and probes are the carrier's own. The session's rate is that of the path, so it makes room for them.
        self.uncounted = self.uncounted.max(-MOST_SPARED);
        if self.uncounted > 0 {
            session.on_carrier_sent(now.time, self.uncounted as u64);
            self.uncounted = 0;
        }
        sent
    }

    /// Gives the carrier datagrams, as many as there are and it takes. Whether there was one.
    fn fill(&mut self, now: Now, session: &mut Session) -> bool {
        let peer = match (self.line, &mut self.tcp) {
            (Some(Line::Quic(peer)), _) => peer,
            (Some(Line::Tls(link)), Some(tcp)) => {
                return Self::fill_tls(tcp, link, &mut self.datagram, now, session);
            }
            _ => return false,
        };
        let mut counted = 0;
        let outer_bytes = i64::from(self.outer_bytes);
        let written = self.endpoint.send_datagrams(peer, |out| {
            let sent = session.poll_datagram(now.time, out);
            counted += sent.map_or(0, |it| it.bytes as i64 + outer_bytes);
            sent.is_some()
        });
        self.uncounted -= counted;
        self.report.datagrams_dropped += written.refused as u64;
        written.taken + written.refused > 0
    }

    /// Over TCP a datagram's headers are about what the session's pacer counts.
    fn fill_tls(
        tcp: &mut Tcp,
        link: LinkId,
        datagram: &mut Vec<u8>,
        now: Now,
        session: &mut Session,
    ) -> bool {
        let mut filled = false;
        while tcp.has_room(link) {
            datagram.clear();
            if session.poll_datagram(now.time, datagram).is_none() {
                break;
            }
            filled |= tcp.send_datagram(link, datagram);
        }
        tcp.flush(link);
        filled
    }

    /// Sends the carrier's packets. False: the socket's buffer is full.
    fn flush(&mut self, now: Now) -> bool {
        if let Some((to, segment)) = self.held {
            if !self.udp.send_rest(to, &mut self.packet, segment) {
                return false;
            }
            self.held = None;
        }
        while let Some(transmit) = self.endpoint.poll_transmit(now.instant, &mut self.packet) {
            self.packet.truncate(transmit.size);
            let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
            let packets = transmit.size.div_ceil(segment);
            self.uncounted +=
                transmit.size as i64 + packets as i64 * i64::from(self.udp.header_bytes());
            let to = transmit.destination;
            if !self.udp.send(to, &mut self.packet, segment) {
                self.held = Some((to, segment));
                return false;
            }
        }
        true
    }

    /// Tells the other gateway that this one ends.
    pub fn close(&mut self, now: Now) {
        if let Some(line) = self.line.take() {
            self.close_line(now, line, 0, "this gateway was stopped");
            self.flush(now);
        }
    }

    pub fn report(&mut self) -> (CarrierReport, UdpReport) {
        let mut report = self.report.clone();
        (report.retried, report.ignored) = self.endpoint.strangers();
        report.kind = self.line.as_ref().map(|line| match line {
            Line::Quic(_) => CarrierKind::Quic,
            Line::Tls(_) => CarrierKind::Tls,
        });
        if let Some(Line::Quic(peer)) = self.line
            && let Some(of_peer) = self.endpoint.statistics(peer)
        {
            report.datagrams_dropped += of_peer.datagrams_dropped_unread;
            report.last_heard = Some(of_peer.last_heard);
            report.round_trip = Some(of_peer.rtt);
        }
        (report, self.udp.report())
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }
}
