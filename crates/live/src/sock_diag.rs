//! The kernel's own list of TCP sockets (`sock_diag(7)`, `include/uapi/linux/inet_diag.h`): asking, and reading the
//! answer, which is a pure function of its bytes.
//!
//! netlink-packet-sock-diag stops at an old `tcp_info`, so the answer is read here.

use crate::closings::Closings;
use crate::servers;
use crate::tcp_info::{SkMemInfo, TcpInfo};
use rustix::io::{Errno, Result};
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{connect, recv, send, socket_with};
use std::os::fd::OwnedFd;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_DUMP: u16 = 0x300;

const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;

const MESSAGE_HEADER_BYTES: usize = 16;
/// struct `inet_diag_msg`.
const RECORD_BYTES: usize = 72;

/// By the kernel's number, named as `ss` does. The first has no name.
const STATES: [&str; 12] = [
    "UNKNOWN",
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "UNCONN",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
];
const TIME_WAIT: u32 = 6;
const LISTEN: u32 = 10;

/// A socket as the kernel describes it. What it does not say is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpSocket<'a> {
    /// 4 or 6: what the packets are. An IPv6 socket whose peer speaks IPv4 counts as 4.
    pub ip: u8,
    pub state: &'static str,
    pub local_port: u16,
    pub remote_port: u16,
    /// The number of the server beyond the far end that is one of its ends.
    pub server: Option<u32>,
    pub congestion_control: Option<&'a str>,
    pub tcp_info: Option<TcpInfo<'a>>,
    pub memory: Option<SkMemInfo<'a>>,
}

/// One message of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    Socket(TcpSocket<'a>),
    /// The list is complete.
    Done,
    /// The kernel's error number.
    Error(i32),
    /// An answer to another request, or nothing that was asked for.
    Other,
}

/// Splits what was received into messages. Ends at the first that is cut off.
pub fn messages(received: &[u8], sequence: u32) -> impl Iterator<Item = Message<'_>> {
    let mut rest = received;
    std::iter::from_fn(move || {
        let header: [u8; MESSAGE_HEADER_BYTES] =
            rest.get(..MESSAGE_HEADER_BYTES)?.try_into().ok()?;
        let length = u32_at(&header, 0)? as usize;
        let body = rest.get(MESSAGE_HEADER_BYTES..length)?;
        let message = if u32_at(&header, 8)? == sequence {
            match u16_at(&header, 4)? {
                SOCK_DIAG_BY_FAMILY => tcp_socket(body).map_or(Message::Other, Message::Socket),
                NLMSG_DONE => Message::Done,
                NLMSG_ERROR => u32_at(body, 0).map_or(Message::Other, |code| {
                    Message::Error((code as i32).wrapping_neg())
                }),
                _ => Message::Other,
            }
        } else {
            Message::Other
        };
        rest = rest.get(aligned(length)..).unwrap_or_default();
        Some(message)
    })
}

/// Reads an `inet_diag_msg` and its attributes.
pub fn tcp_socket(body: &[u8]) -> Option<TcpSocket<'_>> {
    let record = body.get(..RECORD_BYTES)?;
    let mapped = || record[8..18].iter().all(|&byte| byte == 0) && record[18..20] == [0xff, 0xff];
    let ip = match i32::from(record[0]) {
        libc::AF_INET => 4,
        libc::AF_INET6 if mapped() => 4,
        libc::AF_INET6 => 6,
        _ => return None,
    };
    let address_bytes = if i32::from(record[0]) == libc::AF_INET {
        4
    } else {
        16
    };
    let (local, remote) = (
        &record[8..][..address_bytes],
        &record[24..][..address_bytes],
    );
    let mut socket = TcpSocket {
        ip,
        state: STATES
            .get(usize::from(record[1]))
            .copied()
            .unwrap_or(STATES[0]),
        local_port: u16::from_be_bytes([record[4], record[5]]),
        remote_port: u16::from_be_bytes([record[6], record[7]]),
        server: servers::number_of(local).or_else(|| servers::number_of(remote)),
        ..TcpSocket::default()
    };
    let mut rest = &body[RECORD_BYTES..];
    while let (Some(length), Some(kind)) = (u16_at(rest, 0), u16_at(rest, 2)) {
        let Some(value) = rest.get(4..usize::from(length)) else {
            break;
        };
        match kind {
            INET_DIAG_INFO => socket.tcp_info = Some(TcpInfo(value)),
            INET_DIAG_SKMEMINFO => socket.memory = Some(SkMemInfo(value)),
            INET_DIAG_CONG => {
                let name = value.split(|&byte| byte == 0).next().unwrap_or_default();
                socket.congestion_control =
                    std::str::from_utf8(name).ok().filter(|name| is_plain(name));
            }
            _ => {}
        }
        rest = rest.get(aligned(usize::from(length))..).unwrap_or_default();
    }
    Some(socket)
}

/// A name that needs no quoting in a table.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..at + 2)?
        .try_into()
        .ok()
        .map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .try_into()
        .ok()
        .map(u32::from_ne_bytes)
}

/// The request for every TCP socket of one address family that neither listens nor lingers in TIME-WAIT.
fn request(family: libc::c_int, sequence: u32) -> [u8; 72] {
    let extensions = [INET_DIAG_INFO, INET_DIAG_CONG, INET_DIAG_SKMEMINFO];
    let wanted = extensions
        .iter()
        .fold(0_u8, |bits, extension| bits | 1 << (extension - 1));
    let states: u32 = 0xffe & !(1 << TIME_WAIT) & !(1 << LISTEN);
    let mut bytes = [0; 72];
    bytes[0..4].copy_from_slice(&72_u32.to_ne_bytes());
    bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes[6..8].copy_from_slice(&(NLM_F_REQUEST | NLM_F_DUMP).to_ne_bytes());
    bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
    bytes[16] = family as u8;
    bytes[17] = libc::IPPROTO_TCP as u8;
    bytes[18] = wanted;
    bytes[20..24].copy_from_slice(&states.to_ne_bytes());
    bytes
}

/// Asks the kernel for the sockets of the network namespace that it was opened in, from whatever thread.
#[derive(Debug)]
pub struct SockDiag {
    socket: OwnedFd,
    sequence: u32,
    received: Vec<u8>,
    closings: Option<Closings>,
}

impl SockDiag {
    pub fn open() -> Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(SOCK_DIAG),
        )?;
        connect(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
            // The kernel fills at most 32 kB at a time.
            received: vec![0; 65_536],
            closings: Some(Closings::open()?),
        })
    }

    /// The sockets that close there, from now on. Once.
    pub(crate) fn closings(&mut self) -> Option<Closings> {
        self.closings.take()
    }

    /// Shows every TCP socket to `see`.
    pub fn tcp_sockets(&mut self, mut see: impl FnMut(&TcpSocket<'_>)) -> Result<()> {
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.sequence = self.sequence.wrapping_add(1);
            send(
                &self.socket,
                &request(family, self.sequence),
                SendFlags::empty(),
            )?;
            while self.more(&mut see)? {}
        }
        Ok(())
    }

    fn more(&mut self, see: &mut impl FnMut(&TcpSocket<'_>)) -> Result<bool> {
        let length = match recv(&self.socket, &mut self.received[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error),
        };
        for message in messages(&self.received[..length], self.sequence) {
            match message {
                Message::Socket(socket) => see(&socket),
                // The error: no IPv6 on this machine, and so no sockets of it.
                Message::Done | Message::Error(libc::ENOENT) => return Ok(false),
                Message::Error(code) => return Err(Errno::from_raw_os_error(code)),
                Message::Other => {}
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::net::{TcpListener, TcpStream};

    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&((MESSAGE_HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(body);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn record(family: libc::c_int, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; RECORD_BYTES];
        bytes[0] = family as u8;
        bytes[1] = 1;
        bytes[4..6].copy_from_slice(&5201_u16.to_be_bytes());
        bytes[6..8].copy_from_slice(&40_000_u16.to_be_bytes());
        for (kind, value) in attributes {
            bytes.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(value);
            bytes.resize(aligned(bytes.len()), 0);
        }
        bytes
    }

    #[test]
    fn an_answer_is_read_message_by_message_until_it_is_done() {
        let info = [7; 104];
        let attributes: [(u16, &[u8]); 3] = [
            (INET_DIAG_CONG, b"cubic\0"),
            (INET_DIAG_INFO, &info),
            (INET_DIAG_SKMEMINFO, &[1; 36]),
        ];
        let body = record(libc::AF_INET, &attributes);
        let mut answer = message(SOCK_DIAG_BY_FAMILY, 9, &body);
        answer.extend(message(SOCK_DIAG_BY_FAMILY, 8, &body));
        answer.extend(message(NLMSG_DONE, 9, &[0; 4]));
        let found: Vec<_> = messages(&answer, 9).collect();
        let socket = TcpSocket {
            ip: 4,
            state: "ESTAB",
            local_port: 5201,
            remote_port: 40_000,
            server: None,
            congestion_control: Some("cubic"),
            tcp_info: Some(TcpInfo(&info)),
            memory: Some(SkMemInfo(&[1; 36])),
        };
        assert_eq!(
            found,
            [Message::Socket(socket), Message::Other, Message::Done]
        );
    }

    #[test]
    fn an_ipv6_socket_that_speaks_ipv4_counts_as_ipv4() {
        let mut body = record(libc::AF_INET6, &[]);
        assert_eq!(tcp_socket(&body).map(|socket| socket.ip), Some(6));
        body[18..24].copy_from_slice(&[0xff, 0xff, 10, 77, 0, 1]);
        assert_eq!(tcp_socket(&body).map(|socket| socket.ip), Some(4));
    }

    #[test]
    fn a_connection_with_a_server_beyond_the_far_end_has_its_number_at_both_ends() {
        for (family, client, server) in [
            (libc::AF_INET, &[10, 77, 0, 1][..], &[10, 77, 2, 7][..]),
            (
                libc::AF_INET6,
                &[0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                &[0xfd, 0x77, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7],
            ),
        ] {
            for (local, remote) in [(client, server), (server, client)] {
                let mut body = record(family, &[]);
                body[8..][..local.len()].copy_from_slice(local);
                body[24..][..remote.len()].copy_from_slice(remote);
                assert_eq!(tcp_socket(&body).and_then(|socket| socket.server), Some(6));
            }
        }
    }

    #[test]
    fn an_error_carries_its_number() {
        let answer = message(NLMSG_ERROR, 1, &(-libc::EPERM).to_ne_bytes());
        assert_eq!(
            messages(&answer, 1).collect::<Vec<_>>(),
            [Message::Error(libc::EPERM)]
        );
    }

    #[test]
    fn the_kernel_lists_a_connection_of_ours_with_all_that_was_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let stream = TcpStream::connect(server).unwrap();
        let client_port = stream.local_addr().unwrap().port();
        let mut seen = Vec::new();
        SockDiag::open()
            .unwrap()
            .tcp_sockets(|socket| {
                if socket.remote_port == server.port() && socket.local_port == client_port {
                    let info = socket.tcp_info.unwrap();
                    seen.push((
                        socket.ip,
                        socket.state,
                        socket.congestion_control.is_some(),
                        info.snd_cwnd(),
                    ));
                    assert!(socket.memory.unwrap().sndbuf().unwrap() > 0);
                }
            })
            .unwrap();
        assert_eq!(seen.len(), 1);
        assert!(matches!(seen[0], (4, "ESTAB", true, Some(1..))), "{seen:?}");
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..400), sequence: u32) {
            prop_assert!(messages(&bytes, sequence).count() <= bytes.len() / MESSAGE_HEADER_BYTES + 1);
            prop_assert_eq!(tcp_socket(&bytes).is_some(),
                bytes.len() >= RECORD_BYTES && [libc::AF_INET, libc::AF_INET6].contains(&i32::from(bytes[0])));
        }

        #[test]
        fn a_damaged_answer_can_be_read(at in 0_usize..200, value: u8, cut in 0_usize..200) {
            let mut answer = message(SOCK_DIAG_BY_FAMILY, 1, &record(libc::AF_INET, &[(INET_DIAG_INFO, &[0; 104])]));
            let length = answer.len();
            answer[at % length] = value;
            answer.truncate(length - cut % length);
            prop_assert!(messages(&answer, 1).count() <= length);
        }
    }
}
