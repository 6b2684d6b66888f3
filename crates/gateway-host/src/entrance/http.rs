//! HTTP/1.1 as far as a proxy for CONNECT needs it: RFC 9112, section 3, and RFC 9110, section 9.3.6.

use super::{Asked, Step};

const CONNECTED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";
const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const ONLY_CONNECT: &[u8] = b"HTTP/1.1 405 Method Not Allowed\r\nAllow: CONNECT\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
pub(super) const TOO_LONG: &[u8] =
    b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

pub(super) fn request(sent: &[u8]) -> Step {
    let Some(head) = sent.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Step::More;
    };
    let line = sent[..head].split(|&byte| byte == b'\r').next();
    let mut words = line.unwrap_or_default().split(|&byte| byte == b' ');
    let (method, authority, version, none) =
        (words.next(), words.next(), words.next(), words.next());
    let (Some(method), Some(authority), Some(version), None) = (method, authority, version, none)
    else {
        return Step::Refuse(BAD_REQUEST);
    };
    if !version.starts_with(b"HTTP/1.") {
        return Step::Refuse(BAD_REQUEST);
    }
    if method != b"CONNECT" {
        return Step::Refuse(ONLY_CONNECT);
    }
    match asked(authority) {
        Some(asked) => Step::Open {
            asked,
            taken: head + 4,
            answer: CONNECTED,
        },
        None => Step::Refuse(BAD_REQUEST),
    }
}

/// A host and a port. An IPv6 address is in brackets.
fn asked(authority: &[u8]) -> Option<Asked> {
    let colon = authority.iter().rposition(|&byte| byte == b':')?;
    let (host, port) = (&authority[..colon], &authority[colon + 1..]);
    if !port.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let port = std::str::from_utf8(port).ok()?.parse().ok()?;
    match host.strip_prefix(b"[").map(|rest| rest.strip_suffix(b"]")) {
        None => Asked::named(host, port),
        Some(inside) => match Asked::named(inside?, port)? {
            asked @ Asked::Address(address) if address.is_ipv6() => Some(asked),
            _ => None,
        },
    }
}
