//! One QUIC connection: its queues, its control stream, and the events it gives.

use super::liveness::Liveness;
use super::{Config, Statistics, Transmit};
use crate::event::{Event, SendError, Why};
use crate::framing::{self, Frame, FramingError, Kind, MAX_BODY_BYTES, Reader, Stream};
use crate::identity::PublicKey;
use crate::trust;
use bytes::{Buf, Bytes, BytesMut};
use noq_proto::{
    Connection, ConnectionError, ConnectionHandle, Dir, PathId, ReadError, Side, StreamEvent,
    StreamId, TransportError, VarInt, WriteError,
};
use rustls::AlertDescription;
use rustls::pki_types::CertificateDer;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Between two writes into the control stream. noq-proto ends a connection when a stream's receiver holds more than 1024 separate
/// pieces (`connection/assembler.rs`), so the number of packets with control messages is bounded: with `CONTROL_WINDOW` of 512 KiB, at
/// most about 600 + 440 are under way at 600 ms, and more than 1024 of them would have to be lost alternately.
const CONTROL_EVERY: Duration = Duration::from_millis(1);
/// What an event costs beyond its bytes, for the bounds of the receive queues.
const EVENT_BYTES: usize = size_of::<Event>();
/// The code of a close on QUIC's side that carries no code of the session.
const CLOSE_FRAMING: u32 = 1;
const CLOSE_HANDSHAKE: u32 = 2;
const CLOSE_REPLACED: u32 = 3;
/// The session's codes begin here, so that they cannot be taken for the carrier's.
const CLOSE_SESSION: u64 = 0x100;

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
    max_datagram: usize,
    /// A send was refused with `Full`, and `Writable` is due.
    refused_send: bool,
    limits: Limits,
}

/// The part of the configuration that a connection looks at all the time.
#[derive(Clone, Copy)]
struct Limits {
    datagram_send: usize,
    datagram_receive: usize,
    control: usize,
    handed_over: usize,
    segments: NonZeroUsize,
}

/// Datagrams under way to noq-proto, and from it.
#[derive(Default)]
struct Datagrams {
    waiting: VecDeque<Bytes>,
    waiting_bytes: usize,
    /// Bytes accepted since everything was sent. noq-proto writes datagrams before streams, so a queue that is filled up after every
    /// packet would keep control messages waiting for ever. No more are accepted than the queue holds until all that waits, control too, was
    /// sent.
    accepted_bytes: usize,
    /// Bytes of `events`.
    received_bytes: usize,
    /// Payload in noq-proto's queue.
    handed_over_bytes: usize,
    dropped_too_long_bytes: u64,
    dropped_unread: u64,
}

struct Control {
    stream: Option<StreamId>,
    /// Frames that are not yet in noq-proto's stream.
    waiting: BytesMut,
    next_write: Option<Instant>,
    /// The other end's window is full.
    stalled: bool,
    reader: Reader,
    /// Bytes of `events`.
    received_bytes: usize,
    /// There may be more to read when there is room in `events`.
    unread: bool,
}

impl Peer {
    pub fn new(now: Instant, handle: ConnectionHandle, conn: Connection, config: &Config) -> Self {
        let keep_alive = conn.side().is_client().then_some(config.keep_alive);
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
            datagrams: Datagrams::default(),
            control: Control {
                stream: None,
                waiting: BytesMut::new(),
                next_write: None,
                stalled: false,
                reader: Reader::new(Stream::QuicControl),
                received_bytes: 0,
                unread: false,
            },
            max_datagram: 0,
            refused_send: false,
            limits: Limits {
                datagram_send: config.datagram_send_bytes,
                datagram_receive: config.datagram_receive_bytes,
                control: config.control_bytes,
                handed_over: config.handed_over_bytes(),
                segments: NonZeroUsize::new(config.most_segments).unwrap_or(NonZeroUsize::MIN),
            },
        }
    }

    pub fn is_handshaking(&self) -> bool {
        matches!(self.state, State::Handshake { .. })
    }

    /// The proved key of the other end, while connected.
    pub fn connected_key(&self) -> Option<PublicKey> {
        self.key.filter(|_| self.state == State::Connected)
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
            Event::Datagram(body) => self.datagrams.received_bytes -= body.len() + EVENT_BYTES,
            Event::Control(body) => self.control.received_bytes -= body.len() + EVENT_BYTES,
            _ => {}
        }
        Some(event)
    }

    /// Whether control messages were left in the stream for want of room, and there is room now.
    pub fn can_read_on(&self) -> bool {
        self.control.unread && self.control.received_bytes < self.limits.control
    }

    pub fn send_datagram(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.check_connected()?;
        if body.is_empty() || body.len() > self.max_datagram {
            return Err(SendError::Length {
                most: self.max_datagram,
            });
        }
        let queue = &mut self.datagrams;
        if queue.waiting_bytes.max(queue.accepted_bytes) + body.len() > self.limits.datagram_send {
            self.refused_send = true;
            return Err(SendError::Full);
        }
        queue.waiting_bytes += body.len();
        queue.accepted_bytes += body.len();
        queue.waiting.push_back(Bytes::copy_from_slice(body));
        Ok(())
    }

    pub fn send_control(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.check_connected()?;
        if body.is_empty() || body.len() > MAX_BODY_BYTES {
            return Err(SendError::Length {
                most: MAX_BODY_BYTES,
            });
        }
        if self.control.waiting.len() + framing::HEADER_BYTES + body.len() > self.limits.control {
            self.refused_send = true;
            return Err(SendError::Full);
        }
        framing::write(Kind::Control, body, &mut self.control.waiting);
        Ok(())
    }

    fn check_connected(&self) -> Result<(), SendError> {
        if self.state == State::Connected {
            Ok(())
        } else {
            Err(SendError::NotConnected)
        }
    }

    /// The session closes.
    pub fn close(&mut self, now: Instant, code: u64, reason: &str) {
        let code = code
            .checked_add(CLOSE_SESSION)
            .and_then(|code| VarInt::from_u64(code).ok())
            .unwrap_or(VarInt::MAX);
        self.end(now, code, reason, Why::Local);
    }

    pub fn replace(&mut self, now: Instant) {
        self.end(
            now,
            VarInt::from_u32(CLOSE_REPLACED),
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
        let before = self.state;
        if before == State::Ended {
            return;
        }
        self.state = State::Ended;
        self.datagrams.waiting = VecDeque::new();
        self.control.waiting = BytesMut::new();
        let stranger = self.conn.side() == Side::Server && before != State::Connected;
        self.events
            .push_back(match self.conn.network_path(PathId::ZERO) {
                Ok(path) if stranger => Event::Refused {
                    from: path.remote(),
                    why,
                },
                _ => Event::Closed { why },
            });
    }

    /// The local addresses have changed: probe at once, with a new connection ID.
    pub fn network_changed(&mut self, now: Instant) {
        self.conn.handle_network_change(None, now);
        self.liveness.sent(now);
    }

    pub fn timeout(&self) -> Option<Instant> {
        let own = match self.state {
            State::Handshake { until } => Some(until),
            State::Connected => {
                let control = self
                    .control
                    .next_write
                    .filter(|_| !self.control.waiting.is_empty() && !self.control.stalled);
                self.liveness
                    .timeout(self.rtt())
                    .into_iter()
                    .chain(control)
                    .min()
            }
            State::Ended => None,
        };
        self.conn.poll_timeout().into_iter().chain(own).min()
    }

    pub fn handle_timeout(&mut self, now: Instant) {
        if self.conn.poll_timeout().is_some_and(|at| at <= now) {
            self.conn.handle_timeout(now);
        }
        match self.state {
            State::Handshake { until } if until <= now => {
                self.end(
                    now,
                    VarInt::from_u32(CLOSE_HANDSHAKE),
                    "the handshake took too long",
                    Why::HandshakeTimedOut,
                );
            }
            State::Connected if self.liveness.probe_due(now, self.rtt()) => {
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
                noq_proto::Event::ConnectionLost { reason } => self.ended(why_lost(reason)),
                noq_proto::Event::DatagramReceived => self.receive_datagrams(),
                noq_proto::Event::Stream(StreamEvent::Opened { dir: Dir::Bi }) => {
                    // The near end may open one, so there is no second.
                    if let Some(id) = self.conn.streams().accept(Dir::Bi) {
                        self.control.stream = Some(id);
                    }
                    self.control.unread = true;
                }
                noq_proto::Event::Stream(StreamEvent::Readable { .. }) => {
                    self.control.unread = true;
                }
                noq_proto::Event::Stream(StreamEvent::Writable { .. }) => {
                    self.control.stalled = false;
                }
                noq_proto::Event::Stream(StreamEvent::Stopped { .. }) => {
                    self.control_ended(now, None);
                }
                _ => {}
            }
        }
        self.read_control(now);
        self.watch_max_datagram();
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
        // TLS has checked it, so it is there.
        let Some(key) = key else {
            return self.end(
                now,
                VarInt::from_u32(CLOSE_HANDSHAKE),
                "no key",
                Why::OtherVersion,
            );
        };
        let Some(max_datagram) = self.conn.datagrams().max_size() else {
            return self.end(
                now,
                VarInt::from_u32(CLOSE_HANDSHAKE),
                "no datagrams",
                Why::OtherVersion,
            );
        };
        self.state = State::Connected;
        self.key = Some(key);
        self.max_datagram = max_datagram;
        self.liveness.heard(now);
        self.events
            .push_back(Event::Connected { key, max_datagram });
        if self.conn.side().is_client() {
            self.control.stream = self.conn.streams().open(Dir::Bi);
            // Without a first frame the far end would not know of the stream.
            framing::write(Kind::Open, &[], &mut self.control.waiting);
            self.write_control(now);
            self.control.next_write = None;
        }
    }

    fn receive_datagrams(&mut self) {
        while let Some(body) = self.conn.datagrams().recv() {
            // Empty ones fill a place in the other end's queue; see `purge`.
            if body.is_empty() || self.state != State::Connected {
                continue;
            }
            if self.datagrams.received_bytes + body.len() + EVENT_BYTES
                > self.limits.datagram_receive
            {
                self.datagrams.dropped_unread += 1;
                continue;
            }
            self.datagrams.received_bytes += body.len() + EVENT_BYTES;
            self.events.push_back(Event::Datagram(body));
        }
    }

    /// Reads the control stream as far as there is room. What is left in it holds back the other end, by QUIC's flow control.
    pub fn read_control(&mut self, now: Instant) {
        let Some(stream) = self.control.stream else {
            return;
        };
        if !self.can_read_on() || self.state != State::Connected {
            return;
        }
        self.control.unread = false;
        let mut receive = self.conn.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else {
            return self.control_ended(now, None);
        };
        let ended = loop {
            if self.control.received_bytes >= self.limits.control {
                self.control.unread = true;
                break None;
            }
            match chunks.next(MAX_BODY_BYTES) {
                Ok(Some(chunk)) => {
                    if let Err(error) =
                        take_frames(&mut self.control, &mut self.events, chunk.bytes)
                    {
                        break Some(Some(error));
                    }
                }
                Err(ReadError::Blocked) => break None,
                Ok(None) | Err(ReadError::Reset(_)) => break Some(None),
            }
        };
        // Grants more window, if so; `poll_transmit` follows.
        let _ = chunks.finalize();
        if let Some(error) = ended {
            self.control_ended(now, error);
        }
    }

    /// The control stream lives as long as the connection, so its end is an error.
    fn control_ended(&mut self, now: Instant, error: Option<FramingError>) {
        let why = error.map_or_else(
            || Why::Transport("the other end ended the control stream".into()),
            Why::Framing,
        );
        self.end(now, VarInt::from_u32(CLOSE_FRAMING), &why.to_string(), why);
    }

    fn watch_max_datagram(&mut self) {
        if self.state != State::Connected {
            return;
        }
        // noq-proto drops by itself when it finds that long packets no longer arrive.
        self.count_dropped();
        let now_max = self.conn.datagrams().max_size().unwrap_or(0);
        if now_max == self.max_datagram {
            return;
        }
        if now_max < self.max_datagram {
            self.purge(now_max);
        }
        self.max_datagram = now_max;
        self.events.push_back(Event::MaxDatagram(now_max));
    }

    /// The path takes only shorter packets than before. Longer datagrams that wait can never leave, and one at the head of noq-proto's
    /// queue would hold back all others. They are dropped and counted.
    fn purge(&mut self, max_datagram: usize) {
        let queue = &mut self.datagrams;
        let before = queue.waiting_bytes;
        queue.waiting.retain(|body| body.len() <= max_datagram);
        queue.waiting_bytes = queue.waiting.iter().map(Bytes::len).sum();
        queue.dropped_too_long_bytes += (before - queue.waiting_bytes) as u64;
        if queue.handed_over_bytes > 0 {
            // noq-proto's queue cannot be looked into. Empty datagrams push the others out; the other end ignores them.
            for _ in 0..=self.limits.handed_over / size_of::<noq_proto::Datagram>() {
                let _ = self.conn.datagrams().send(Bytes::new(), true);
            }
            self.count_dropped();
        }
    }

    /// Counts what left noq-proto's queue otherwise than in a packet.
    fn count_dropped(&mut self) {
        let left = self.handed_over_bytes();
        self.datagrams.dropped_too_long_bytes +=
            self.datagrams.handed_over_bytes.saturating_sub(left) as u64;
        self.datagrams.handed_over_bytes = left;
    }

    /// Payload in noq-proto's queue: its `send_buffer_space` takes off one header.
    fn handed_over_bytes(&mut self) -> usize {
        let free = self.conn.datagrams().send_buffer_space() + size_of::<noq_proto::Datagram>();
        self.limits.handed_over.saturating_sub(free)
    }

    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        if self.state == State::Connected {
            self.hand_over_datagrams(now);
            self.write_control(now);
        }
        let sent = self.conn.poll_transmit(now, self.limits.segments, out);
        self.datagrams.handed_over_bytes = self.handed_over_bytes();
        if sent.is_none() && self.state == State::Connected {
            // All that may be sent is sent, control messages too.
            self.datagrams.accepted_bytes = self.datagrams.waiting_bytes;
        }
        self.tell_writable();
        sent.map(|transmit| Transmit {
            destination: transmit.destination,
            source: transmit.src_ip,
            ecn: transmit.ecn,
            size: transmit.size,
            segment_size: transmit.segment_size,
        })
    }

    fn hand_over_datagrams(&mut self, now: Instant) {
        while let Some(body) = self.datagrams.waiting.pop_front() {
            let bytes = body.len();
            match self.conn.datagrams().send(body, false) {
                Ok(()) => {
                    self.datagrams.waiting_bytes -= bytes;
                    self.liveness.sent(now);
                }
                Err(noq_proto::SendDatagramError::Blocked(body)) => {
                    self.datagrams.waiting.push_front(body);
                    break;
                }
                Err(_) => {
                    self.datagrams.waiting_bytes -= bytes;
                    self.datagrams.dropped_too_long_bytes += bytes as u64;
                }
            }
        }
    }

    fn write_control(&mut self, now: Instant) {
        let Some(stream) = self.control.stream else {
            return;
        };
        if self.control.waiting.is_empty() || self.control.next_write.is_some_and(|at| at > now) {
            return;
        }
        match self.conn.send_stream(stream).write(&self.control.waiting) {
            Ok(bytes) => {
                self.control.waiting.advance(bytes);
                self.control.next_write = Some(now + CONTROL_EVERY);
                self.liveness.sent(now);
            }
            Err(WriteError::Blocked) => self.control.stalled = true,
            // `Stopped` comes as an event.
            Err(_) => {}
        }
    }

    fn tell_writable(&mut self) {
        let queue = &self.datagrams;
        let room_for_datagram = queue.waiting_bytes.max(queue.accepted_bytes) + self.max_datagram
            <= self.limits.datagram_send;
        let room_for_control = self.control.waiting.len() + framing::HEADER_BYTES + MAX_BODY_BYTES
            <= self.limits.control;
        if self.refused_send
            && self.state == State::Connected
            && room_for_datagram
            && room_for_control
        {
            self.refused_send = false;
            self.events.push_back(Event::Writable);
        }
    }

    pub fn max_datagram(&self) -> usize {
        self.max_datagram
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

fn take_frames(
    control: &mut Control,
    events: &mut VecDeque<Event>,
    mut bytes: Bytes,
) -> Result<(), FramingError> {
    while !bytes.is_empty() {
        let taken = control.reader.push(&bytes);
        bytes.advance(taken);
        while let Some(frame) = control.reader.next_frame()? {
            if let Frame::Control(body) = frame {
                control.received_bytes += body.len() + EVENT_BYTES;
                events.push_back(Event::Control(body));
            }
        }
    }
    Ok(())
}

fn why_lost(error: ConnectionError) -> Why {
    match error {
        ConnectionError::TransportError(error) => why_failed(&error),
        ConnectionError::ConnectionClosed(close) => match alert(close.error_code.into()) {
            Some(alert) => trust::why_alert(alert),
            None => Why::Transport(format!("the other end broke off: {close}")),
        },
        ConnectionError::ApplicationClosed(close) => {
            let code = u64::from(close.error_code);
            let reason = String::from_utf8_lossy(&close.reason).into_owned();
            match code.checked_sub(CLOSE_SESSION) {
                Some(code) => Why::Peer { code, reason },
                None if code == u64::from(CLOSE_REPLACED) => Why::Replaced,
                None if code == u64::from(CLOSE_HANDSHAKE) => Why::HandshakeTimedOut,
                None => Why::Transport(format!("the other end broke off: {reason}")),
            }
        }
        ConnectionError::Reset => Why::Reset,
        ConnectionError::TimedOut => Why::TimedOut,
        ConnectionError::VersionMismatch => Why::OtherVersion,
        ConnectionError::LocallyClosed => Why::Local,
        ConnectionError::CidsExhausted => Why::Transport(error.to_string()),
    }
}

fn why_failed(error: &TransportError) -> Why {
    let tls = error
        .crypto
        .as_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    tls.map_or_else(|| Why::Transport(error.to_string()), trust::why)
}

/// The TLS alert in a QUIC error code (RFC 9001, section 4.8).
fn alert(code: u64) -> Option<AlertDescription> {
    let alert = u8::try_from(code.checked_sub(0x100)?).ok()?;
    Some(AlertDescription::from(alert))
}
