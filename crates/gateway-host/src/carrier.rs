//! The session's carrier: the QUIC endpoint on the UDP socket, which of its connections carries the session, and what it sends itself.

use crate::Peer;
use crate::clock::Now;
use crate::report::{CarrierReport, UdpReport};
use crate::udp::Udp;
use bentpipe_carrier::identity::Identity;
use bentpipe_carrier::quic::{self, Endpoint};
use bentpipe_carrier::{Event, PeerId};
use bentpipe_gateway::Session;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Near connects again after a pause, which doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Packets that are read before what they bring is worked on.
const PACKETS_PER_TURN: usize = 64;
/// The code of a close by the session's rules.
const SESSION_ENDED: u64 = 1;
/// Headers that turned out shorter than the pacer counted them make up for so many bytes of the carrier's own, and no more.
const MOST_SPARED: i64 = 4096;

#[derive(Debug)]
pub(crate) struct Carrier {
    endpoint: Endpoint,
    udp: Udp,
    is_near: bool,
    /// The connection that carries the session.
    peer: Option<PeerId>,
    /// When near connects again, and how long it waits after the next failure.
    connect_at: Option<Instant>,
    pause: Duration,
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
}

impl Carrier {
    pub fn new(
        mut config: quic::Config,
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
        let (endpoint, is_near) = match *peer {
            Peer::Far { address, key } => (Endpoint::near(config, address, key, own, now), true),
            Peer::Near { key } => (
                Endpoint::far(config, own, BTreeSet::from([key]), now),
                false,
            ),
        };
        let endpoint =
            endpoint.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Self {
            endpoint,
            udp,
            is_near,
            peer: None,
            connect_at: None,
            pause: FIRST_PAUSE,
            packet: Vec::new(),
            held: None,
            datagram: Vec::new(),
            max_datagram,
            outer_bytes,
            uncounted: 0,
            report: CarrierReport::default(),
        })
    }

    /// Whether the socket's buffer is full.
    pub fn is_blocked(&self) -> bool {
        self.held.is_some()
    }

    pub fn timeout(&self) -> Option<Instant> {
        let own = self.endpoint.poll_timeout();
        own.into_iter().chain(self.connect_at).min()
    }

    pub fn handle_timeout(&mut self, now: Now) {
        if self
            .endpoint
            .poll_timeout()
            .is_some_and(|at| at <= now.instant)
        {
            self.endpoint.handle_timeout(now.instant);
        }
        if self.connect_at.is_some_and(|at| at <= now.instant) {
            self.connect_at = None;
            if self.endpoint.connect(now.instant).is_err() {
                self.connect_later(now);
            }
        }
    }

    /// Reads what has come. Whether there may be more.
    pub fn receive(&mut self, now: Now) -> bool {
        let endpoint = &mut self.endpoint;
        let mut taken = 0;
        while taken < PACKETS_PER_TURN {
            let more = self.udp.receive(|from, packet| {
                taken += 1;
                endpoint.handle(now.instant, from, None, None, packet);
            });
            if !more {
                return false;
            }
        }
        true
    }

    /// Passes on what the carrier says.
    pub fn settle(&mut self, now: Now, session: &mut Session) {
        while let Some((peer, event)) = self.endpoint.poll_event(now.instant) {
            let carries = self.peer == Some(peer);
            match event {
                Event::Connected { .. } => {
                    if let Some(old) = self.peer.replace(peer) {
                        self.endpoint.close(
                            now.instant,
                            old,
                            0,
                            "a newer connection took its place",
                        );
                    }
                    self.report.connections += 1;
                    session.on_carrier_connected(now.time, self.max_datagram);
                }
                Event::Datagram(datagram) if carries => {
                    session.handle_datagram(now.time, &datagram);
                }
                Event::Control(message) if carries => session.handle_control(now.time, &message),
                Event::Closed { why } => {
                    self.report.last_end = Some(why.to_string());
                    if carries {
                        self.peer = None;
                        session.on_carrier_lost(now.time);
                    } else {
                        self.report.refused += u64::from(self.is_near);
                    }
                    if self.is_near && self.peer.is_none() {
                        self.connect_later(now);
                    }
                }
                Event::Refused { why, .. } => {
                    self.report.refused += 1;
                    self.report.last_end = Some(why.to_string());
                }
                _ => {}
            }
        }
        if let Some(peer) = self.peer {
            while let Some(message) = session.poll_control() {
                // A session has few and short ones. One that is not taken is of a connection that ends.
                let _ = self.endpoint.send_control(peer, &message);
            }
        }
    }

    fn connect_later(&mut self, now: Now) {
        self.connect_at = Some(now.instant + self.pause);
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
    }

    /// There is a session over this connection: the next failure is a new one.
    pub fn on_established(&mut self) {
        self.pause = FIRST_PAUSE;
    }

    /// The session has ended by its own rules: the connection ends, and near makes a new one.
    pub fn end(&mut self, now: Now, reason: &str) {
        if let Some(peer) = self.peer {
            self.flush(now);
            self.endpoint
                .close(now.instant, peer, SESSION_ENDED, reason);
        }
    }

    /// Sends what may be sent now. Whether any of it was the session's.
    pub fn send(&mut self, now: Now, session: &mut Session) -> bool {
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
        let Some(peer) = self.peer else {
            return false;
        };
        let mut filled = false;
        while self.endpoint.has_room(peer) {
            self.datagram.clear();
            let Some(it) = session.poll_datagram(now.time, &mut self.datagram) else {
                break;
            };
            filled = true;
            self.uncounted -= it.bytes as i64 + i64::from(self.outer_bytes);
            if self.endpoint.send_datagram(peer, &self.datagram).is_err() {
                self.report.datagrams_dropped += 1;
            }
        }
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
        if let Some(peer) = self.peer.take() {
            self.endpoint
                .close(now.instant, peer, 0, "this gateway was stopped");
            self.flush(now);
        }
    }

    pub fn report(&mut self) -> (CarrierReport, UdpReport) {
        let mut report = self.report.clone();
        if let Some(of_peer) = self.peer.and_then(|peer| self.endpoint.statistics(peer)) {
            report.datagrams_dropped += of_peer.datagrams_dropped_unread;
        }
        (report, self.udp.report())
    }
}

impl AsFd for Carrier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }
}
