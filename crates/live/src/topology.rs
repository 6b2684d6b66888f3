//! The hosts of a run, the links that join them, and their addresses.
//!
//! The topology is the standard one ([`bentpipe_base::topology`]): client, path, server; with a near host: client, LAN, near, path,
//! server. Near forwards. Where connections are split there are a near and a far host, and a link from far to the server. Servers
//! beyond the far end are lines between the seats `far` and `server`. Their addresses are the host `server`'s. Their lines are driven
//! by the datapath of the link from far, or if nothing sits at `far`, by the path's.
//!
//! Every host has an address in each of the run's networks, and a route from it to the others' in the same one. The
//! first network is the plain one; each further one has a congestion control of its own as a metric of its routes,
//! so that who connects to a host's address in it has that control, at both ends.

use crate::family::Family;
use crate::per_host::HostId;
use bentpipe_base::topology::{Checked, Link, Seat, Standard, Topology, TopologyError};
use bentpipe_workloads::ServersSpec;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host's end of a link, and who is reached by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub link: Link,
    pub to: Vec<HostId>,
}

/// A link with pipes, as devices make it: two hosts' ends, and what lies between.
#[derive(Debug)]
pub(crate) struct Wire<'a> {
    pub link: Link,
    /// The host on the server's side first.
    pub ends: [HostId; 2],
    /// The servers whose lines go on from the link's end on the server's side.
    pub servers: &'a [ServersSpec],
}

/// What a run's namespaces, devices and routes are built from.
#[derive(Debug)]
pub(crate) struct Plan {
    /// `None` where nothing sits: two links meet there, and every packet goes on.
    topology: Checked<Option<HostId>, Link>,
    servers: Vec<ServersSpec>,
}

impl Plan {
    /// `near`, `far`: whether there are such hosts. `servers`: those beyond the far end, whose lines begin at the seat `far`.
    pub(crate) fn new(
        near: bool,
        far: bool,
        servers: Vec<ServersSpec>,
    ) -> Result<Self, TopologyError> {
        let standard = Standard {
            near,
            far: far || !servers.is_empty(),
        };
        let sits = |seat| (seat != Seat::Far || far).then_some(HostId::at(seat));
        let seats = standard.seats();
        let topology = Topology {
            seats: seats.map(|seat| (seat, sits(seat))).collect(),
            links: standard.links().collect(),
        };
        let topology = topology.check()?;
        Ok(Self { topology, servers })
    }

    /// How many servers lie beyond the far end.
    pub(crate) fn servers(&self) -> u32 {
        self.servers.iter().map(|each| each.servers).sum()
    }

    /// The ends of links that a host has, those towards the client first.
    pub(crate) fn attachments(&self, host: HostId) -> Vec<Attachment> {
        let Checked { seats, routes, .. } = &self.topology;
        let place = seats.iter().position(|(_, other)| *other == Some(host));
        let routes = place.map_or([None; Seat::ALL.len()], |place| routes[place]);
        let mut attachments: Vec<Attachment> = Vec::new();
        for (other, way) in Seat::ALL.into_iter().zip(routes) {
            let found = seats.iter().find(|(seat, _)| *seat == other);
            let (Some(way), Some((_, Some(other)))) = (way, found) else {
                continue;
            };
            let (_, link) = self.topology.links[self.with_pipes(way.link)];
            match attachments.iter_mut().find(|known| known.link == link) {
                Some(known) => known.to.push(*other),
                None => attachments.push(Attachment {
                    link,
                    to: vec![*other],
                }),
            }
        }
        attachments
    }

    /// Each link with pipes. The path comes first.
    pub(crate) fn wires(&self) -> impl Iterator<Item = Wire<'_>> {
        let links = self.topology.links.iter().enumerate();
        links.filter_map(|(number, (ends, link))| {
            let lines = self.lines_from(number);
            let to_servers = lines.is_some() || *link == Link::Terrestrial;
            let [server_side, client_side] = *ends;
            let server_side = lines.map_or(server_side, |(_, beyond)| beyond);
            let host = |place: usize| self.topology.seats[place].1;
            Some(Wire {
                link: *link,
                ends: [host(server_side)?, host(client_side)?],
                servers: if to_servers { &self.servers } else { &[] },
            })
        })
    }

    /// The link whose devices carry what goes over this one: the servers' lines have none of their own.
    fn with_pipes(&self, link: usize) -> usize {
        let mut others = 0..self.topology.links.len();
        let found = others.find(|&other| self.lines_from(other).is_some_and(|(it, _)| it == link));
        found.unwrap_or(link)
    }

    /// The lines that go on from a link's end on the server's side, where nothing sits, and the place that they lead to.
    fn lines_from(&self, link: usize) -> Option<(usize, usize)> {
        let Checked { seats, links, .. } = &self.topology;
        let ([end, _], _) = links[link];
        let mut others = links.iter().enumerate();
        let found = others.find(|(other, ([_, from], _))| *other != link && *from == end);
        let (other, ([to, _], _)) = found.filter(|_| seats[end].1.is_none())?;
        Some((other, *to))
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
        HostId::Far => 4,
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
    use bentpipe_path::time::Nanos;
    use bentpipe_workloads::Distribution;

    /// A split takes both seats. There are 5 servers, or none.
    fn plan(near: bool, far: bool, beyond: bool) -> Plan {
        let of = |name: &str, servers| ServersSpec {
            name: name.into(),
            servers,
            delay: Distribution::Constant { value: 1 },
            jitter: Nanos::ZERO,
        };
        let servers = vec![of("island", 3), of("mainland", 2)];
        let servers = if beyond { servers } else { Vec::new() };
        Plan::new(near, far, servers).expect("the standard topology")
    }

    /// Near and far.
    const SEATS: [(bool, bool); 3] = [(false, false), (true, false), (true, true)];

    #[test]
    fn every_host_reaches_every_other_by_one_link_that_both_have_toward_each_other() {
        for (near, far) in SEATS {
            let taken = [true, near, far, true];
            let hosts = Seat::ALL.into_iter().zip(taken).filter(|(_, taken)| *taken);
            let hosts: Vec<HostId> = hosts.map(|(seat, _)| HostId::at(seat)).collect();
            for beyond in [false, true] {
                for &host in &hosts {
                    let mut reached: Vec<HostId> = plan(near, far, beyond)
                        .attachments(host)
                        .iter()
                        .flat_map(|attachment| attachment.to.clone())
                        .collect();
                    let place = |host: &HostId| hosts.iter().position(|other| other == host);
                    reached.sort_by_key(place);
                    let others = hosts.iter().copied().filter(|&other| other != host);
                    assert_eq!(reached, others.collect::<Vec<_>>(), "{host:?} {beyond}");
                }
            }
        }
    }

    #[test]
    fn a_host_has_an_end_of_each_of_its_links_those_towards_the_client_first() {
        use HostId::{Client, Far, Near, Server};
        for beyond in [false, true] {
            let of = |far, host| {
                let found = plan(true, far, beyond).attachments(host).into_iter();
                found.map(|it| (it.link, it.to)).collect::<Vec<_>>()
            };
            assert_eq!(of(false, Client), [(Link::Lan, vec![Near, Server])]);
            assert_eq!(
                of(false, Near),
                [(Link::Lan, vec![Client]), (Link::Path, vec![Server])]
            );
            assert_eq!(of(false, Server), [(Link::Path, vec![Client, Near])]);
            assert_eq!(
                of(true, Near),
                [(Link::Lan, vec![Client]), (Link::Path, vec![Far, Server])]
            );
            assert_eq!(
                of(true, Far),
                [
                    (Link::Path, vec![Client, Near]),
                    (Link::Terrestrial, vec![Server])
                ]
            );
            assert_eq!(
                of(true, Server),
                [(Link::Terrestrial, vec![Client, Near, Far])]
            );
        }
    }

    #[test]
    fn one_link_leads_to_the_servers_and_has_its_hosts_whether_there_are_servers_or_not() {
        use HostId::{Client, Far, Near, Server};
        for (near, far) in SEATS {
            for beyond in [false, true] {
                let plan = plan(near, far, beyond);
                let wires: Vec<_> = plan
                    .wires()
                    .map(|wire| (wire.link, wire.ends, wire.servers.len()))
                    .collect();
                let lines = if beyond { 2 } else { 0 };
                let client_side = if near { Near } else { Client };
                let path = if far {
                    (Link::Path, [Far, Near], 0)
                } else {
                    (Link::Path, [Server, client_side], lines)
                };
                let lan = near.then_some((Link::Lan, [Near, Client], 0));
                let terrestrial = far.then_some((Link::Terrestrial, [Server, Far], lines));
                let expected = [Some(path), lan, terrestrial].into_iter().flatten();
                assert_eq!(wires, expected.collect::<Vec<_>>());
                assert_eq!(plan.servers(), if beyond { 5 } else { 0 });
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
        assert_eq!(text(HostId::Near, PLAIN), ["10.77.0.3", "fd77::3"]);
        assert_eq!(text(HostId::Server, 1), ["10.77.101.2", "fd77:101::2"]);
    }
}
