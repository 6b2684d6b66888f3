//! Which destinations far opens connections to.
//!
//! A gateway stands in a network that trusts it. So without a rule it connects to public addresses alone: whoever holds near's key must not
//! reach the machines behind far, its own services, or the address at which clouds give out credentials.

use ipnet::IpNet;
use serde::Deserialize;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A network and, if only some are meant, ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub to: IpNet,
    /// Both are included.
    pub ports: Option<(u16, u16)>,
}

impl Rule {
    /// Without a port, only rules for all ports match.
    fn matches(&self, to: IpAddr, port: Option<u16>) -> bool {
        let names = |(first, last)| port.is_some_and(|port| (first..=last).contains(&port));
        self.to.contains(&to) && self.ports.is_none_or(names)
    }
}

/// The text of a rule is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError(String);

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is no destination: expected an address or a network, with or without ports, such as \"10.1.0.0/16\", \
             \"192.0.2.7 port 443\" or \"2001:db8::/32 port 1024-2000\"",
            self.0
        )
    }
}

impl std::error::Error for RuleError {}

impl std::str::FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let parsed = || {
            let mut words = text.split_whitespace();
            let network = words.next()?;
            let to = network
                .parse::<IpNet>()
                .ok()
                .or_else(|| network.parse::<IpAddr>().ok().map(IpNet::from))?;
            let ports = match (words.next(), words.next(), words.next()) {
                (None, ..) => None,
                (Some("port" | "ports"), Some(ports), None) => {
                    let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
                    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
                    (first <= last).then_some((first, last)).map(Some)?
                }
                _ => return None,
            };
            Some(Self {
                to: to.trunc(),
                ports,
            })
        };
        parsed().ok_or_else(|| RuleError(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The rules: a destination that `deny` names is never connected to; one that `allow` names is; others if they are public.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    pub allow: Vec<Rule>,
    pub deny: Vec<Rule>,
    /// This machine's own addresses.
    pub own: Vec<IpAddr>,
}

/// Why a destination is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Denied,
    NotPublic,
    /// It is this machine's address.
    Own,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Denied => "the access list denies it",
            Self::NotPublic => "it is no public address, and the access list does not allow it",
            Self::Own => "it is an address of this machine, and the access list does not allow it",
        })
    }
}

impl Access {
    /// Whether far may connect there. It is asked about the address that is then connected to, after names were resolved.
    pub fn check(&self, to: SocketAddr) -> Result<(), Refusal> {
        self.check_either(to.ip(), Some(to.port()))
    }

    /// Whether packets without ports may go there: ping, and later fragments.
    pub fn check_portless(&self, to: IpAddr) -> Result<(), Refusal> {
        self.check_either(to, None)
    }

    fn check_either(&self, to: IpAddr, port: Option<u16>) -> Result<(), Refusal> {
        let to = to.to_canonical();
        // A translator on the way makes this of it.
        let inner = match to {
            IpAddr::V4(_) => None,
            IpAddr::V6(v6) => embedded_v4(v6).map(IpAddr::V4),
        };
        let named = |rules: &[Rule], to: IpAddr| rules.iter().any(|rule| rule.matches(to, port));
        if named(&self.deny, to) || inner.is_some_and(|inner| named(&self.deny, inner)) {
            return Err(Refusal::Denied);
        }
        if named(&self.allow, to) {
            return Ok(());
        }
        let is_own = |ip: IpAddr| self.own.iter().any(|own| own.to_canonical() == ip);
        if is_own(to) || inner.is_some_and(is_own) {
            return Err(Refusal::Own);
        }
        if port == Some(0) || !is_public(to) {
            return Err(Refusal::NotPublic);
        }
        Ok(())
    }
}

/// Whether an address belongs to the public Internet: the registries of special-purpose addresses of RFC 6890, as IANA keeps them.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => embedded_v4(v6).map_or_else(|| is_public_v6(v6), is_public_v4),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    !(a == 0
        || ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_multicast()
        || ip.is_documentation()
        // RFC 6598, shared addresses behind a provider's NAT; RFC 2544, benchmarks; RFC 6890, protocol assignments.
        || (a == 100 && (b & 0xc0) == 64)
        || (a == 198 && (b & 0xfe) == 18)
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99)
        // RFC 1112, reserved, and the limited broadcast.
        || a >= 240)
}

/// The IPv4 address that a translator or a tunnel makes of an IPv6 address: NAT64 (RFC 6052), 6to4 (RFC 3056).
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = ip.octets();
    let v4 = |at: usize| {
        let four = octets[at..].first_chunk::<4>();
        four.copied().map(Ipv4Addr::from)
    };
    let nat64 = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
    if octets.starts_with(&nat64) || octets.starts_with(&[0; 12]) {
        v4(12)
    } else if octets.starts_with(&[0x20, 0x02]) {
        v4(2)
    } else {
        None
    }
}

/// Global unicast (`2000::/3`), without what is kept for documentation, benchmarks, local use and Teredo.
fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, ..] = ip.segments();
    (a & 0xe000) == 0x2000
        && !(a == 0x2001 && (b < 0x200 || b == 0xdb8))
        && !(a == 0x3fff && b < 0x1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn public_addresses_alone_are_open_without_rules() {
        let access = Access::default();
        for open in [
            "8.8.8.8:53",
            "[2606:4700::1111]:443",
            "172.32.0.1:80",
            "[::ffff:8.8.8.8]:53",
        ] {
            assert_eq!(access.check(at(open)), Ok(()), "{open}");
        }
        for closed in [
            "0.0.0.0:80",
            "10.1.2.3:80",
            "100.64.0.1:80",
            "127.0.0.1:22",
            "169.254.169.254:80",
            "172.31.255.255:80",
            "192.168.1.1:80",
            "198.18.0.1:80",
            "203.0.113.1:80",
            "224.0.0.1:80",
            "255.255.255.255:80",
            "8.8.8.8:0",
            "[::]:80",
            "[::1]:80",
            "[::ffff:127.0.0.1]:80",
            "[::ffff:169.254.169.254]:80",
            "[64:ff9b::a01:203]:80",
            "[64:ff9b:1::1]:80",
            "[2002:7f00:1::]:80",
            "[fd00:ec2::254]:80",
            "[fe80::1]:80",
            "[ff02::1]:80",
            "[2001:db8::1]:80",
            "[2001::1]:80",
        ] {
            assert_eq!(
                access.check(at(closed)),
                Err(Refusal::NotPublic),
                "{closed}"
            );
        }
    }

    #[test]
    fn rules_open_and_close_and_a_denial_wins() {
        let access = Access {
            allow: rules(&["10.0.0.0/8 port 80-443", "192.0.2.1"]),
            deny: rules(&["10.9.0.0/16", "0.0.0.0/0 port 25"]),
            own: vec!["198.51.1.1".parse().unwrap()],
        };
        for (to, expected) in [
            ("10.1.1.1:80", Ok(())),
            ("10.1.1.1:443", Ok(())),
            ("10.1.1.1:444", Err(Refusal::NotPublic)),
            ("10.9.1.1:80", Err(Refusal::Denied)),
            ("8.8.8.8:25", Err(Refusal::Denied)),
            ("[::ffff:8.8.8.8]:25", Err(Refusal::Denied)),
            ("[64:ff9b::808:808]:25", Err(Refusal::Denied)),
            ("[2002:808:808::1]:25", Err(Refusal::Denied)),
            ("[64:ff9b::c633:101]:80", Err(Refusal::Own)),
            ("[64:ff9b::808:808]:80", Ok(())),
            ("192.0.2.1:9", Ok(())),
            ("198.51.1.1:80", Err(Refusal::Own)),
        ] {
            assert_eq!(access.check(at(to)), expected, "{to}");
        }
        for (to, expected) in [
            ("10.1.1.1", Err(Refusal::NotPublic)),
            ("10.9.1.1", Err(Refusal::Denied)),
            ("8.8.8.8", Ok(())),
            ("192.0.2.1", Ok(())),
            ("198.51.1.1", Err(Refusal::Own)),
        ] {
            let checked = access.check_portless(to.parse().unwrap());
            assert_eq!(checked, expected, "{to}");
        }
    }

    #[test]
    fn what_is_no_rule_is_named() {
        for text in [
            "",
            "10.0.0.0/33",
            "example.org",
            "10.0.0.0/8 80",
            "::/0 port 9-3",
            "::/0 port 1 2",
        ] {
            let error = text.parse::<Rule>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("\"{text}\" is no destination: expected")));
        }
    }
}
