//! One QUIC connection: its state, and the events it gives.

use super::control::{Broken, Control};
use super::datagrams::{Datagrams, Written};
use super::liveness::Liveness;
use super::{Config, Statistics, Transmit, codes};
use crate::event::{Event, SendError, Why};
use crate::framing::{self, MAX_BODY_BYTES};
use crate::identity::PublicKey;
use crate::trust;
use bytes::Bytes;
use noq_proto::{Connection, ConnectionHandle, PathId, StreamEvent, VarInt};
use rustls::pki_types::CertificateDer;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Handshake { until: Instant },
    Connected,
    Ended,
}

pub(super) struct Peer {
    pub handle: ConnectionHandle,
    pub conn: Connection,
    /// Whether the endpoint has it in its list of those that may have something to send, and of those that have events.
    pub in_sending: bool,
    pub in_telling: bool,
    state: State,
    key: Option<PublicKey>,
    events: VecDeque<Event>,
    liveness: Liveness,
    datagrams: Datagrams,
    control: Control,
    /// A send was refused with `Full`, and `Writable` is due.
    refused_send: bool,
    segments: NonZeroUsize,
    /// From where it was opened.
    opened_from: Option<SocketAddr>,
}

impl Peer {
    pub fn new(now: Instant, handle: ConnectionHandle, conn: Connection, config: &Config) -> Self {
        let keep_alive = conn.side().is_client().then_some(config.keep_alive);
        let path = conn.network_path(PathId::ZERO);
        let opened_from = path
            .ok()
            .filter(|_| conn.side().is_server())
            .map(|it| it.remote());
        Self {
            handle,
            conn,
            in_sending: false,
            in_telling: false,
            state: State::Handshake {
                until: now + config.handshake_timeout,
            },
            key: None,
            events: VecDeque::new(),
            liveness: Liveness::new(now, keep_alive),
            datagrams: Datagrams::new(config),
            control: Control::new(config),
            refused_send: false,
            segments: NonZeroUsize::new(config.most_segments).unwrap_or(NonZeroUsize::MIN),
            opened_from,
        }
    }

    pub fn is_handshaking(&self) -> bool {
        matches!(self.state, State::Handshake { .. })
    }

    fn is_connected(&self) -> bool {
        self.state == State::Connected
    }

    /// The proved key of the other end, while connected.
    pub fn connected_key(&self) -> Option<PublicKey> {
        self.key.filter(|_| self.is_connected())
    }

    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub fn heard(&mut self, now: Instant) {
        self.liveness.heard(now);
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        match &event {
            Event::Datagram(body) => self.datagrams.taken(body.len()),
            Event::Control(body) => self.control.taken(body.len()),
            _ => {}
        }
        Some(event)
    }

    /// Whether control messages were left in the stream for want of room, and there is room now.
    pub fn can_read_on(&self) -> bool {
        self.is_connected() && self.control.can_read()
    }

    pub fn send_datagram(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.check_connected()?;
        let sent = self.datagrams.send(body);
        self.refused_send |= sent == Err(SendError::Full);
        sent
    }

    /// Lets `write` append datagrams while there is room for one of the greatest length. If there is none left, `Writable` is due.
    pub fn send_datagrams(&mut self, write: impl FnMut(&mut Vec<u8>) -> bool) -> Written {
        if !self.is_connected() {
            return Written::default();
        }
        let written = self.datagrams.send_many(write);
        self.refused_send |= !self.datagrams.has_room(self.datagrams.longest);
        written
    }

    pub fn send_control(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.check_connected()?;
        let sent = self.control.send(body);
        self.refused_send |= sent == Err(SendError::Full);
        sent
    }

    fn check_connected(&self) -> Result<(), SendError> {
        if self.is_connected() {
            Ok(())
        } else {
            Err(SendError::NotConnected)
        }
    }

    /// The session closes.
    pub fn close(&mut self, now: Instant, code: u64, reason: &str) {
        self.end(now, codes::of_session(code), reason, Why::Local);
    }

    pub fn replace(&mut self, now: Instant) {
        self.end(
            now,
            codes::REPLACED,
            "replaced by a newer connection",
            Why::Replaced,
        );
    }

    fn end(&mut self, now: Instant, code: VarInt, reason: &str, why: Why) {
        self.conn.close(
            now,
            code,
            Bytes::copy_from_slice(framing::cut(reason).as_bytes()),
        );
        self.ended(why);
    }

    fn ended(&mut self, why: Why) {
        let before = std::mem::replace(&mut self.state, State::Ended);
        if before == State::Ended {
            return;
        }
        self.datagrams.clear();
        self.control.clear();
        self.events.push_back(match self.opened_from {
            Some(from) if before != State::Connected => Event::Refused { from, why },
            _ => Event::Closed { why },
        });
    }

    /// The last event of a connection that cannot be asked any more.
    pub fn fallen(self, why: Why) -> Event {
        match self.opened_from {
            Some(from) if !self.is_connected() => Event::Refused { from, why },
            _ => Event::Closed { why },
        }
    }

    /// The local addresses have changed: probe at once, with a new connection ID.
    pub fn network_changed(&mut self, now: Instant) {
        self.conn.handle_network_change(None, now);
        self.liveness.sent(now);
    }

    pub fn last_heard(&self) -> Instant {
        self.liveness.last_heard()
    }

    pub fn unanswered_since(&self) -> Option<Instant> {
        self.liveness.waiting().filter(|_| self.is_connected())
    }

    pub fn timeout(&self) -> Option<Instant> {
        let [first, second] = match self.state {
            State::Handshake { until } => [Some(until), None],
            State::Connected => [self.liveness.timeout(self.rtt()), self.control.timeout()],
            State::Ended => [None, None],
        };
        [self.conn.poll_timeout(), first, second]
            .into_iter()
            .flatten()
            .min()
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        if self.conn.poll_timeout().is_some_and(|at| at <= now) {
            self.conn.handle_timeout(now);
        }
        let rtt = self.rtt();
        match self.state {
            State::Handshake { until } if until <= now => {
                self.end(
                    now,
                    codes::HANDSHAKE,
                    "the handshake took too long",
                    Why::HandshakeTimedOut,
                );
            }
            State::Connected if self.liveness.probe_due(now, rtt) => {
                // The path can only be gone if the connection is.
                let _ = self.conn.ping_path(PathId::ZERO);
            }
            _ => {}
        }
    }

    /// Asks the connection what happened. To be called after everything that it was told.
    pub fn drive(&mut self, now: Instant) {
        while let Some(event) = self.conn.poll() {
            match event {
                noq_proto::Event::Connected => self.connected(now),
                noq_proto::Event::ConnectionLost { reason } => self.ended(codes::why(reason)),
                noq_proto::Event::DatagramReceived if self.is_connected() => {
                    self.datagrams.receive(&mut self.conn, &mut self.events);
                }
                noq_proto::Event::Stream(StreamEvent::Opened { .. }) => {
                    self.control.accept(&mut self.conn);
                }
                noq_proto::Event::Stream(StreamEvent::Readable { .. }) => self.control.readable(),
                noq_proto::Event::Stream(StreamEvent::Writable { .. }) => self.control.writable(),
                noq_proto::Event::Stream(StreamEvent::Stopped { .. }) => {
                    self.control_broke(now, Broken(None));
                }
                _ => {}
            }
        }
        if self.is_connected()
            && let Err(broken) = self.control.read(&mut self.conn, &mut self.events)
        {
            self.control_broke(now, broken);
        }
        if self.is_connected()
            && let Some(longest) = self.datagrams.new_longest(&mut self.conn)
        {
            self.events.push_back(Event::MaxDatagram(longest));
        }
    }

    fn connected(&mut self, now: Instant) {
        let key = self
            .conn
            .crypto_session()
            .peer_identity()
            .and_then(|identity| {
                let certificates = identity.downcast::<Vec<CertificateDer<'static>>>().ok()?;
                trust::key_of(&certificates)
            });
        // TLS has checked the key, so it is there. Another implementation might have no datagrams.
        let (Some(key), Some(max_datagram)) = (key, self.conn.datagrams().max_size()) else {
            return self.end(
                now,
                codes::HANDSHAKE,
                "no key, or no datagrams",
                Why::OtherVersion,
            );
        };
        self.state = State::Connected;
        self.key = Some(key);
        self.datagrams.longest = max_datagram;
        self.liveness.heard(now);
        self.events
            .push_back(Event::Connected { key, max_datagram });
        if self.conn.side().is_client() {
            self.control.open(&mut self.conn, now);
        }
    }

    /// The control stream lives as long as the connection.
    fn control_broke(&mut self, now: Instant, broken: Broken) {
        let ended = || Why::Transport("the other end ended the control stream".into());
        let why = broken.0.map_or_else(ended, Why::Framing);
        self.end(now, codes::FRAMING, &why.to_string(), why);
    }

    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        if self.is_connected() {
            let handed_over = self.datagrams.hand_over(&mut self.conn);
            let wrote = self.control.write(&mut self.conn, now);
            if handed_over || wrote {
                self.liveness.sent(now);
            }
        }
        let sent = self.conn.poll_transmit(now, self.segments, out);
        if self.is_connected() {
            self.datagrams.transmitted(&mut self.conn, sent.is_none());
            let room = self.datagrams.has_room(self.datagrams.longest)
                && self.control.has_room(MAX_BODY_BYTES);
            if self.refused_send && room {
                self.refused_send = false;
                self.events.push_back(Event::Writable);
            }
        }
        sent.map(|transmit| Transmit {
            destination: transmit.destination,
            source: transmit.src_ip,
            ecn: transmit.ecn,
            size: transmit.size,
            segment_size: transmit.segment_size,
        })
    }

    pub fn max_datagram(&self) -> usize {
        self.datagrams.longest
    }

    fn rtt(&self) -> Duration {
        self.conn.rtt(PathId::ZERO).unwrap_or_default()
    }

    pub fn statistics(&mut self) -> Statistics {
        let path = self.conn.path_stats(PathId::ZERO).unwrap_or_default();
        Statistics {
            rtt: path.rtt,
            mtu: path.current_mtu,
            packets_sent: path.sent_packets,
            packets_lost: path.lost_packets,
            bytes_sent: path.udp_tx.bytes,
            bytes_received: path.udp_rx.bytes,
            last_heard: self.liveness.last_heard(),
            datagram_bytes_dropped_too_long: self.datagrams.dropped_too_long_bytes,
            datagrams_dropped_unread: self.datagrams.dropped_unread,
        }
    }
}
