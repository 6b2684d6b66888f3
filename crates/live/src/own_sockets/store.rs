//! What was seen of each connection, as the kernel said it.

use crate::per_host::HostId;
use crate::sockets_csv::sampled;
use bentpipe_tables::{Cell, Kind, Socket};
use bentpipe_wire::sock_diag::TcpSocket;
use bentpipe_wire::tcp_info::{SkMemInfo, TcpInfo};
use serde::Serialize;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

/// A `tcp_info` up to and with kernel 6.7: what later ones added is not read.
const INFO_BYTES: usize = 248;
const MEMORY_BYTES: usize = 36;
/// Milliseconds since this and that: they change while nothing happens, and nobody reads them.
const AGES: std::ops::Range<usize> = 44..60;
/// Of Ethernet, with time stamps. On the loopback an MSS is larger than many a window that is open.
const USUAL_MSS: u32 = 1448;
/// 300 MB; few in the tests. Beyond, every second sample goes.
const MOST_SAMPLES: usize = if cfg!(test) { 1000 } else { 1_000_000 };

const CONNECTED: [&str; 6] = [
    "ESTAB",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "CLOSE-WAIT",
    "LAST-ACK",
    "CLOSING",
];

pub(super) fn is_connected(state: &str) -> bool {
    CONNECTED.contains(&state)
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    info: [u8; INFO_BYTES],
    info_length: usize,
    memory: [u8; MEMORY_BYTES],
    memory_length: usize,
}

impl Said {
    fn of(socket: &TcpSocket<'_>) -> Self {
        let (info, info_length) = copied(socket.tcp_info.unwrap_or_default().0);
        let (memory, memory_length) = copied(socket.memory.unwrap_or_default().0);
        let mut said = Self {
            info,
            info_length,
            memory,
            memory_length,
        };
        said.info[AGES].fill(0);
        said
    }

    fn info(&self) -> TcpInfo<'_> {
        TcpInfo(&self.info[..self.info_length])
    }

    fn acked(&self) -> u64 {
        self.info().bytes_acked().unwrap_or(0)
    }

    fn received(&self) -> u64 {
        self.info().bytes_received().unwrap_or(0)
    }

    fn carried(&self) -> u64 {
        self.acked() + self.received()
    }

    fn window_shut(&self) -> bool {
        let (info, memory) = (self.info(), SkMemInfo(&self.memory[..self.memory_length]));
        let room = info.snd_mss().unwrap_or(USUAL_MSS).min(USUAL_MSS);
        let is_shut = |window: Option<u32>| window.is_some_and(|window| window < room);
        let is_unread = matches!(
            (memory.rmem_alloc(), memory.rcvbuf()),
            (Some(unread), Some(buffer)) if unread > 0 && unread >= buffer / 4
        );
        is_shut(info.snd_wnd()) && info.notsent_bytes().is_some_and(|waiting| waiting > 0)
            || is_shut(info.rcv_wnd()) && is_unread
    }
}

fn copied<const N: usize>(bytes: &[u8]) -> ([u8; N], usize) {
    let mut copy = [0; N];
    let length = bytes.len().min(N);
    copy[..length].copy_from_slice(&bytes[..length]);
    (copy, length)
}

#[derive(Debug)]
struct Connection {
    local: IpAddr,
    remote: IpAddr,
    local_port: u16,
    remote_port: u16,
    inode: u32,
    congestion_control: Option<String>,
    was_before: bool,
    closed: bool,
    samples: Vec<(f64, Said)>,
}

/// One connection, as seen from this host.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ConnectionFacts {
    pub local: String,
    pub remote: String,
    pub local_port: u16,
    pub remote_port: u16,
    pub inode: u32,
    pub congestion_control: Option<String>,
    /// It was there when the watch began, so its counters do not begin at zero.
    pub was_before: bool,
    pub closed: bool,
    pub samples: usize,
    pub first_s: f64,
    pub last_s: f64,
    /// Payload that the peer acknowledged, and that came from it, while it was watched.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Retransmission timeouts since the connection began, as the kernel counts them from 6.7 on.
    pub timeouts: Option<u16>,
    /// In the latest sample no segment fits into a receive window: the peer's, and something waits to be sent, or this end's,
    /// and a quarter of its buffer is unread.
    pub window_shut: bool,
    /// What both ends offered (`TCP_INFO`'s options).
    pub timestamps: bool,
    pub sack: bool,
    pub window_scaling: bool,
    pub ecn: bool,
    /// Shifts of the windows, in no order.
    pub shifts: [u8; 2],
}

/// Samples of a connection: the columns of the table `sockets` that are numbers. What is not known is NaN.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Columns {
    pub numbers: Vec<(&'static str, Vec<f64>)>,
    pub ca_state: Vec<Option<&'static str>>,
}

#[derive(Debug, Default)]
pub(super) struct Store {
    connections: Vec<Connection>,
    by_cookie: HashMap<u64, usize>,
    samples: usize,
    carried_bytes: u64,
    has_looked: bool,
}

impl Store {
    /// Of a connection that is known. `last`: it is being closed.
    pub(super) fn add(&mut self, socket: &TcpSocket<'_>, time_s: f64, last: bool) -> bool {
        let Some(&place) = self.by_cookie.get(&socket.cookie) else {
            return false;
        };
        let connection = &mut self.connections[place];
        if connection.inode == 0 {
            connection.inode = socket.inode; // It had not been accepted yet.
        }
        let mut said = Said::of(socket);
        let before = connection.samples.last().map(|(_, said)| *said);
        if let Some(before) = before {
            if said.memory_length == 0 {
                (said.memory, said.memory_length) = (before.memory, before.memory_length);
            }
            self.carried_bytes += said.carried().saturating_sub(before.carried());
        }
        if last {
            connection.closed = true;
            self.by_cookie.remove(&socket.cookie);
        }
        let kept = connection.samples.len();
        let stands = kept >= 2 && connection.samples[kept - 2].1 == said && before == Some(said);
        if stands {
            connection.samples[kept - 1].0 = time_s;
        } else {
            connection.samples.push((time_s, said));
            self.samples += 1;
        }
        true
    }

    /// Takes in a connection that is not known yet.
    pub(super) fn begin(&mut self, socket: &TcpSocket<'_>, time_s: f64) {
        let said = Said::of(socket);
        if self.has_looked {
            self.carried_bytes += said.carried();
        }
        self.by_cookie.insert(socket.cookie, self.connections.len());
        self.connections.push(Connection {
            local: socket.local.to_canonical(),
            remote: socket.remote.to_canonical(),
            local_port: socket.local_port,
            remote_port: socket.remote_port,
            inode: socket.inode,
            congestion_control: socket.congestion_control.map(str::to_owned),
            was_before: !self.has_looked,
            closed: false,
            samples: vec![(time_s, said)],
        });
        self.samples += 1;
    }

    pub(super) fn looked(&mut self) {
        self.has_looked = true;
    }

    pub(super) fn carried_bytes(&self) -> u64 {
        self.carried_bytes
    }

    /// Drops every second sample if there are too many. The last of each connection stays.
    pub(super) fn make_room(&mut self) -> bool {
        if self.samples < MOST_SAMPLES {
            return false;
        }
        self.samples = 0;
        for connection in &mut self.connections {
            let odd = connection.samples.len() % 2;
            let mut place = 0;
            connection.samples.retain(|_| {
                place += 1;
                place == 1 || place % 2 == odd
            });
            self.samples += connection.samples.len();
        }
        true
    }

    pub(super) fn facts(&self) -> Vec<ConnectionFacts> {
        self.connections.iter().map(Connection::facts).collect()
    }

    pub(super) fn columns(&self, place: usize) -> Option<Columns> {
        self.connections.get(place).map(Connection::columns)
    }
}

impl Connection {
    fn facts(&self) -> ConnectionFacts {
        let (first_s, first) = self.samples[0];
        let (last_s, last) = self.samples[self.samples.len() - 1];
        let grown = |of: fn(&Said) -> u64| {
            let base = if self.was_before { of(&first) } else { 0 };
            of(&last).saturating_sub(base)
        };
        let options = last.info().options().unwrap_or(0);
        let scales = last.info().scales().unwrap_or(0);
        ConnectionFacts {
            local: self.local.to_string(),
            remote: self.remote.to_string(),
            local_port: self.local_port,
            remote_port: self.remote_port,
            inode: self.inode,
            congestion_control: self.congestion_control.clone(),
            was_before: self.was_before,
            closed: self.closed,
            samples: self.samples.len(),
            first_s,
            last_s,
            sent_bytes: grown(Said::acked),
            received_bytes: grown(Said::received),
            timeouts: last.info().total_rto(),
            window_shut: last.window_shut(),
            timestamps: options & 1 != 0,
            sack: options & 2 != 0,
            window_scaling: options & 4 != 0,
            ecn: options & 8 != 0,
            shifts: [scales & 15, scales >> 4],
        }
    }

    fn columns(&self) -> Columns {
        let kept = |kind| matches!(kind, Kind::Integer | Kind::Float | Kind::Flag);
        let mut found = Columns {
            numbers: Socket::COLUMNS
                .iter()
                .filter(|column| kept(column.kind))
                .map(|column| (column.name, Vec::with_capacity(self.samples.len())))
                .collect(),
            ca_state: Vec::with_capacity(self.samples.len()),
        };
        for (time_s, said) in &self.samples {
            let socket = TcpSocket {
                state: "ESTAB",
                local: Ipv4Addr::UNSPECIFIED.into(),
                local_port: self.local_port,
                remote_port: self.remote_port,
                tcp_info: Some(said.info()),
                memory: Some(SkMemInfo(&said.memory[..said.memory_length])),
                ..TcpSocket::default()
            };
            found.ca_state.push(said.info().ca_state());
            let cells = Socket::COLUMNS
                .iter()
                .zip(sampled(*time_s, HostId::Client, &socket).cells())
                .filter(|(column, _)| kept(column.kind));
            for ((_, values), (_, cell)) in found.numbers.iter_mut().zip(cells) {
                values.push(match cell {
                    Cell::Integer(value) => value as f64,
                    Cell::Float(value) => value,
                    Cell::Flag(value) => f64::from(u8::from(value)),
                    Cell::Null | Cell::Text(_) => f64::NAN,
                });
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(acked: u64, age: u8) -> [u8; INFO_BYTES] {
        let mut bytes = [0; INFO_BYTES];
        bytes[120..128].copy_from_slice(&acked.to_ne_bytes());
        bytes[AGES].fill(age);
        bytes
    }

    fn socket(bytes: &[u8]) -> TcpSocket<'_> {
        TcpSocket {
            state: "ESTAB",
            cookie: 5,
            tcp_info: Some(TcpInfo(bytes)),
            memory: Some(SkMemInfo(&[3; MEMORY_BYTES])),
            ..TcpSocket::default()
        }
    }

    #[test]
    fn of_samples_that_say_the_same_the_first_and_the_last_are_kept() {
        let mut store = Store::default();
        store.begin(&socket(&info(100, 1)), 0.0);
        for (time, acked) in [(1, 100), (2, 100), (3, 100), (4, 250)] {
            assert!(store.add(&socket(&info(acked, time)), f64::from(time), false));
        }
        let columns = store.columns(0).unwrap();
        assert_eq!(columns.numbers[0], ("time_s", vec![0.0, 3.0, 4.0]));
        assert_eq!(store.carried_bytes(), 150);
        assert_eq!(store.facts()[0].sent_bytes, 150);
    }

    #[test]
    fn a_connection_that_began_later_counts_from_zero_and_its_last_words_have_its_memory() {
        let mut store = Store::default();
        store.looked();
        store.begin(&socket(&info(100, 0)), 1.0);
        let last = info(900, 0);
        let closing = TcpSocket {
            memory: None,
            ..socket(&last)
        };
        assert!(store.add(&closing, 2.0, true));
        assert!(!store.add(&closing, 3.0, false));
        let facts = &store.facts()[0];
        assert_eq!(
            (facts.sent_bytes, facts.closed, facts.was_before),
            (900, true, false)
        );
        let columns = store.columns(0).unwrap();
        let size = columns
            .numbers
            .iter()
            .find(|(name, _)| *name == "sndbuf_bytes");
        assert_eq!(size.unwrap().1, [50_529_027.0; 2]);
    }

    #[test]
    fn a_window_that_holds_less_than_a_segment_is_shut() {
        let shut = |mss: u32, snd_wnd: u32, rcv_wnd: u32, notsent: u32, unread: u32| {
            let mut bytes = info(0, 0);
            for (at, value) in [(16, mss), (228, snd_wnd), (232, rcv_wnd), (144, notsent)] {
                bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
            }
            let mut store = Store::default();
            let mut memory = [0; MEMORY_BYTES];
            memory[..4].copy_from_slice(&unread.to_ne_bytes());
            memory[4..8].copy_from_slice(&100_000_u32.to_ne_bytes());
            let of = TcpSocket {
                memory: Some(SkMemInfo(&memory)),
                ..socket(&bytes)
            };
            store.begin(&of, 0.0);
            store.facts()[0].window_shut
        };
        assert!(shut(1448, 0, 65_536, 9000, 0));
        assert!(shut(1448, 65_536, 700, 0, 25_000));
        assert!(!shut(1448, 0, 65_536, 0, 0));
        assert!(!shut(1448, 65_536, 65_536, 9000, 25_000));
        assert!(!shut(1448, 65_536, 700, 0, 24_999));
        assert!(!shut(65_483, 65_536, 2304, 0, 25_000));
    }

    #[test]
    fn where_there_is_no_more_room_every_second_sample_goes_and_the_last_stays() {
        let mut store = Store::default();
        store.begin(&socket(&info(0, 0)), 0.0);
        for time in 1..MOST_SAMPLES as u32 {
            store.add(&socket(&info(time.into(), 0)), time.into(), false);
        }
        assert!(store.make_room());
        assert!(!store.make_room());
        assert_eq!(store.samples, MOST_SAMPLES / 2 + 1);
        let times = &store.columns(0).unwrap().numbers[0].1;
        assert_eq!(times.last(), Some(&(MOST_SAMPLES as f64 - 1.0)));
    }
}
