//! The hosts of a run, the links that join them, and their addresses.
//!
//! The topology is the standard one ([`bentpipe_base::topology`]): client, path, server; with a near host: client, LAN, near, path,
//! server. Near forwards. Servers beyond the far end are lines between the seats `far`, where nothing sits, and `server`. Their
//! addresses are the host `server`'s, and the path's datapath drives their lines.
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
    /// `near`: whether there is a near host. `servers`: those beyond the far end, whose lines begin at the seat `far`.
    pub(crate) fn new(near: bool, servers: Vec<ServersSpec>) -> Result<Self, TopologyError> {
        let far = !servers.is_empty();
        let standard = Standard { near, far };
        let seats = standard.seats();
        let topology = Topology {
            seats: seats.map(|seat| (seat, HostId::at(seat))).collect(),
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
            let (Some(way), Some(other)) = (way, HostId::at(other)) else {
                continue;
            };
            let (_, link) = self.topology.links[self.with_pipes(way.link)];
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

    /// Each link with pipes. The path comes first.
    pub(crate) fn wires(&self) -> impl Iterator<Item = Wire<'_>> {
        let links = self.topology.links.iter().enumerate();
        links.filter_map(|(number, (ends, link))| {
            let lines = self.lines_from(number);
            let [server_side, client_side] = *ends;
            let server_side = lines.map_or(server_side, |(_, beyond)| beyond);
            let host = |place: usize| self.topology.seats[place].1;
            Some(Wire {
                link: *link,
                ends: [host(server_side)?, host(client_side)?],
                servers: lines.map_or(&[], |_| &self.servers),
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

    /// The standard topology with these seats; the far one is that of 5 servers.
    fn plan(near: bool, far: bool) -> Plan {
        let of = |name: &str, servers| ServersSpec {
            name: name.into(),
            servers,
            delay: Distribution::Constant { value: 1 },
            jitter: Nanos::ZERO,
        };
        let servers = vec![of("island", 3), of("mainland", 2)];
        let servers = if far { servers } else { Vec::new() };
        Plan::new(near, servers).expect("the standard topology")
    }

    const ANY: [(bool, bool); 4] = [(false, false), (true, false), (false, true), (true, true)];

    #[test]
    fn every_host_reaches_every_other_by_one_link_that_both_have_toward_each_other() {
        for (near, far) in ANY {
            let hosts: &[HostId] = if near {
                &[HostId::Client, HostId::Near, HostId::Server]
            } else {
                &[HostId::Client, HostId::Server]
            };
            for &host in hosts {
                let mut reached: Vec<HostId> = plan(near, far)
                    .attachments(host)
                    .iter()
                    .flat_map(|attachment| attachment.to.clone())
                    .collect();
                reached.sort_by_key(|host| host.name());
                let others = hosts.iter().copied().filter(|&other| other != host);
                assert_eq!(
                    reached,
                    others.collect::<Vec<_>>(),
                    "{host:?}, {near} {far}"
                );
            }
        }
    }

    #[test]
    fn near_has_an_end_of_the_lan_and_one_of_the_path_and_the_others_have_one_end() {
        for far in [false, true] {
            let plan = plan(true, far);
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
        }
    }

    #[test]
    fn the_path_alone_leads_to_the_servers_and_has_its_hosts_whether_there_are_servers_or_not() {
        for (near, far) in ANY {
            let plan = plan(near, far);
            let wires: Vec<_> = plan
                .wires()
                .map(|wire| (wire.link, wire.ends, wire.servers.len()))
                .collect();
            let client_side = if near { HostId::Near } else { HostId::Client };
            let path = (
                Link::Path,
                [HostId::Server, client_side],
                if far { 2 } else { 0 },
            );
            let lan = (Link::Lan, [HostId::Near, HostId::Client], 0);
            assert_eq!(wires, if near { vec![path, lan] } else { vec![path] });
            assert_eq!(plan.servers(), if far { 5 } else { 0 });
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
