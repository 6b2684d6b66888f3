//! The rules that hand TCP connections and UDP addressed to others to sockets of ours: the kernel's TPROXY
//! (nftables; `Documentation/networking/tproxy.rst`, `include/uapi/linux/netfilter/nf_tables.h`), set over nfnetlink without any program.
//!
//! A rule finds the listener for a connection's first packet. Later packets find the connection's own socket. All datagrams come to one socket.

use crate::family::Family;
use crate::transport::Transport;
use bentpipe_wire::netlink::{self, NLM_F_REQUEST, NLMSG_ERROR};
use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, connect, recv, send, socket_with,
};
use std::io;
use std::net::IpAddr;

const NLM_F_ACK: u16 = 0x4;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
/// An attribute that holds attributes.
const NLA_F_NESTED: u16 = 0x8000;

const SUBSYSTEM: u16 = 10;
const BATCH_BEGIN: u16 = 0x10;
const BATCH_END: u16 = 0x11;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;

/// Both families in one table.
const NFPROTO_INET: u8 = 1;
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_IPV6: u8 = 10;
const PREROUTING: u32 = 0;
/// Where changes of packets belong (`NF_IP_PRI_MANGLE`).
const PRIORITY: i32 = -150;

const NAME: &str = "bentpipe";
const REGISTER: u32 = 1;
const VERDICT_REGISTER: u32 = 0;
const ACCEPT: u32 = 1;

const META_IIF: u32 = 4;
const META_NFPROTO: u32 = 15;
const META_L4PROTO: u32 = 16;
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;
/// Where the ports are in the headers of TCP (RFC 9293, section 3.1) and UDP (RFC 768).
const SOURCE_PORT: u32 = 0;
const DESTINATION_PORT: u32 = 2;

/// Where packets of a protocol are handed to: the port of a transparent socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taker {
    pub transport: Transport,
    pub family: Family,
    pub port: u16,
}

/// Hands what comes in through this device of the calling thread's network namespace to transparent sockets. What is addressed to one of
/// `own` is left alone, and what has one of the ports `beside` at either end.
pub(super) fn redirect(
    device_index: u32,
    own: &[IpAddr],
    beside: &[(Transport, u16)],
    takers: &[Taker],
) -> io::Result<()> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(NETFILTER),
    )?;
    connect(&socket, &SocketAddrNetlink::new(0, 0))?;
    let batch = Batch::of(device_index, own, beside, takers);
    send(&socket, &batch.bytes, SendFlags::empty())?;
    // The kernel has answered when `send` returns: each message once, an error first.
    let mut answer = vec![0; 1 << 16];
    loop {
        let (length, _) = recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
        for message in netlink::messages(&answer[..length]) {
            if message.kind == NLMSG_ERROR {
                match message.error() {
                    Some(0) if message.sequence == batch.last_rule => return Ok(()),
                    Some(0) => {}
                    code => return Err(Errno::from_raw_os_error(code.unwrap_or(libc::EIO)).into()),
                }
            }
        }
    }
}

/// Messages that take effect together or not at all.
struct Batch {
    bytes: Vec<u8>,
    sequence: u32,
    last_rule: u32,
}

impl Batch {
    fn of(
        device_index: u32,
        own: &[IpAddr],
        beside: &[(Transport, u16)],
        takers: &[Taker],
    ) -> Self {
        let mut batch = Self {
            bytes: Vec::new(),
            sequence: 0,
            last_rule: 0,
        };
        batch.message(BATCH_BEGIN, 0, 0, SUBSYSTEM, |_| {});
        batch.nf_tables(NEW_TABLE, NLM_F_CREATE, |table| text(table, 1, NAME));
        batch.nf_tables(NEW_CHAIN, NLM_F_CREATE, |chain| {
            text(chain, 1, NAME);
            text(chain, 3, NAME);
            nested(chain, 4, |hook| {
                number(hook, 1, PREROUTING);
                number(hook, 2, PRIORITY as u32);
            });
            text(chain, 7, "filter");
        });
        for &address in own {
            batch.rule(|rule| {
                is_protocol(rule, family_of(address));
                load_destination(rule, address);
                accept(rule);
            });
        }
        for &(transport, port) in beside {
            for offset in [SOURCE_PORT, DESTINATION_PORT] {
                batch.rule(|rule| {
                    is_transport(rule, transport);
                    load_payload(rule, TRANSPORT_HEADER, offset, 2);
                    equals(rule, &port.to_be_bytes());
                    accept(rule);
                });
            }
        }
        for &Taker {
            transport,
            family,
            port,
        } in takers
        {
            batch.rule(|rule| {
                is_protocol(rule, family);
                load_meta(rule, META_IIF);
                equals(rule, &device_index.to_ne_bytes());
                is_transport(rule, transport);
                immediate(rule, &port.to_be_bytes());
                expression(rule, "tproxy", |tproxy| {
                    number(tproxy, 1, nfproto(family).into());
                    number(tproxy, 3, REGISTER);
                });
            });
        }
        batch.last_rule = batch.sequence;
        batch.message(BATCH_END, 0, 0, SUBSYSTEM, |_| {});
        batch
    }

    fn rule(&mut self, expressions: impl FnOnce(&mut Vec<u8>)) {
        self.nf_tables(NEW_RULE, NLM_F_CREATE | NLM_F_APPEND, |rule| {
            text(rule, 1, NAME);
            text(rule, 2, NAME);
            nested(rule, 4, expressions);
        });
    }

    fn nf_tables(&mut self, kind: u16, flags: u16, attributes: impl FnOnce(&mut Vec<u8>)) {
        self.message(kind, flags | NLM_F_ACK, NFPROTO_INET, 0, attributes);
    }

    fn message(
        &mut self,
        kind: u16,
        flags: u16,
        family: u8,
        resource: u16,
        attributes: impl FnOnce(&mut Vec<u8>),
    ) {
        // struct nfgenmsg.
        let mut body = vec![family, 0];
        body.extend(resource.to_be_bytes());
        attributes(&mut body);
        self.sequence += 1;
        let flags = flags | NLM_F_REQUEST;
        let header = netlink::request_header(kind, flags, self.sequence, body.len());
        self.bytes.extend(header);
        self.bytes.extend(body);
    }
}

fn nfproto(family: Family) -> u8 {
    match family {
        Family::V4 => NFPROTO_IPV4,
        Family::V6 => NFPROTO_IPV6,
    }
}

fn family_of(address: IpAddr) -> Family {
    if address.is_ipv4() {
        Family::V4
    } else {
        Family::V6
    }
}

/// Goes on with the rule only for packets of this family.
fn is_protocol(rule: &mut Vec<u8>, family: Family) {
    load_meta(rule, META_NFPROTO);
    equals(rule, &[nfproto(family)]);
}

/// Goes on with the rule only for packets of this protocol.
fn is_transport(rule: &mut Vec<u8>, transport: Transport) {
    load_meta(rule, META_L4PROTO);
    equals(rule, &[transport.number()]);
}

fn load_meta(rule: &mut Vec<u8>, key: u32) {
    expression(rule, "meta", |meta| {
        number(meta, 1, REGISTER);
        number(meta, 2, key);
    });
}

/// Goes on with the rule only for packets to this address.
fn load_destination(rule: &mut Vec<u8>, address: IpAddr) {
    let (at, octets) = match address {
        IpAddr::V4(address) => (16, address.octets().to_vec()),
        IpAddr::V6(address) => (24, address.octets().to_vec()),
    };
    load_payload(rule, NETWORK_HEADER, at, octets.len() as u32);
    equals(rule, &octets);
}

/// Loads `length` bytes from `offset` of a header on.
fn load_payload(rule: &mut Vec<u8>, header: u32, offset: u32, length: u32) {
    expression(rule, "payload", |payload| {
        number(payload, 1, REGISTER);
        number(payload, 2, header);
        number(payload, 3, offset);
        number(payload, 4, length);
    });
}

fn equals(rule: &mut Vec<u8>, value: &[u8]) {
    expression(rule, "cmp", |cmp| {
        number(cmp, 1, REGISTER);
        number(cmp, 2, 0);
        nested(cmp, 3, |constant| attribute(constant, 1, value));
    });
}

fn immediate(rule: &mut Vec<u8>, value: &[u8]) {
    expression(rule, "immediate", |immediate| {
        number(immediate, 1, REGISTER);
        nested(immediate, 2, |constant| attribute(constant, 1, value));
    });
}

fn accept(rule: &mut Vec<u8>) {
    expression(rule, "immediate", |immediate| {
        number(immediate, 1, VERDICT_REGISTER);
        nested(immediate, 2, |constant| {
            nested(constant, 2, |verdict| number(verdict, 1, ACCEPT));
        });
    });
}

fn expression(rule: &mut Vec<u8>, name: &str, attributes: impl FnOnce(&mut Vec<u8>)) {
    nested(rule, 1, |element| {
        text(element, 1, name);
        nested(element, 2, attributes);
    });
}

fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = 4 + value.len();
    out.extend((length as u16).to_ne_bytes());
    out.extend(kind.to_ne_bytes());
    out.extend(value);
    out.resize(netlink::aligned(out.len()), 0);
}

fn nested(out: &mut Vec<u8>, kind: u16, attributes: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    attributes(&mut inner);
    attribute(out, kind | NLA_F_NESTED, &inner);
}

fn number(out: &mut Vec<u8>, kind: u16, value: u32) {
    attribute(out, kind, &value.to_be_bytes());
}

fn text(out: &mut Vec<u8>, kind: u16, value: &str) {
    attribute(out, kind, &[value.as_bytes(), &[0]].concat());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_of_a_batch_is_whole_and_the_last_rule_is_known() {
        let own: [IpAddr; 2] = [
            "10.77.0.3".parse().expect("an address"),
            "fd77::3".parse().expect("an address"),
        ];
        let takers = [(Family::V4, 4001), (Family::V6, 4002)].map(|(family, port)| Taker {
            transport: Transport::Tcp,
            family,
            port,
        });
        let batch = Batch::of(7, &own, &[(Transport::Udp, 5203)], &takers);
        let messages: Vec<_> = netlink::messages(&batch.bytes).collect();
        let kinds: Vec<u16> = messages.iter().map(|message| message.kind).collect();
        let [begin, end] = [BATCH_BEGIN, BATCH_END];
        let rules = [NEW_RULE; 6];
        assert_eq!(
            kinds,
            [&[begin, NEW_TABLE, NEW_CHAIN], &rules[..], &[end]].concat()
        );
        assert_eq!(messages[8].sequence, batch.last_rule);
        // Behind struct nfgenmsg: the table, the chain, and the expressions.
        let attributes: Vec<_> = netlink::attributes(&messages[8].body[4..]).collect();
        assert_eq!(attributes[0], (1, &b"bentpipe\0"[..]));
        assert_eq!(attributes[2].0, 4 | NLA_F_NESTED);
        assert_eq!(netlink::attributes(attributes[2].1).count(), 8);
    }
}
