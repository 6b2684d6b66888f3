//! A carrier for virtual time: it neither encrypts nor authenticates, and is never used on a real path.
//!
//! It has what a session expects of QUIC: a connection with a number, datagrams, control messages that arrive in order, and headers as
//! long as QUIC's. All numbers are big-endian.
//!
//! | bytes | field |
//! |---|---|
//! | 1 | kind: 1 datagram, 2 control message, 3 answer to one, 4 no such connection, 5 keep-alive, 6 connect, 7 accept |
//! | 8 | number of the connection; of connect and accept: near's part of it |
//! | 3 | number of the control message, modulo 2^24 |
//! | 3 | not used: QUIC's DATAGRAM frame has them |
//! | n | datagram or message; of accept: far's part of the connection's number (8) |
//! | 16 | a checksum, as long as QUIC's tag |
//!
//! Both sides draw a part of the connection's number, so that no packet of an earlier connection, however late, opens one or belongs to it.

use crate::hello::CONTROL_MAX_BYTES;
use bentpipe_base::{Nanos, SplitMix64, Time};
use std::collections::VecDeque;

/// Around each datagram, without IP and UDP.
pub const OVERHEAD_BYTES: usize = HEADER_BYTES + TAG_BYTES;
const HEADER_BYTES: usize = 15;
const TAG_BYTES: usize = 16;
const AGAIN: Nanos = Nanos::from_millis(800);
/// Control messages that wait to be sent.
const MAX_WAITING: usize = 64;
/// Connections that far has accepted and near has not used.
const MAX_PENDING: usize = 8;

const DATAGRAM: u8 = 1;
const CONTROL: u8 = 2;
const ANSWER: u8 = 3;
const UNKNOWN: u8 = 4;
const KEEP_ALIVE: u8 = 5;
const CONNECT: u8 = 6;
const ACCEPT: u8 = 7;
/// Near asks so often whether far still knows the connection.
const KEEP_ALIVE_EVERY: Nanos = Nanos::from_secs(5);

/// What has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// There is a new connection.
    Connected,
    /// The connection is gone.
    Lost,
    Control(Vec<u8>),
}

#[derive(Debug)]
pub struct Carrier {
    /// Near's connects; far's answers.
    is_near: bool,
    random: SplitMix64,
    connection: Option<u64>,
    /// The number of the message that is sent, and of the one that is expected.
    sends: u64,
    expects: u64,
    waiting: VecDeque<Vec<u8>>,
    last_sent: Option<Time>,
    answer: Option<u64>,
    refuse: Option<u64>,
    /// Near's part of the connection that it wants, and when it asked for it last.
    connecting: Option<(u64, Option<Time>)>,
    /// Both parts of the connections that far has accepted and near has not used.
    pending: VecDeque<(u64, u64)>,
    accept: Option<(u64, u64)>,
    /// Near's last packet of its own.
    last_own: Option<Time>,
    events: VecDeque<Event>,
}

fn combined((near, far): (u64, u64)) -> u64 {
    SplitMix64(near ^ far.rotate_left(32)).draw()
}

fn checksum(bytes: &[u8]) -> [u8; TAG_BYTES] {
    let mut sums = [0x9e37_79b9_7f4a_7c15_u64, 0xc2b2_ae3d_27d4_eb4f];
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        let word = u64::from_le_bytes(word) ^ chunk.len() as u64;
        for (sum, turn) in sums.iter_mut().zip([23, 41]) {
            *sum = (*sum ^ word)
                .wrapping_mul(0x2545_f491_4f6c_dd1d)
                .rotate_left(turn);
        }
    }
    let mut tag = [0; TAG_BYTES];
    tag[..8].copy_from_slice(&sums[0].to_be_bytes());
    tag[8..].copy_from_slice(&sums[1].to_be_bytes());
    tag
}

impl Carrier {
    pub fn near(seed: u64) -> Self {
        Self::new(true, seed)
    }

    pub fn far(seed: u64) -> Self {
        Self::new(false, seed)
    }

    fn new(is_near: bool, seed: u64) -> Self {
        Self {
            is_near,
            random: SplitMix64(seed),
            connection: None,
            sends: 0,
            expects: 0,
            waiting: VecDeque::new(),
            last_sent: None,
            answer: None,
            refuse: None,
            connecting: None,
            pending: VecDeque::new(),
            accept: None,
            last_own: None,
            events: VecDeque::new(),
        }
    }

    /// Near opens a connection, in place of the one before.
    pub fn connect(&mut self) {
        self.connecting = Some((self.random.draw(), None));
        self.connection = None;
        self.waiting.clear();
    }

    fn begin(&mut self, number: u64) {
        self.connection = Some(number);
        self.connecting = None;
        self.pending.clear();
        self.sends = 0;
        self.expects = 0;
        self.waiting.clear();
        self.last_sent = None;
        self.answer = None;
        self.events.push_back(Event::Connected);
    }

    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub fn send_control(&mut self, message: Vec<u8>) {
        debug_assert!(message.len() <= CONTROL_MAX_BYTES);
        if self.connection.is_some() && self.waiting.len() < MAX_WAITING {
            self.waiting.push_back(message);
        }
    }

    /// Puts what the connection needs around a datagram.
    pub fn wrap(&self, datagram: &[u8], out: &mut Vec<u8>) {
        let number = self.connection.unwrap_or(0);
        Self::write(DATAGRAM, number, 0, datagram, out);
    }

    fn write(kind: u8, connection: u64, number: u64, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.push(kind);
        out.extend_from_slice(&connection.to_be_bytes());
        out.extend_from_slice(&(number as u32).to_be_bytes()[1..]);
        out.extend_from_slice(&[0; 3]);
        out.extend_from_slice(payload);
        let tag = checksum(&out[start..]);
        out.extend_from_slice(&tag);
    }

    /// A packet has come. The datagram in it, if there is one for the session.
    pub fn handle<'a>(&mut self, packet: &'a [u8]) -> Option<&'a [u8]> {
        let (body, tag) = packet.split_last_chunk::<TAG_BYTES>()?;
        let (header, payload) = body.split_first_chunk::<HEADER_BYTES>()?;
        if checksum(body) != *tag {
            return None;
        }
        let kind = header[0];
        let mut connection = [0; 8];
        connection.copy_from_slice(&header[1..9]);
        let connection = u64::from_be_bytes(connection);
        let number = u64::from(u32::from_be_bytes([0, header[9], header[10], header[11]]));
        match kind {
            CONNECT if !self.is_near => {
                let known = self.pending.iter().find(|it| it.0 == connection).copied();
                let both = known.unwrap_or_else(|| {
                    let both = (connection, self.random.draw());
                    self.pending.push_back(both);
                    both
                });
                if self.pending.len() > MAX_PENDING {
                    self.pending.pop_front();
                }
                self.accept = Some(both);
                return None;
            }
            ACCEPT if self.connecting.is_some_and(|it| it.0 == connection) => {
                let far = payload.first_chunk().map(|it| u64::from_be_bytes(*it))?;
                self.begin(combined((connection, far)));
                return None;
            }
            CONNECT | ACCEPT => return None,
            _ => {}
        }
        if self.connection != Some(connection) {
            let is_pending = self.pending.iter().any(|&it| combined(it) == connection);
            if !is_pending {
                // Far has begun anew, or near has connected anew.
                if !self.is_near && kind != UNKNOWN {
                    self.refuse = Some(connection);
                }
                return None;
            }
            self.begin(connection);
        }
        match kind {
            DATAGRAM => return Some(payload),
            CONTROL => {
                self.answer = Some(number);
                if number == self.expects {
                    self.expects += 1;
                    self.events.push_back(Event::Control(payload.to_vec()));
                }
            }
            ANSWER if number == self.sends && self.last_sent.is_some() => {
                self.waiting.pop_front();
                self.sends += 1;
                self.last_sent = None;
            }
            UNKNOWN if self.is_near => {
                self.connection = None;
                self.waiting.clear();
                self.last_sent = None;
                self.events.push_back(Event::Lost);
            }
            _ => {}
        }
        None
    }

    /// Appends a packet of the connection's own, if one is due.
    pub fn poll_transmit(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        if let Some(connection) = self.refuse.take() {
            Self::write(UNKNOWN, connection, 0, &[], out);
            return true;
        }
        if let Some((near, far)) = self.accept.take() {
            Self::write(ACCEPT, near, 0, &far.to_be_bytes(), out);
            return true;
        }
        if let Some((near, last)) = &mut self.connecting {
            let is_due = last.is_none_or(|at| at + AGAIN <= now);
            if is_due {
                *last = Some(now);
                Self::write(CONNECT, *near, 0, &[], out);
            }
            return is_due;
        }
        let Some(connection) = self.connection else {
            return false;
        };
        if let Some(number) = self.answer.take() {
            Self::write(ANSWER, connection, number, &[], out);
            return true;
        }
        let is_due = self.last_sent.is_none_or(|at| at + AGAIN <= now);
        if let Some(message) = self.waiting.front().filter(|_| is_due) {
            Self::write(CONTROL, connection, self.sends, message, out);
            self.last_sent = Some(now);
        } else if self.keep_alive().is_some_and(|at| at <= now) {
            Self::write(KEEP_ALIVE, connection, 0, &[], out);
        } else {
            return false;
        }
        self.last_own = Some(now);
        true
    }

    pub fn poll_timeout(&self) -> Option<Time> {
        let at_once = Time(i64::MIN / 2);
        if self.answer.is_some() || self.refuse.is_some() || self.accept.is_some() {
            return Some(at_once);
        }
        if let Some((_, last)) = self.connecting {
            return Some(last.map_or(at_once, |at| at + AGAIN));
        }
        let again = || self.last_sent.map_or(at_once, |at| at + AGAIN);
        let control = self.waiting.front().map(|_| again());
        control.into_iter().chain(self.keep_alive()).min()
    }

    fn keep_alive(&self) -> Option<Time> {
        let connected = self.is_near && self.connection.is_some();
        let last = self.last_own.filter(|_| connected)?;
        Some(last + KEEP_ALIVE_EVERY)
    }
}
