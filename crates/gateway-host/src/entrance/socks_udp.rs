//! SOCKS version 5, UDP: the header before each datagram (RFC 1928, section 7).
//!
//! | bytes | field |
//! |---|---|
//! | 2 | reserved |
//! | 1 | number of the fragment; 0: the datagram is whole |
//! | 1 | kind of the address: 1, IPv4; 3, a name; 4, IPv6 |
//! | 4, 16, or 1 and a name | address |
//! | 2 | port |
//!
//! Departures from it: fragments are not put together, and names are not resolved, since the session's datagrams carry addresses only. A program
//! that wants names resolved at far asks a server of DNS, or uses TCP.

use super::Asked;
use std::net::{IpAddr, SocketAddr};

/// Why a program's datagram goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRequest {
    /// The header is cut short, or its address is of a kind that is not known.
    Malformed,
    Fragment,
    Name,
}

/// Where a program's datagram goes, and its bytes.
pub fn request(datagram: &[u8]) -> Result<(SocketAddr, &[u8]), NoRequest> {
    let [_, _, fragment, kind, rest @ ..] = datagram else {
        return Err(NoRequest::Malformed);
    };
    if *fragment != 0 {
        return Err(NoRequest::Fragment);
    }
    let cut = NoRequest::Malformed;
    let (asked, rest) = match kind {
        1 => {
            let (octets, rest) = rest.split_first_chunk::<4>().ok_or(cut)?;
            (Some(IpAddr::from(*octets)), rest)
        }
        4 => {
            let (octets, rest) = rest.split_first_chunk::<16>().ok_or(cut)?;
            (Some(IpAddr::from(*octets)), rest)
        }
        3 => {
            let (&length, rest) = rest.split_first().ok_or(cut)?;
            let (name, rest) = rest.split_at_checked(length.into()).ok_or(cut)?;
            // The text of an address is one.
            let ip = match Asked::named(name, 0) {
                Some(Asked::Address(address)) => Some(address.ip()),
                Some(Asked::Name { .. }) => None,
                None => return Err(NoRequest::Malformed),
            };
            (ip, rest)
        }
        _ => return Err(NoRequest::Malformed),
    };
    let (port, bytes) = rest.split_first_chunk::<2>().ok_or(cut)?;
    let ip = asked.ok_or(NoRequest::Name)?;
    Ok((SocketAddr::new(ip, u16::from_be_bytes(*port)), bytes))
}

/// Appends the header of a datagram from this address.
pub fn write_header(from: SocketAddr, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0, 0]);
    write_address(from, out);
}

/// Appends the kind of an address, the address and its port.
pub(super) fn write_address(at: SocketAddr, out: &mut Vec<u8>) {
    match at.ip() {
        IpAddr::V4(ip) => {
            out.push(1);
            out.extend_from_slice(&ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(4);
            out.extend_from_slice(&ip.octets());
        }
    }
    out.extend_from_slice(&at.port().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_that_is_written_is_read() {
        for text in ["198.51.100.7:53", "[2001:db8::1]:443"] {
            let at: SocketAddr = text.parse().unwrap();
            let mut datagram = Vec::new();
            write_header(at, &mut datagram);
            datagram.extend_from_slice(b"question");
            assert_eq!(request(&datagram), Ok((at, &b"question"[..])));
        }
    }

    #[test]
    fn a_datagram_may_be_empty_and_an_address_may_be_text() {
        let empty = b"\0\0\0\x01\xc6\x33\x64\x07\0\x35";
        let at = "198.51.100.7:53".parse().unwrap();
        assert_eq!(request(empty), Ok((at, &b""[..])));
        let text = b"\0\0\0\x03\x0c198.51.100.7\0\x35x";
        assert_eq!(request(text), Ok((at, &b"x"[..])));
    }

    #[test]
    fn what_is_no_request_is_told_apart() {
        for (datagram, why) in [
            (&b""[..], NoRequest::Malformed),
            (b"\0\0\0", NoRequest::Malformed),
            (b"\0\0\0\x01\x01\x02\x03\x04\0", NoRequest::Malformed),
            (b"\0\0\0\x04\x01\x02\x03\x04\0\x35", NoRequest::Malformed),
            (b"\0\0\0\x02\x01\x02\x03\x04\0\x35", NoRequest::Malformed),
            (b"\0\0\0\x03", NoRequest::Malformed),
            (b"\0\0\0\x03\x0bexample.or", NoRequest::Malformed),
            (b"\0\0\0\x03\0\0\x35x", NoRequest::Malformed),
            (b"\0\0\0\x03\x03a b\0\x35x", NoRequest::Malformed),
            (b"\0\0\x01\x01\x01\x02\x03\x04\0\x35x", NoRequest::Fragment),
            (b"\0\0\x80\x01\x01\x02\x03\x04\0\x35x", NoRequest::Fragment),
            (b"\0\0\0\x03\x0bexample.org\0\x35x", NoRequest::Name),
        ] {
            assert_eq!(request(datagram), Err(why), "{datagram:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(datagram in proptest::collection::vec(0_u8..=255, 0..300)) {
            if let Ok((_, bytes)) = request(&datagram) {
                proptest::prop_assert!(datagram.ends_with(bytes));
                proptest::prop_assert!(bytes.len() + 10 <= datagram.len());
            }
        }

        #[test]
        fn a_right_header_with_any_ending_is_read(
            kind in 0_u8..6, rest in proptest::collection::vec(0_u8..=255, 0..300)
        ) {
            let mut datagram = vec![0, 0, 0, kind];
            datagram.extend_from_slice(&rest);
            let enough = match kind {
                1 => rest.len() >= 6,
                4 => rest.len() >= 18,
                3 => return Ok(()),
                _ => false,
            };
            proptest::prop_assert_eq!(request(&datagram).is_ok(), enough);
        }
    }
}
