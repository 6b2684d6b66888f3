//! The hosts of a run, the links that join them, and their addresses.
//!
//! The topology is the standard one ([`bentpipe_base::topology`]): client, path, server; with a near host: client, LAN, near, path,
//! server. Near forwards. The servers beyond the far end are addresses of the host `server`, and the path's datapath has
//! their lines, so nothing sits at the seat `far`.
//!
//! Every host has an address in each of the run's networks, and a route from it to the others' in the same one. The
//! first network is the plain one; each further one has a congestion control of its own as a metric of its routes,
//! so that who connects to a host's address in it has that control, at both ends.

use crate::protocol::{Family, HostId};
use bentpipe_base::topology::{Checked, Link, Seat, Standard, Topology, TopologyError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host's end of a link, and who is reached by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub link: Link,
    pub to: Vec<HostId>,
}

/// What a run's namespaces and devices are built from.
#[derive(Debug)]
pub(crate) struct Plan(Checked<HostId, Link>);

impl Plan {
    /// `near`: whether there is a near host.
    pub(crate) fn new(near: bool) -> Result<Self, TopologyError> {
        let standard = Standard { near, far: false };
        let seats = standard.seats();
        let topology = Topology {
            seats: seats
                .filter_map(|seat| Some((seat, HostId::at(seat)?)))
                .collect(),
            links: standard.links().collect(),
        };
        topology.check().map(Self)
    }

    /// The ends of links that a host has, those towards the client first.
    pub(crate) fn attachments(&self, host: HostId) -> Vec<Attachment> {
        let Self(plan) = self;
        let place = plan.seats.iter().position(|(_, other)| *other == host);
        let routes = place.map_or([None; Seat::ALL.len()], |place| plan.routes[place]);
        let mut attachments: Vec<Attachment> = Vec::new();
        for (other, way) in Seat::ALL.into_iter().zip(routes) {
            let (Some(way), Some(other)) = (way, HostId::at(other)) else {
                continue;
            };
            let link = plan.links[way.link].1;
            match attachments.iter_mut().find(|known| known.link == link) {
                Some(known) => known.to.push(other),
                None => attachments.push(Attachment {
                    link,
                    to: vec![other],
                }),
            }
        }
        attachments
    }

    /// Each link with the hosts at its ends, the one on the server's side first. The path comes first.
    pub(crate) fn links(&self) -> impl Iterator<Item = (Link, [HostId; 2])> {
        let Self(plan) = self;
        let host = |place: usize| plan.seats[place].1;
        plan.links
            .iter()
            .map(move |(ends, link)| (*link, ends.map(host)))
    }
}

/// The plain network; further ones have the numbers after it.
pub(crate) const PLAIN: u8 = 0;
/// Of the further networks the first has this number and one in its addresses: 10.77.101.0 and `fd77:101::`.
const FURTHER: u8 = 100;

/// The addresses of a host in a network, in the order of the families asked for.
pub(crate) fn addresses(host: HostId, network: u8, families: &[Family]) -> Vec<IpAddr> {
    let last = match host {
        HostId::Client => 1,
        HostId::Server => 2,
        HostId::Near => 3,
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
            let hosts: &[HostId] = if near {
                &[HostId::Client, HostId::Near, HostId::Server]
            } else {
                &[HostId::Client, HostId::Server]
            };
            let plan = Plan::new(near).expect("the standard topology");
            for &host in hosts {
                let mut reached: Vec<HostId> = plan
                    .attachments(host)
                    .iter()
                    .flat_map(|attachment| attachment.to.clone())
                    .collect();
                reached.sort_by_key(|host| host.name());
                let others = hosts.iter().copied().filter(|&other| other != host);
                assert_eq!(reached, others.collect::<Vec<_>>(), "{host:?}, near {near}");
            }
        }
    }

    #[test]
    fn near_has_an_end_of_the_lan_and_one_of_the_path_and_the_others_have_one_end() {
        let plan = Plan::new(true).expect("the standard topology");
        let of = |host| {
            let found = plan.attachments(host).into_iter();
            found.map(|it| (it.link, it.to)).collect::<Vec<_>>()
        };
        assert_eq!(
            of(HostId::Client),
            [(Link::Lan, vec![HostId::Near, HostId::Server])]
        );
        assert_eq!(
            of(HostId::Near),
            [
                (Link::Lan, vec![HostId::Client]),
                (Link::Path, vec![HostId::Server])
            ]
        );
        assert_eq!(
            of(HostId::Server),
            [(Link::Path, vec![HostId::Client, HostId::Near])]
        );
        let links: Vec<_> = plan.links().collect();
        assert_eq!(
            links,
            [
                (Link::Path, [HostId::Server, HostId::Near]),
                (Link::Lan, [HostId::Near, HostId::Client])
            ]
        );
    }

    #[test]
    fn networks_are_told_apart_by_their_addresses_in_both_families() {
        let both = [Family::V4, Family::V6];
        let text = |host, network| {
            let found = addresses(host, network, &both);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(text(HostId::Near, PLAIN), ["10.77.0.3", "fd77::3"]);
        assert_eq!(text(HostId::Server, 1), ["10.77.101.2", "fd77:101::2"]);
    }
}
