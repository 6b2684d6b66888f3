//! The kernel's own list of TCP sockets (`sock_diag(7)`, `include/uapi/linux/inet_diag.h`): the request for it, and its records.

use crate::bytes::array;
use crate::netlink;
use crate::protocol;
use crate::tcp_info::{SkMemInfo, TcpInfo};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const SOCK_DIAG_BY_FAMILY: u16 = 20;

const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;

/// struct `inet_diag_msg`.
const RECORD_BYTES: usize = 72;
/// struct `inet_diag_req_v2`.
const REQUEST_BYTES: usize = 56;
const LOCAL_ADDRESS_AT: usize = 8;
const REMOTE_ADDRESS_AT: usize = 24;
const COOKIE_AT: usize = 44;
const INODE_AT: usize = 68;

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

/// `AF_INET` and `AF_INET6`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Family {
    V4 = 2,
    V6 = 10,
}

/// A socket as the kernel describes it. What it does not say is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSocket<'a> {
    pub state: &'static str,
    /// As the socket has it: where one of IPv6 speaks IPv4, a mapped address.
    pub local: IpAddr,
    pub remote: IpAddr,
    pub local_port: u16,
    pub remote_port: u16,
    /// The kernel's number of the socket, which no other socket has had or will have.
    pub cookie: u64,
    /// As the links in `/proc/PID/fd` have it. 0 while no program has accepted the connection.
    pub inode: u32,
    pub congestion_control: Option<&'a str>,
    pub tcp_info: Option<TcpInfo<'a>>,
    pub memory: Option<SkMemInfo<'a>>,
}

/// One of which nothing is known.
impl Default for TcpSocket<'_> {
    fn default() -> Self {
        Self {
            state: STATES[0],
            local: Ipv4Addr::UNSPECIFIED.into(),
            remote: Ipv4Addr::UNSPECIFIED.into(),
            local_port: 0,
            remote_port: 0,
            cookie: 0,
            inode: 0,
            congestion_control: None,
            tcp_info: None,
            memory: None,
        }
    }
}

impl TcpSocket<'_> {
    /// 4 or 6: what the packets are. An IPv6 socket whose peer speaks IPv4 counts as 4.
    pub fn ip(&self) -> u8 {
        if self.local.to_canonical().is_ipv4() {
            4
        } else {
            6
        }
    }
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
    netlink::messages(received).map(move |message| {
        if message.sequence != sequence {
            return Message::Other;
        }
        let known = match message.kind {
            SOCK_DIAG_BY_FAMILY => tcp_socket(message.body).map(Message::Socket),
            netlink::NLMSG_DONE => Some(Message::Done),
            netlink::NLMSG_ERROR => message.error().map(Message::Error),
            _ => None,
        };
        known.unwrap_or(Message::Other)
    })
}

/// Reads an `inet_diag_msg` and its attributes. `None` where it is cut short or of another family.
pub fn tcp_socket(body: &[u8]) -> Option<TcpSocket<'_>> {
    let record: [u8; RECORD_BYTES] = array(body, 0)?;
    let address = |at: usize| -> Option<IpAddr> {
        if record[0] == Family::V4 as u8 {
            array(&record, at).map(|octets: [u8; 4]| Ipv4Addr::from_octets(octets).into())
        } else if record[0] == Family::V6 as u8 {
            array(&record, at).map(|octets: [u8; 16]| Ipv6Addr::from_octets(octets).into())
        } else {
            None
        }
    };
    let mut socket = TcpSocket {
        state: STATES
            .get(usize::from(record[1]))
            .copied()
            .unwrap_or(STATES[0]),
        local: address(LOCAL_ADDRESS_AT)?,
        remote: address(REMOTE_ADDRESS_AT)?,
        local_port: u16::from_be_bytes([record[4], record[5]]),
        remote_port: u16::from_be_bytes([record[6], record[7]]),
        cookie: u64::from_ne_bytes(array(&record, COOKIE_AT)?),
        inode: u32::from_ne_bytes(array(&record, INODE_AT)?),
        ..TcpSocket::default()
    };
    for (kind, value) in netlink::attributes(&body[RECORD_BYTES..]) {
        match kind {
            INET_DIAG_INFO => socket.tcp_info = Some(TcpInfo(value)),
            INET_DIAG_SKMEMINFO => socket.memory = Some(SkMemInfo(value)),
            INET_DIAG_CONG => {
                let name = value.split(|&byte| byte == 0).next().unwrap_or_default();
                socket.congestion_control = core::str::from_utf8(name)
                    .ok()
                    .filter(|name| is_plain(name));
            }
            _ => {}
        }
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

/// The request for every TCP socket of one address family that neither listens nor lingers in TIME-WAIT.
pub fn request(family: Family, sequence: u32) -> [u8; netlink::HEADER_BYTES + REQUEST_BYTES] {
    let extensions = [INET_DIAG_INFO, INET_DIAG_CONG, INET_DIAG_SKMEMINFO];
    let wanted = extensions
        .iter()
        .fold(0_u8, |bits, extension| bits | 1 << (extension - 1));
    let states: u32 = 0xffe & !(1 << TIME_WAIT) & !(1 << LISTEN);
    let flags = netlink::NLM_F_REQUEST | netlink::NLM_F_DUMP;
    let mut bytes = [0; netlink::HEADER_BYTES + REQUEST_BYTES];
    bytes[..16].copy_from_slice(&netlink::request_header(
        SOCK_DIAG_BY_FAMILY,
        flags,
        sequence,
        REQUEST_BYTES,
    ));
    bytes[16] = family as u8;
    bytes[17] = protocol::TCP;
    bytes[18] = wanted;
    bytes[20..24].copy_from_slice(&states.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(kind: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&((netlink::HEADER_BYTES + body.len()) as u32).to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&[0; 2]);
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(body);
        bytes.resize(netlink::aligned(bytes.len()), 0);
        bytes
    }

    fn record(family: Family, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; RECORD_BYTES];
        bytes[0] = family as u8;
        bytes[1] = 1;
        bytes[4..6].copy_from_slice(&5201_u16.to_be_bytes());
        bytes[6..8].copy_from_slice(&40_000_u16.to_be_bytes());
        bytes[8..12].copy_from_slice(&[10, 77, 0, 1]);
        bytes[24..28].copy_from_slice(&[10, 77, 0, 2]);
        bytes[44..52].copy_from_slice(&77_u64.to_ne_bytes());
        bytes[68..72].copy_from_slice(&4321_u32.to_ne_bytes());
        for (kind, value) in attributes {
            bytes.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
            bytes.extend_from_slice(&kind.to_ne_bytes());
            bytes.extend_from_slice(value);
            bytes.resize(netlink::aligned(bytes.len()), 0);
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
        let body = record(Family::V4, &attributes);
        let mut answer = message(SOCK_DIAG_BY_FAMILY, 9, &body);
        answer.extend(message(SOCK_DIAG_BY_FAMILY, 8, &body));
        answer.extend(message(netlink::NLMSG_DONE, 9, &[0; 4]));
        let found: Vec<_> = messages(&answer, 9).collect();
        let socket = TcpSocket {
            state: "ESTAB",
            local: Ipv4Addr::new(10, 77, 0, 1).into(),
            remote: Ipv4Addr::new(10, 77, 0, 2).into(),
            local_port: 5201,
            remote_port: 40_000,
            cookie: 77,
            inode: 4321,
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
        let mut body = record(Family::V6, &[]);
        assert_eq!(tcp_socket(&body).map(|socket| socket.ip()), Some(6));
        body[8..24].fill(0);
        body[18..24].copy_from_slice(&[0xff, 0xff, 10, 77, 0, 1]);
        assert_eq!(tcp_socket(&body).map(|socket| socket.ip()), Some(4));
    }

    #[test]
    fn an_error_carries_its_number() {
        let answer = message(netlink::NLMSG_ERROR, 1, &(-1_i32).to_ne_bytes());
        assert_eq!(
            messages(&answer, 1).collect::<Vec<_>>(),
            [Message::Error(1)]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..400), sequence: u32) {
            prop_assert!(messages(&bytes, sequence).count() <= bytes.len() / netlink::HEADER_BYTES + 1);
            prop_assert_eq!(tcp_socket(&bytes).is_some(),
                bytes.len() >= RECORD_BYTES && [Family::V4 as u8, Family::V6 as u8].contains(&bytes[0]));
        }

        #[test]
        fn a_damaged_answer_can_be_read(at in 0_usize..200, value: u8, cut in 0_usize..200) {
            let mut answer = message(SOCK_DIAG_BY_FAMILY, 1, &record(Family::V4, &[(INET_DIAG_INFO, &[0; 104])]));
            let length = answer.len();
            answer[at % length] = value;
            answer.truncate(length - cut % length);
            prop_assert!(messages(&answer, 1).count() <= length);
        }
    }
}
