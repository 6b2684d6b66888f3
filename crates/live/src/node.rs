//! One host of a run: a network namespace with its end of the path, its addresses, its route, its settings.

use crate::namespaces::NetNamespace;
use crate::protocol::{Family, Host, HostReady, HostSetup, Offload, Refused, Setup};
use crate::refusal::{self, Machine, Step};
use crate::routing::{DeviceDrops, Routing};
use crate::sock_diag::SockDiag;
use crate::{sysctl, tun};
use netlink_packet_route::route::RouteMetric;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

/// So many that the device loses nothing while the datapath is held up for a tenth of a second, and so few that a
/// host which floods it with super-packets does not take the machine's memory. What it loses all the same is counted.
const DEVICE_QUEUE_PACKETS: u32 = 20_000;

#[derive(Debug)]
pub(crate) struct Node {
    pub net: NetNamespace,
    routing: Routing,
    /// The machine's own drop count of the device before anything was sent.
    drops_before: DeviceDrops,
}

pub(crate) struct Built {
    pub node: Node,
    pub sockets: SockDiag,
    pub device: OwnedFd,
    pub offload: Offload,
    pub ready: HostReady,
}

/// The addresses of a host, in the order of the families asked for.
pub(crate) fn addresses(host: Host, families: &[Family]) -> Vec<IpAddr> {
    let last = match host {
        Host::Client => 1,
        Host::Server => 2,
    };
    let address = |family: &Family| match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::new(10, 77, 0, last)),
        Family::V6 => IpAddr::V6(Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, last.into())),
    };
    families.iter().map(address).collect()
}

/// The least MTU that IPv6 works over (RFC 8200, section 5).
const IPV6_LEAST_MTU: u32 = 1280;

/// Of the families asked for, those that this kernel and this path can carry.
pub(crate) fn possible_families(setup: &Setup) -> Result<Vec<Family>, Refused> {
    let without_ipv6 = if setup.path.mtu < IPV6_LEAST_MTU {
        Some(format!(
            "IPv6 needs an MTU of {IPV6_LEAST_MTU} bytes, and the path's is {}",
            setup.path.mtu
        ))
    } else if !fs::exists("/proc/sys/net/ipv6").unwrap_or(false) {
        Some("this kernel has no IPv6".to_owned())
    } else {
        None
    };
    let possible = |&family: &Family| family == Family::V4 || without_ipv6.is_none();
    let families: Vec<Family> = setup.ip.iter().copied().filter(possible).collect();
    if families.is_empty() {
        return Err(Refused {
            what: "ip".into(),
            message: without_ipv6.unwrap_or_else(|| "no IP version was asked for".into()),
            remedy: None,
        });
    }
    Ok(families)
}

/// Builds a host and leaves the calling thread in its network namespace.
///
/// `global` are the settings in force for the whole machine, which a namespace does not show.
pub(crate) fn build(
    host: Host,
    setup: &Setup,
    root: bool,
    machine: &Machine,
    global: &BTreeMap<String, String>,
) -> Result<Built, Refused> {
    let own = setup.hosts.of(host);
    let at = |doing: &'static str| {
        move |error: io::Error| Refused {
            what: "network".into(),
            message: format!("{doing} of the {} gave: {error}", host.name()),
            remedy: None,
        }
    };
    let net = NetNamespace::make()
        .map_err(|error| refusal::namespaces(Step::Network, error, root, machine))?;
    let mut routing = Routing::open().map_err(at("opening the routing socket"))?;
    let loopback = routing
        .index_of("lo")
        .map_err(at("finding the loopback device"))?;
    routing
        .up(loopback)
        .map_err(at("raising the loopback device"))?;
    let (device, offload) = tun::make().map_err(|error| refusal::tun(error, machine))?;
    let index = routing
        .index_of(tun::NAME)
        .map_err(at("finding the TUN device"))?;
    routing
        .configure(index, setup.path.mtu, DEVICE_QUEUE_PACKETS)
        .map_err(at("setting the MTU and the queue length of the TUN device"))?;
    quiet(setup.ip.contains(&Family::V6)).map_err(at("silencing IPv6 autoconfiguration"))?;
    for (name, value) in &own.sysctl {
        sysctl::set(name, value, root)?;
    }
    routing.up(index).map_err(at("raising the TUN device"))?;
    let peer = match host {
        Host::Client => Host::Server,
        Host::Server => Host::Client,
    };
    let ours = addresses(host, &setup.ip);
    let metrics = metrics(own)?;
    for (&from, to) in ours.iter().zip(addresses(peer, &setup.ip)) {
        routing
            .add_address(index, from)
            .map_err(at("giving an address"))?;
        routing
            .add_route(index, to, from, metrics.clone())
            .map_err(at("adding the route"))?;
    }
    let drops_before = routing
        .drops(tun::NAME)
        .map_err(at("reading the drop counts"))?;
    let sockets = SockDiag::open()
        .map_err(io::Error::from)
        .map_err(at("opening the socket list"))?;
    let mut in_force = global.clone();
    in_force.extend(sysctl::in_force());
    Ok(Built {
        node: Node {
            net,
            routing,
            drops_before,
        },
        sockets,
        device,
        offload,
        ready: HostReady {
            addresses: ours.iter().map(ToString::to_string).collect(),
            sysctl: in_force,
        },
    })
}

impl Node {
    /// Packets that the device lost since the host was built.
    pub(crate) fn device_drops(&mut self) -> io::Result<DeviceDrops> {
        let now = self.routing.drops(tun::NAME)?;
        Ok(DeviceDrops {
            transmit: now.transmit - self.drops_before.transmit,
            receive: now.receive - self.drops_before.receive,
        })
    }
}

/// Keeps the kernel's own packets off the path: router solicitations, link-local addresses and their reports.
fn quiet(ipv6: bool) -> io::Result<()> {
    let name = |setting: &str| format!("net.ipv6.conf.{}.{setting}", tun::NAME);
    for (setting, value) in [
        ("addr_gen_mode", "1"),
        ("accept_ra", "0"),
        ("router_solicitations", "0"),
    ] {
        sysctl::set_if_there(&name(setting), value)?;
    }
    if ipv6 {
        Ok(())
    } else {
        sysctl::set_if_there(&name("disable_ipv6"), "1")
    }
}

fn metrics(setup: &HostSetup) -> Result<Vec<RouteMetric>, Refused> {
    let mut metrics = Vec::new();
    if let Some(algorithm) = &setup.congestion_control {
        let available = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        // Asking the kernel for one that it does not have would, as root, load a module into the machine.
        if !available.split_whitespace().any(|known| known == algorithm) {
            return Err(Refused {
                what: "congestion_control".into(),
                message: format!(
                    "this kernel has no congestion control {algorithm:?} loaded; it has {}",
                    available.trim()
                ),
                remedy: Some(format!("sudo modprobe tcp_{algorithm}")),
            });
        }
        metrics.push(RouteMetric::CcAlgo(algorithm.clone()));
    }
    metrics.extend(setup.initcwnd.map(RouteMetric::InitCwnd));
    metrics.extend(setup.initrwnd.map(RouteMetric::InitRwnd));
    Ok(metrics)
}
