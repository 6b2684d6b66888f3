//! A network namespace for the long leg of the connections that are split at a host.
//!
//! It has settings of its own, since buffer sizes are a namespace's, and a congestion control of its own as a metric of its route.
//! A pair of veth devices joins it to the host. The host sends it every TCP packet from the path that is not addressed to itself;
//! other packets the host forwards as any router does.
//!
//! ```text
//!   hosts' side           near or far                     path
//!   ----------- [TCP: TPROXY] | [others: forwarded] -----------
//!                  |  the forwarder  |           |
//!                  +--- long leg: TPROXY --veth--+  TCP
//! ```

use super::forwarder::Side;
use super::tproxy::{self, Taker};
use crate::family::Family;
use crate::host_setup::{HostSetup, at, metrics, quiet};
use crate::namespaces::NetNamespace;
use crate::per_host::HostId;
use crate::refusal::{self, Machine, Refused, Step};
use crate::routing::{DefaultRoute, Routing};
use crate::sock_diag::SockDiag;
use crate::sysctl;
use crate::transport::Transport;
use bentpipe_gateway_host::transparent_udp;
use netlink_packet_route::route::RouteHeader;
use rustix::net::getsockname;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

/// The veth devices' name, on both sides.
const DEVICE: &str = "long-leg";
/// Routing tables, and the priorities of the rules that lead to them.
const BESIDE: u8 = 99;
const TO_HERE: u8 = 100;
const TO_LONG_LEG: u8 = 101;

/// The host at which connections are split, and how it is joined to the others.
pub(crate) struct Site<'a> {
    pub host: HostId,
    pub net: &'a NetNamespace,
    pub routing: &'a mut Routing,
    /// Its devices towards the path, and away from it.
    pub to_path: &'a str,
    pub to_hosts: &'a str,
    pub addresses: &'a [IpAddr],
    pub families: &'a [Family],
    /// Ports of servers whose connections and datagrams are left alone. Those of a split are none.
    pub beside: &'a [(Transport, u16)],
    pub mtu: u32,
    pub root: bool,
    pub machine: &'a Machine,
}

/// What splits the connections that pass a host, once it is started.
#[derive(Debug)]
pub(crate) struct Splitter {
    pub(super) sides: [Side; 2],
}

/// The sockets to which a host's kernel hands what a gateway takes.
#[derive(Debug)]
pub(crate) struct Taken {
    pub listeners: Vec<OwnedFd>,
    pub udp: Vec<OwnedFd>,
}

/// Lets a host pass on the long leg's packets. They have the addresses and ports of the hosts' own, and come from another device:
/// the kernel must neither check by which device their sender is reached, nor give them to a socket before it has looked
/// up their route.
pub(crate) fn prepare_host() -> io::Result<()> {
    sysctl::set_if_there("net.ipv4.conf.all.rp_filter", "0")?;
    sysctl::set_if_there("net.ipv4.conf.default.rp_filter", "0")?;
    sysctl::set_if_there("net.ipv4.ip_early_demux", "0")
}

impl Site<'_> {
    /// Makes the long leg's namespace, joins it to the host, and has both take the TCP connections that pass by. The calling thread
    /// is in the host's namespace, before and after.
    pub fn split(mut self, own: &HostSetup) -> Result<(Splitter, SockDiag), Refused> {
        let sharing = at(self.host, "sharing the network namespace");
        let entering = at(self.host, "entering the network namespace");
        let net = self.net.share().map_err(sharing)?;
        let (host_side, host_ports) = self.listen(net)?;
        let net = NetNamespace::make()
            .map_err(|error| refusal::namespaces(Step::Network, error, self.root, self.machine))?;
        let (long_side, sockets) = self.make_long_leg(net, own)?;
        self.net
            .join()
            .map_err(|error| entering(io::Error::from(error)))?;
        self.send_to_long_leg(&host_ports)?;
        let sides = [host_side, long_side];
        Ok((Splitter { sides }, sockets))
    }

    /// Takes the connections and the datagrams of the hosts' side, for a gateway. The calling thread is in the host's namespace.
    pub fn take(mut self) -> Result<Taken, Refused> {
        let sharing = at(self.host, "sharing the network namespace");
        let net = self.net.share().map_err(sharing)?;
        let (side, mut takers) = self.listen(net)?;
        let wrong = at(self.host, "opening a socket for the hosts' datagrams");
        let mut udp = Vec::new();
        for &family in self.families {
            let (socket, taker) = datagrams(family).map_err(&wrong)?;
            udp.push(socket);
            takers.push(taker);
        }
        self.take_from_hosts(&takers)?;
        Ok(Taken {
            listeners: side.listeners,
            udp,
        })
    }

    /// Hands what the hosts' side sends by these transports to transparent sockets that a program will have at this port.
    pub fn hand_over(mut self, port: u16, transports: &[Transport]) -> Result<(), Refused> {
        let of_family = |&family: &Family| {
            let taker = move |&transport: &Transport| Taker {
                transport,
                family,
                port,
            };
            transports.iter().map(taker)
        };
        let takers: Vec<_> = self.families.iter().flat_map(of_family).collect();
        self.take_from_hosts(&takers)
    }

    fn listen(&self, net: NetNamespace) -> Result<(Side, Vec<Taker>), Refused> {
        let wrong = at(self.host, "listening for connections to split");
        let (side, ports) =
            Side::listen(net, self.families).map_err(|error| wrong(io::Error::from(error)))?;
        Ok((side, ports.into_iter().map(tcp_taker).collect()))
    }

    /// Builds the long leg's namespace, which is the calling thread's.
    fn make_long_leg(
        &self,
        net: NetNamespace,
        own: &HostSetup,
    ) -> Result<(Side, SockDiag), Refused> {
        let wrong = at(self.host, "building the long leg's namespace");
        let mut routing = Routing::open().map_err(&wrong)?;
        routing
            .make_veth(DEVICE, self.net.as_fd())
            .map_err(|error| refusal::veth(&error))?;
        let device = raise(&mut routing, self.families, self.mtu).map_err(&wrong)?;
        let loopback = routing.index_of("lo").map_err(&wrong)?;
        routing.up(loopback).map_err(&wrong)?;
        for (name, value) in &own.sysctl {
            sysctl::set(name, value, self.root)?;
        }
        let metrics = metrics(own, own.congestion_control.as_deref())?;
        for &family in self.families {
            let out = DefaultRoute::Device { index: device };
            routing
                .add_default_route(family, RouteHeader::RT_TABLE_MAIN, out, metrics.clone())
                .map_err(&wrong)?;
            deliver(&mut routing, family, &[Transport::Tcp], DEVICE, loopback).map_err(&wrong)?;
        }
        let (side, takers) = self.listen(net)?;
        tproxy::redirect(device, &[], &[], &takers).map_err(|error| refusal::tproxy(&error))?;
        let sockets = SockDiag::open().map_err(|error| wrong(io::Error::from(error)))?;
        Ok((side, sockets))
    }

    /// In the host's namespace: TCP from the hosts' side goes to the listeners, and from the path to the long leg.
    fn send_to_long_leg(&mut self, takers: &[Taker]) -> Result<(), Refused> {
        let wrong = at(self.host, "joining the long leg");
        let device = raise(self.routing, self.families, self.mtu).map_err(&wrong)?;
        for &family in self.families {
            let out = DefaultRoute::Device { index: device };
            self.routing
                .add_default_route(family, TO_LONG_LEG, out, Vec::new())
                .map_err(&wrong)?;
            self.routing
                .add_transport_rule(family, Transport::Tcp, self.to_path, TO_LONG_LEG)
                .map_err(&wrong)?;
        }
        self.take_from_hosts(takers)
    }

    /// In the host's namespace: what comes from the hosts' side goes to the sockets.
    fn take_from_hosts(&mut self, takers: &[Taker]) -> Result<(), Refused> {
        let wrong = at(self.host, "taking the hosts' connections");
        let loopback = self.routing.index_of("lo").map_err(&wrong)?;
        let hosts = self.routing.index_of(self.to_hosts).map_err(&wrong)?;
        for &family in self.families {
            let of_family = takers.iter().filter(|taker| taker.family == family);
            let transports: Vec<_> = of_family.map(|taker| taker.transport).collect();
            deliver(self.routing, family, &transports, self.to_hosts, loopback).map_err(&wrong)?;
            for &beside in self.beside {
                self.routing
                    .add_port_exception(family, beside, BESIDE)
                    .map_err(&wrong)?;
            }
        }
        tproxy::redirect(hosts, self.addresses, self.beside, takers)
            .map_err(|error| refusal::tproxy(&error))
    }
}

/// Raises this namespace's end of the veth pair, and tells its index.
fn raise(routing: &mut Routing, families: &[Family], mtu: u32) -> io::Result<u32> {
    let device = routing.index_of(DEVICE)?;
    quiet(DEVICE, families.contains(&Family::V6))?;
    routing.up_without_resolution(device, mtu)?;
    Ok(device)
}

fn tcp_taker((family, port): (Family, u16)) -> Taker {
    Taker {
        transport: Transport::Tcp,
        family,
        port,
    }
}

/// A socket of the calling thread's network namespace for datagrams to any address.
fn datagrams(family: Family) -> io::Result<(OwnedFd, Taker)> {
    let any: IpAddr = match family {
        Family::V4 => Ipv4Addr::UNSPECIFIED.into(),
        Family::V6 => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = transparent_udp(SocketAddr::new(any, 0))?;
    let port = SocketAddr::try_from(getsockname(&socket)?)?.port();
    let taker = Taker {
        transport: Transport::Udp,
        family,
        port,
    };
    Ok((socket, taker))
}

/// Takes every packet of these protocols that comes in through a device as addressed to this namespace.
fn deliver(
    routing: &mut Routing,
    family: Family,
    transports: &[Transport],
    device: &str,
    loopback: u32,
) -> io::Result<()> {
    routing.add_default_route(family, TO_HERE, DefaultRoute::Here { loopback }, Vec::new())?;
    for &transport in transports {
        routing.add_transport_rule(family, transport, device, TO_HERE)?;
    }
    Ok(())
}
