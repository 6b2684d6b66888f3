//! The hosts of a run, the links that join them, and their addresses.
//!
//! Without a near host: client, path, server. With one: client, LAN, near, path, server; near forwards.
//!
//! Every host has an address in each of the run's networks, and a route from it to the others' in the same one. The
//! first network is the plain one; each further one has a congestion control of its own as a metric of its routes,
//! so that who connects to a host's address in it has that control, at both ends.

use crate::protocol::{Family, Host};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What joins two hosts: a TUN device at both, and two pipes between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// The long path.
    Path,
    /// Between the client and the near host.
    Lan,
}

impl Link {
    /// The device's name, at both ends.
    pub(crate) fn device(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Lan => "lan",
        }
    }

    /// What the pipe to the client is called, in reports, tables and the draws.
    pub fn down(self) -> &'static str {
        match self {
            Self::Path => "down",
            Self::Lan => "lan-down",
        }
    }

    pub fn up(self) -> &'static str {
        match self {
            Self::Path => "up",
            Self::Lan => "lan-up",
        }
    }
}

/// A host's end of a link, and who is reached by it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub link: Link,
    pub to: &'static [Host],
}

/// The ends of links that a host has. `near`: whether there is a near host.
pub(crate) fn attachments(host: Host, near: bool) -> Vec<Attachment> {
    use Host::{Client, Near, Server};
    let at = |link, to| Attachment { link, to };
    match (host, near) {
        (Client, false) => vec![at(Link::Path, &[Server])],
        (Client, true) => vec![at(Link::Lan, &[Near, Server])],
        (Near, _) => vec![at(Link::Lan, &[Client]), at(Link::Path, &[Server])],
        (Server, false) => vec![at(Link::Path, &[Client])],
        (Server, true) => vec![at(Link::Path, &[Near, Client])],
    }
}

/// The plain network; further ones have the numbers after it.
pub(crate) const PLAIN: u8 = 0;
/// Of the further networks the first has this number and one in its addresses: 10.77.101.0 and `fd77:101::`.
const FURTHER: u8 = 100;

/// The addresses of a host in a network, in the order of the families asked for.
pub(crate) fn addresses(host: Host, network: u8, families: &[Family]) -> Vec<IpAddr> {
    let last = match host {
        Host::Client => 1,
        Host::Server => 2,
        Host::Near => 3,
    };
    let (third, second) = match network {
        PLAIN => (0, 0),
        further => (FURTHER + further, 0x100 + u16::from(further)),
    };
    let address = |family: &Family| match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::new(10, 77, third, last)),
        Family::V6 => IpAddr::V6(Ipv6Addr::new(0xfd77, second, 0, 0, 0, 0, 0, last.into())),
    };
    families.iter().map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_reaches_every_other_by_one_link_that_both_have_toward_each_other() {
        for near in [false, true] {
            let hosts: &[Host] = if near {
                &[Host::Client, Host::Near, Host::Server]
            } else {
                &[Host::Client, Host::Server]
            };
            for &host in hosts {
                let mut reached: Vec<Host> = attachments(host, near)
                    .iter()
                    .flat_map(|attachment| attachment.to.to_vec())
                    .collect();
                reached.sort_by_key(|host| host.name());
                let others = hosts.iter().copied().filter(|&other| other != host);
                assert_eq!(reached, others.collect::<Vec<_>>(), "{host:?}, near {near}");
            }
        }
    }

    #[test]
    fn networks_are_told_apart_by_their_addresses_in_both_families() {
        let both = [Family::V4, Family::V6];
        let text = |host, network| {
            let found = addresses(host, network, &both);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(text(Host::Near, PLAIN), ["10.77.0.3", "fd77::3"]);
        assert_eq!(text(Host::Server, 1), ["10.77.101.2", "fd77:101::2"]);
    }
}
