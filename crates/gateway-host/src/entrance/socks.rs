//! SOCKS version 5: RFC 1928, without authentication and with the commands CONNECT and UDP ASSOCIATE.

use super::socks_udp::write_address;
use super::{Asked, Step};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

const VERSION: u8 = 5;
pub(super) const NO_AUTHENTICATION: &[u8] = &[VERSION, 0];
const NO_METHOD: &[u8] = &[VERSION, 0xff];
/// Section 6: succeeded. The bound address is not told, since it is far's.
const SUCCEEDED: &[u8] = &reply(0);
pub(super) const FAILED: &[u8] = &reply(1);
const NO_COMMAND: &[u8] = &reply(7);
const NO_ADDRESS_TYPE: &[u8] = &reply(8);

const fn reply(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

/// Section 6: succeeded, at this address.
pub(super) fn associated(at: SocketAddr) -> Vec<u8> {
    let mut out = vec![VERSION, 0, 0];
    write_address(at, &mut out);
    out
}

const CONNECT: u8 = 1;
const UDP_ASSOCIATE: u8 = 3;

pub(super) enum Methods {
    More,
    /// After so many bytes.
    Agreed(usize),
    Refused(&'static [u8]),
}

/// Section 3: the methods that the program offers.
pub(super) fn methods(sent: &[u8]) -> Methods {
    let (Some(&version), count) = (sent.first(), sent.get(1)) else {
        return Methods::More;
    };
    if version != VERSION {
        return Methods::Refused(b"");
    }
    let Some(&count) = count else {
        return Methods::More;
    };
    let end = 2 + usize::from(count);
    match sent.get(2..end) {
        None => Methods::More,
        Some(offered) if offered.contains(&0) => Methods::Agreed(end),
        Some(_) => Methods::Refused(NO_METHOD),
    }
}

/// Section 4: where it leads.
pub(super) fn request(sent: &[u8]) -> Step {
    let [version, command, _, kind, rest @ ..] = sent else {
        return Step::More;
    };
    if *version != VERSION {
        return Step::Refuse(FAILED);
    }
    let (address, name) = match kind {
        1 => (4, None),
        4 => (16, None),
        3 => match rest.first() {
            None => return Step::More,
            Some(&length) => (1 + usize::from(length), Some(usize::from(length))),
        },
        _ => return Step::Refuse(NO_ADDRESS_TYPE),
    };
    let Some((address, port)) = rest
        .get(..address + 2)
        .and_then(|head| head.split_last_chunk::<2>())
    else {
        return Step::More;
    };
    match *command {
        CONNECT => {}
        // Programs seldom know the address that they will send from: the connection's is taken.
        UDP_ASSOCIATE => return Step::Associate,
        _ => return Step::Refuse(NO_COMMAND),
    }
    let port = u16::from_be_bytes(*port);
    let asked = if name.is_some() {
        Asked::named(&address[1..], port)
    } else if let Ok(octets) = <[u8; 4]>::try_from(address) {
        Some(Asked::Address(SocketAddr::new(
            Ipv4Addr::from(octets).into(),
            port,
        )))
    } else {
        let octets = <[u8; 16]>::try_from(address).ok();
        octets.map(|octets| Asked::Address(SocketAddr::new(Ipv6Addr::from(octets).into(), port)))
    };
    match asked {
        Some(asked) => Step::Open {
            asked,
            taken: 4 + address.len() + 2,
            answer: SUCCEEDED,
        },
        None => Step::Refuse(FAILED),
    }
}
