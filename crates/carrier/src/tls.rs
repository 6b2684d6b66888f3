//! The carrier over a TCP byte stream: TLS 1.3 with the same keys and the same messages as [`crate::quic`], for paths that let no UDP
//! through.
//!
//! A [`Carrier`] is one connection. The driver owns the socket and does this:
//!
//! - what was read goes to [`Carrier::handle_bytes`], and what it did not take goes to it again after `poll_event`;
//! - while the socket takes something, [`Carrier::poll_bytes`] gives what to write;
//! - [`Carrier::poll_event`] is asked after either;
//! - a connection that has not connected in time is dropped: there is no clock here.
//!
//! TCP repeats what is lost and keeps the order, so datagrams are not lost here. Control messages overtake datagrams that wait.

use crate::event::{Event, SendError, Why};
use crate::framing::{self, Frame, Kind, MAX_BODY_BYTES, Reader, Stream};
use crate::identity::{Identity, PublicKey};
use crate::trust;
use bytes::{Bytes, BytesMut};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConfig, ServerConnection};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

/// Plaintext that one `poll_bytes` encrypts at most, if no frame is longer: small, so that control messages soon get their turn.
const BATCH_BYTES: usize = 16 * 1024;
const EVENT_BYTES: usize = size_of::<Event>();

/// How a TLS carrier behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The longest datagram, in bytes, at most 16384. The default is what QUIC certainly takes too
    /// ([`crate::quic::Config::certain_datagram`]), so that a session can move from one to the other.
    pub max_datagram: usize,
    /// Bytes of datagrams that wait to be sent.
    pub datagram_send_bytes: usize,
    /// Bytes of control messages that wait to be sent.
    pub control_bytes: usize,
    /// Bytes of messages that wait for `poll_event`. No more are read from the stream then.
    pub receive_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            max_datagram: 1162,
            datagram_send_bytes: 64 * 1024,
            control_bytes: 512 * 1024,
            receive_bytes: 1024 * 1024,
        }
    }
}

/// What the far end's connections have in common: its key, and whom it lets in.
#[derive(Clone, Debug)]
pub struct FarEnd(Arc<ServerConfig>);

impl FarEnd {
    pub fn new(own: &Identity, allowed: BTreeSet<PublicKey>) -> Self {
        Self(Arc::new(trust::far(own, allowed)))
    }

    /// For a far end that does not know its near end yet: whoever proves to have a key gets in, and what it says has to show more. Never for a
    /// session.
    pub fn for_any(own: &Identity) -> Self {
        Self(Arc::new(trust::far_for_any(own)))
    }

    /// The carrier of a connection that was accepted.
    pub fn carrier(&self, config: Config) -> Carrier {
        let connection =
            ServerConnection::new(self.0.clone()).expect("the configuration is complete");
        Carrier::new(config, connection.into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Handshake,
    Connected,
    Ended,
}

/// One connection.
pub struct Carrier {
    tls: Connection,
    config: Config,
    state: State,
    reader: Reader,
    events: VecDeque<Event>,
    received_bytes: usize,
    /// Frames that wait to be encrypted.
    control: VecDeque<Bytes>,
    control_bytes: usize,
    datagrams: VecDeque<Bytes>,
    datagram_bytes: usize,
    refused_send: bool,
}

impl Carrier {
    /// The near end's carrier, on a TCP connection to the far end, which must have the key `far_key`.
    pub fn near(config: Config, far_key: PublicKey, own: &Identity) -> Self {
        let name = ServerName::try_from(trust::SERVER_NAME).expect("a name");
        let connection = ClientConnection::new(Arc::new(trust::near(own, far_key)), name);
        Self::new(
            config,
            connection.expect("the configuration is complete").into(),
        )
    }

    fn new(mut config: Config, mut tls: Connection) -> Self {
        config.max_datagram = config.max_datagram.clamp(1, MAX_BODY_BYTES);
        // Ours are the only bounds: a batch always fits.
        tls.set_buffer_limit(None);
        Self {
            tls,
            config,
            state: State::Handshake,
            reader: Reader::new(Stream::Tls),
            events: VecDeque::new(),
            received_bytes: 0,
            control: VecDeque::new(),
            control_bytes: 0,
            datagrams: VecDeque::new(),
            datagram_bytes: 0,
            refused_send: false,
        }
    }

    /// Takes bytes that were read from the stream, and returns how many. If it did not take all, the receive queue is full: give it the
    /// rest after `poll_event`, and read no more until then.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> usize {
        let mut left = bytes;
        while !left.is_empty()
            && self.state != State::Ended
            && self.received_bytes < self.config.receive_bytes
        {
            match self.tls.read_tls(&mut left) {
                // After a close_notify.
                Ok(0) => break,
                Ok(_) => self.process(),
                Err(error) => self.ended(Why::Transport(error.to_string())),
            }
        }
        // An end that is over reads on to nowhere, so that the driver comes to the end of the stream.
        if self.state == State::Ended {
            bytes.len()
        } else {
            bytes.len() - left.len()
        }
    }

    /// The stream has ended: nothing more can be read from it.
    pub fn handle_end(&mut self) {
        self.ended(Why::Cut);
    }

    fn process(&mut self) {
        let state = match self.tls.process_new_packets() {
            Ok(state) => state,
            Err(error) => return self.ended(trust::why(&error)),
        };
        if self.state == State::Handshake && !self.tls.is_handshaking() {
            self.connected();
        }
        let mut plain = [0; 4096];
        while self.state == State::Connected {
            let Ok(bytes @ 1..) = self.tls.reader().read(&mut plain) else {
                break;
            };
            self.take_frames(&plain[..bytes]);
        }
        if state.peer_has_closed() {
            self.ended(Why::Cut);
        }
    }

    fn connected(&mut self) {
        let key = self.tls.peer_certificates().and_then(trust::key_of);
        match key {
            Some(key) if self.tls.alpn_protocol() == Some(crate::PROTOCOL.as_bytes()) => {
                self.state = State::Connected;
                self.events.push_back(Event::Connected {
                    key,
                    max_datagram: self.config.max_datagram,
                });
            }
            _ => {
                self.tls.send_close_notify();
                self.ended(Why::OtherVersion);
            }
        }
    }

    fn take_frames(&mut self, mut plain: &[u8]) {
        while !plain.is_empty() && self.state == State::Connected {
            let taken = self.reader.push(plain);
            plain = &plain[taken..];
            loop {
                let event = match self.reader.next_frame() {
                    Ok(None) => break,
                    Ok(Some(Frame::Open)) => continue,
                    Ok(Some(Frame::Control(body))) => Event::Control(body),
                    Ok(Some(Frame::Datagram(body))) => Event::Datagram(body),
                    Ok(Some(Frame::Close { code, reason })) => {
                        return self.ended(Why::Peer { code, reason });
                    }
                    Err(error) => return self.end(0, &error.to_string(), Why::Framing(error)),
                };
                if let Event::Control(body) | Event::Datagram(body) = &event {
                    self.received_bytes += body.len() + EVENT_BYTES;
                }
                self.events.push_back(event);
            }
        }
    }

    fn ended(&mut self, why: Why) {
        if self.state != State::Ended {
            self.state = State::Ended;
            self.control = VecDeque::new();
            self.datagrams = VecDeque::new();
            self.events.push_back(Event::Closed { why });
        }
    }

    /// Ends the connection. The other end is told `code` and the first 256 bytes of `reason`. What waits to be sent is dropped.
    pub fn close(&mut self, code: u64, reason: &str) {
        self.end(code, reason, Why::Local);
    }

    fn end(&mut self, code: u64, reason: &str, why: Why) {
        if self.state == State::Connected {
            let mut frame = BytesMut::new();
            framing::write_close(code, reason, &mut frame);
            self.encrypt(&frame);
        }
        if self.state != State::Ended {
            self.tls.send_close_notify();
        }
        self.ended(why);
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        if let Event::Control(body) | Event::Datagram(body) = &event {
            self.received_bytes -= body.len() + EVENT_BYTES;
        }
        Some(event)
    }

    /// Appends what to write to the stream next, and returns whether there was anything. To be called when the stream takes something, and
    /// what was given before is written: what waits here can still be overtaken.
    pub fn poll_bytes(&mut self, out: &mut Vec<u8>) -> bool {
        if !self.tls.wants_write() && self.state == State::Connected {
            let mut batch = Vec::new();
            while batch.len() < BATCH_BYTES {
                let (queue, bytes) = if self.control.is_empty() {
                    (&mut self.datagrams, &mut self.datagram_bytes)
                } else {
                    (&mut self.control, &mut self.control_bytes)
                };
                let Some(frame) = queue.pop_front() else {
                    break;
                };
                *bytes -= frame.len();
                batch.extend_from_slice(&frame);
            }
            self.encrypt(&batch);
            self.tell_writable();
        }
        let before = out.len();
        while self.tls.wants_write() {
            self.tls.write_tls(out).expect("a vector takes everything");
        }
        out.len() > before
    }

    fn encrypt(&mut self, plain: &[u8]) {
        self.tls
            .writer()
            .write_all(plain)
            .expect("there is no limit to the buffer");
    }

    /// Takes a datagram of 1 to `max_datagram` bytes.
    pub fn send_datagram(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.check(body, self.config.max_datagram)?;
        if !self.room(
            self.datagram_bytes,
            body.len(),
            self.config.datagram_send_bytes,
        ) {
            return Err(SendError::Full);
        }
        let frame = frame(Kind::Datagram, body);
        self.datagram_bytes += frame.len();
        self.datagrams.push_back(frame);
        Ok(())
    }

    /// Takes a control message of 1 to 16384 bytes.
    pub fn send_control(&mut self, body: &[u8]) -> Result<(), SendError> {
        self.check(body, MAX_BODY_BYTES)?;
        if !self.room(self.control_bytes, body.len(), self.config.control_bytes) {
            return Err(SendError::Full);
        }
        let frame = frame(Kind::Control, body);
        self.control_bytes += frame.len();
        self.control.push_back(frame);
        Ok(())
    }

    /// Whether `send_datagram` would take a datagram of `max_datagram` bytes. If not, `Event::Writable` follows when it would.
    pub fn has_room(&mut self) -> bool {
        let bytes = self.config.max_datagram;
        self.state == State::Connected
            && self.room(self.datagram_bytes, bytes, self.config.datagram_send_bytes)
    }

    fn check(&self, body: &[u8], most: usize) -> Result<(), SendError> {
        if self.state != State::Connected {
            Err(SendError::NotConnected)
        } else if body.is_empty() || body.len() > most {
            Err(SendError::Length { most })
        } else {
            Ok(())
        }
    }

    fn room(&mut self, waiting: usize, body: usize, most: usize) -> bool {
        let room = fits(waiting, body, most);
        self.refused_send |= !room;
        room
    }

    fn tell_writable(&mut self) {
        let config = &self.config;
        let room = fits(
            self.datagram_bytes,
            config.max_datagram,
            config.datagram_send_bytes,
        ) && fits(self.control_bytes, MAX_BODY_BYTES, config.control_bytes);
        if self.refused_send && room {
            self.refused_send = false;
            self.events.push_back(Event::Writable);
        }
    }

    pub fn max_datagram(&self) -> usize {
        self.config.max_datagram
    }

    /// Whether the connection has ended and everything is written: the driver can close the stream.
    pub fn is_done(&self) -> bool {
        self.state == State::Ended && !self.tls.wants_write()
    }
}

/// A queue takes any one message when it is empty.
fn fits(waiting: usize, body: usize, most: usize) -> bool {
    waiting == 0 || waiting + framing::HEADER_BYTES + body <= most
}

fn frame(kind: Kind, body: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    framing::write(kind, body, &mut frame);
    frame.freeze()
}

impl fmt::Debug for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carrier")
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
