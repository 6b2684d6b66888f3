//! How a host's connection says where it leads: the address that it was accepted at, SOCKS5 or HTTP CONNECT.
//!
//! The state machines here do no I/O. They read what a program has sent, which may be anything, and say what to answer.

mod http;
mod socks;
pub mod socks_udp;

use bentpipe_gateway::NamedTarget;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// How a listener's connections say where they lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Entrance {
    /// A connection leads to the address that it was accepted at: TPROXY gives sockets that of the destination.
    #[default]
    Address,
    /// SOCKS version 5 without authentication (RFC 1928), with UDP.
    Socks5,
    /// The method CONNECT of HTTP/1.1 (RFC 9110, section 9.3.6).
    HttpConnect,
}

/// Where a program wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Address(SocketAddr),
    /// A name, which far resolves. It is ASCII without white space, of 230 bytes at most.
    Name {
        name: String,
        port: u16,
    },
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Name { name, port } => write!(f, "{name}:{port}"),
        }
    }
}

impl Asked {
    /// A name that is the text of an address is an address.
    fn named(name: &[u8], port: u16) -> Option<Self> {
        let text = std::str::from_utf8(name).ok()?;
        if let Ok(ip) = text.parse::<IpAddr>() {
            return Some(Self::Address(SocketAddr::new(ip, port)));
        }
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
        let right =
            !name.is_empty() && name.len() <= NamedTarget::NAME_MAX_BYTES && name.iter().all(plain);
        right.then(|| Self::Name {
            name: text.to_ascii_lowercase(),
            port,
        })
    }
}

/// What to do after a look at what a program has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The rest has not come yet.
    More,
    /// Send this; more is expected.
    Answer(&'static [u8]),
    /// The first `taken` bytes said where it leads. Send `answer`; what follows them belongs to the destination.
    Open {
        asked: Asked,
        taken: usize,
        answer: &'static [u8],
    },
    /// SOCKS: the program asks for an association, for its UDP. What follows on this connection means nothing; its end ends the association.
    Associate,
    /// Send this, if it is not empty, and close.
    Refuse(&'static [u8]),
}

/// What a program hears that asked for an association: where its datagrams are taken, or that there is none.
pub(crate) fn associated(at: Option<SocketAddr>) -> Vec<u8> {
    at.map_or_else(|| socks::FAILED.to_vec(), socks::associated)
}

/// A greeting that is not over after so many bytes is refused.
pub const LONGEST_GREETING: usize = 8192;

/// How far the greeting of one connection is.
#[derive(Clone, Copy, Debug)]
pub struct Greeting {
    entrance: Entrance,
    /// SOCKS: the methods were agreed upon.
    agreed: bool,
    /// Bytes of the messages before.
    skip: usize,
}

impl Greeting {
    /// None: a connection of this entrance says nothing.
    pub fn new(entrance: Entrance) -> Option<Self> {
        (entrance != Entrance::Address).then_some(Self {
            entrance,
            agreed: false,
            skip: 0,
        })
    }

    /// `sent` is all that has come on this connection so far.
    pub fn read(&mut self, sent: &[u8]) -> Step {
        let rest = sent.get(self.skip..).unwrap_or_default();
        let step = match self.entrance {
            Entrance::Address => return Step::Refuse(b""),
            Entrance::Socks5 if !self.agreed => match socks::methods(rest) {
                socks::Methods::More => Step::More,
                socks::Methods::Agreed(taken) => {
                    self.agreed = true;
                    self.skip += taken;
                    Step::Answer(socks::NO_AUTHENTICATION)
                }
                socks::Methods::Refused(answer) => Step::Refuse(answer),
            },
            Entrance::Socks5 => socks::request(rest),
            Entrance::HttpConnect => http::request(rest),
        };
        match step {
            Step::Open {
                asked,
                taken,
                answer,
            } => Step::Open {
                asked,
                taken: self.skip + taken,
                answer,
            },
            Step::More if sent.len() >= LONGEST_GREETING => Step::Refuse(match self.entrance {
                Entrance::HttpConnect => http::TOO_LONG,
                _ => b"",
            }),
            step => step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the machine one byte more each time, as a slow program would.
    fn slowly(entrance: Entrance, sent: &[u8]) -> (Vec<u8>, Step) {
        let mut greeting = Greeting::new(entrance).unwrap();
        let mut answers = Vec::new();
        for end in 0..=sent.len() {
            match greeting.read(&sent[..end]) {
                Step::More => {}
                Step::Answer(answer) => answers.extend_from_slice(answer),
                step => return (answers, step),
            }
        }
        (answers, Step::More)
    }

    #[test]
    fn socks_leads_to_an_address_or_to_a_name() {
        let v4 = b"\x05\x02\x00\x02\x05\x01\x00\x01\xc6\x33\x64\x07\x01\xbbGET";
        let (answers, step) = slowly(Entrance::Socks5, v4);
        assert_eq!(answers, b"\x05\x00");
        let Step::Open {
            asked,
            taken,
            answer,
        } = step
        else {
            panic!("{step:?}")
        };
        assert_eq!(asked.to_string(), "198.51.100.7:443");
        assert_eq!((&v4[taken..], answer[1]), (&b"GET"[..], 0));

        let name = b"\x05\x01\x00\x05\x01\x00\x03\x0bExample.org\x00\x50";
        let (_, step) = slowly(Entrance::Socks5, name);
        let expected = Asked::Name {
            name: "example.org".into(),
            port: 80,
        };
        assert!(matches!(step, Step::Open { asked, .. } if asked == expected));

        let mut v6 = b"\x05\x01\x00\x05\x01\x00\x04".to_vec();
        v6.extend_from_slice(&std::net::Ipv6Addr::LOCALHOST.octets());
        v6.extend_from_slice(&[0, 22]);
        let (_, step) = slowly(Entrance::Socks5, &v6);
        assert!(matches!(step, Step::Open { asked, .. } if asked.to_string() == "[::1]:22"));
    }

    #[test]
    fn socks_takes_an_association_from_whatever_address_it_names() {
        for request in [
            &b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0"[..],
            b"\x05\x01\x00\x05\x03\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x12\x34",
            b"\x05\x01\x00\x05\x03\x00\x03\x09localhost\0\0",
        ] {
            let (answers, step) = slowly(Entrance::Socks5, request);
            assert_eq!((&answers[..], step), (&b"\x05\x00"[..], Step::Associate));
            let (_, step) = slowly(Entrance::Socks5, &request[..request.len() - 1]);
            assert_eq!(step, Step::More);
        }
        let at = "127.0.0.1:4660".parse().unwrap();
        assert_eq!(associated(Some(at)), b"\x05\0\0\x01\x7f\0\0\x01\x12\x34");
        assert_eq!(associated(None)[..2], [5, 1]);
    }

    #[test]
    fn what_is_no_socks_5_is_refused_with_its_reason() {
        for (sent, answer) in [
            (&b"GET / HTTP/1.1\r\n"[..], &b""[..]),
            (b"\x04\x01\x00\x50\x01\x02\x03\x04\x00", b""),
            (b"\x05\x01\x02", b"\x05\xff"),
            (
                b"\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50",
                b"\x05\x07\x00\x01\0\0\0\0\0\0",
            ),
            (
                b"\x05\x01\x00\x05\x01\x00\x09",
                b"\x05\x08\x00\x01\0\0\0\0\0\0",
            ),
            (
                b"\x05\x01\x00\x05\x01\x00\x03\x03a b\x00\x50",
                b"\x05\x01\x00\x01\0\0\0\0\0\0",
            ),
        ] {
            let (_, step) = slowly(Entrance::Socks5, sent);
            assert_eq!(step, Step::Refuse(answer), "{sent:?}");
        }
    }

    #[test]
    fn connect_leads_to_its_authority_and_takes_the_head_alone() {
        let sent = b"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n\x16\x03\x01";
        let (_, step) = slowly(Entrance::HttpConnect, sent);
        let Step::Open {
            asked,
            taken,
            answer,
        } = step
        else {
            panic!("{step:?}")
        };
        assert_eq!(asked.to_string(), "example.org:443");
        assert!(answer.starts_with(b"HTTP/1.1 200 "));
        // The machine saw the head alone, so that nothing behind it was taken.
        assert_eq!(taken, sent.len() - 3);
        let v6 = b"CONNECT [2001:db8::1]:8443 HTTP/1.1\r\n\r\n";
        let (_, step) = slowly(Entrance::HttpConnect, v6);
        assert!(
            matches!(step, Step::Open { asked, .. } if asked.to_string() == "[2001:db8::1]:8443")
        );
    }

    #[test]
    fn other_requests_of_http_are_refused_in_http() {
        for (sent, status) in [
            (&b"GET http://example.org/ HTTP/1.1\r\n\r\n"[..], "405"),
            (b"CONNECT example.org HTTP/1.1\r\n\r\n", "400"),
            (b"CONNECT example.org:0x50 HTTP/1.1\r\n\r\n", "400"),
            (b"CONNECT :443 HTTP/1.1\r\n\r\n", "400"),
            (b"\x05\x01\x00\r\n\r\n", "400"),
        ] {
            let (_, step) = slowly(Entrance::HttpConnect, sent);
            let Step::Refuse(answer) = step else {
                panic!("{sent:?}: {step:?}")
            };
            let answer = std::str::from_utf8(answer).unwrap();
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{answer}"
            );
            assert!(answer.ends_with("\r\n\r\n"));
        }
        let endless = vec![b'a'; LONGEST_GREETING];
        let (_, step) = slowly(Entrance::HttpConnect, &endless);
        assert!(matches!(step, Step::Refuse(answer) if answer.starts_with(b"HTTP/1.1 431 ")));
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(sent in proptest::collection::vec(0_u8..=255, 0..300)) {
            for entrance in [Entrance::Socks5, Entrance::HttpConnect] {
                let (_, step) = slowly(entrance, &sent);
                if let Step::Open { taken, .. } = step {
                    proptest::prop_assert!(taken <= sent.len());
                }
            }
        }
    }
}
