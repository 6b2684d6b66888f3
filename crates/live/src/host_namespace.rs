//! One host of a run: a network namespace with its ends of the links, its addresses, its routes, its settings.

use crate::family::Family;
use crate::gateway::{self, GatewaySetup, Seat};
use crate::host_setup::{HostSetup, at, metrics, quiet};
use crate::namespaces::NetNamespace;
use crate::per_host::HostId;
use crate::protocol::{HostReady, Offload, Setup};
use crate::refusal::{self, Machine, Refused, Step};
use crate::routing::{DeviceDrops, Routing};
use crate::sock_diag::SockDiag;
use crate::split::{self, Splitter};
use crate::topology::{self, Attachment, PLAIN, Plan};
use crate::transport::Transport;
use crate::{servers, sysctl, tun};
use bentpipe_base::topology::Link;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// So many that the device loses nothing while the datapath is held up for a tenth of a second, and so few that a
/// host which floods it with super-packets does not take the machine's memory. What it loses all the same is counted.
const DEVICE_QUEUE_PACKETS: u32 = 20_000;

#[derive(Debug)]
pub(crate) struct HostNamespace {
    pub net: NetNamespace,
    /// Of each of its devices, since one kernel has them all.
    pub offload: Offload,
    routing: Routing,
    devices: Vec<Device>,
    /// At near and far of a run whose connections are split, until the run starts.
    pub splitter: Option<Splitter>,
    /// At near and far of a run with gateways, until the run starts.
    pub gateway_seat: Option<Seat>,
}

/// A host's end of a link.
#[derive(Debug)]
struct Device {
    link: Link,
    /// Who is reached by it.
    to: Vec<HostId>,
    /// The device lives as long as one descriptor of it, and its drop counts are read after the datapath's end.
    descriptor: OwnedFd,
    index: u32,
    /// The machine's own drop count of the device before anything was sent.
    drops_before: DeviceDrops,
}

/// The least MTU that IPv6 works over (RFC 8200, section 5).
const IPV6_LEAST_MTU: u32 = 1280;

/// Of the families asked for, those that this kernel and this path can carry.
pub(crate) fn possible_families(setup: &Setup) -> Result<Vec<Family>, Refused> {
    let without_ipv6 = if setup.host_mtu() < IPV6_LEAST_MTU {
        Some(format!(
            "IPv6 needs an MTU of {IPV6_LEAST_MTU} bytes, and the hosts' is {}",
            setup.host_mtu()
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

/// Builds a host and leaves the calling thread in its network namespace. Gives the sockets of each of its namespaces.
///
/// `global` are the settings in force for the whole machine, which a namespace does not show.
pub(crate) fn build(
    host: HostId,
    own: &HostSetup,
    setup: &Setup,
    plan: &Plan,
    root: bool,
    machine: &Machine,
    global: &BTreeMap<String, String>,
) -> Result<((HostNamespace, Vec<SockDiag>), HostReady), Refused> {
    let net = NetNamespace::make()
        .map_err(|error| refusal::namespaces(Step::Network, error, root, machine))?;
    let mut site = Site {
        host,
        own,
        setup,
        routing: Routing::open().map_err(at(host, "opening the routing socket"))?,
        devices: Vec::new(),
    };
    let forwards = matches!(host, HostId::Near | HostId::Far);
    let ends_tcp = forwards && setup.hosts_that_end_tcp().is_some();
    if ends_tcp {
        split::prepare_host().map_err(at(host, "preparing the forwarding"))?;
    }
    site.raise_loopback()?;
    let mut offload = Offload::default();
    for attachment in plan.attachments(host) {
        offload = site.attach(attachment, machine)?;
    }
    if forwards {
        forward().map_err(at(host, "turning on the forwarding"))?;
    }
    for (name, value) in &own.sysctl {
        sysctl::set(name, value, root)?;
    }
    site.raise_devices()?;
    let addresses = site.join(PLAIN, own.congestion_control.as_deref())?;
    let mut extra_addresses = BTreeMap::new();
    for (network, control) in (PLAIN + 1..).zip(&setup.extra_congestion_controls) {
        // Where connections end at near and far, a transfer's control does so at the host beside its sender.
        let own_control = own.congestion_control.as_ref().filter(|_| ends_tcp);
        let addresses = site.join(network, Some(own_control.unwrap_or(control)))?;
        extra_addresses.insert(control.clone(), addresses);
    }
    site.join_servers(plan.servers(), own.congestion_control.as_deref())?;
    site.note_drops()?;
    let sockets = SockDiag::open()
        .map_err(io::Error::from)
        .map_err(at(host, "opening the socket list"))?;
    let mut in_force = global.clone();
    in_force.extend(sysctl::in_force());
    let mut namespace = HostNamespace {
        net,
        offload,
        routing: site.routing,
        devices: site.devices,
        splitter: None,
        gateway_seat: None,
    };
    let ready = HostReady {
        addresses,
        extra_addresses,
        sysctl: in_force,
    };
    let mut sockets = vec![sockets];
    if let Some(split) = setup.split.as_ref().filter(|_| ends_tcp) {
        let (splitter, of_long_leg) = namespace.split(host, setup, &split.path, root, machine)?;
        namespace.splitter = Some(splitter);
        sockets.push(of_long_leg);
    }
    let others = setup.gateway.as_ref().map(GatewaySetup::others);
    match others {
        Some(None) if ends_tcp => {
            namespace.gateway_seat = Some(namespace.seat_gateway(host, setup, root, machine)?);
        }
        Some(Some((port, transports))) if host == HostId::Near => {
            let (own, beside) = (own_addresses(host, setup), beside(setup));
            namespace
                .site(host, setup, (&own, &beside), root, machine)
                .hand_over(port, transports)?;
        }
        _ => {}
    }
    Ok(((namespace, sockets), ready))
}

/// A host that is being built.
struct Site<'a> {
    host: HostId,
    own: &'a HostSetup,
    setup: &'a Setup,
    routing: Routing,
    devices: Vec<Device>,
}

impl Site<'_> {
    fn raise_loopback(&mut self) -> Result<(), Refused> {
        let loopback = self
            .routing
            .index_of("lo")
            .map_err(at(self.host, "finding the loopback device"))?;
        self.routing
            .up(loopback)
            .map_err(at(self.host, "raising the loopback device"))
    }

    /// Makes the host's end of a link.
    fn attach(&mut self, attachment: Attachment, machine: &Machine) -> Result<Offload, Refused> {
        let name = attachment.link.name();
        let (descriptor, offload) =
            tun::make(name).map_err(|error| refusal::tun(error, machine))?;
        let index = self
            .routing
            .index_of(name)
            .map_err(at(self.host, "finding a TUN device"))?;
        self.routing
            .configure(index, self.setup.host_mtu(), DEVICE_QUEUE_PACKETS)
            .map_err(at(
                self.host,
                "setting the MTU and the queue length of a TUN device",
            ))?;
        quiet(name, self.setup.ip.contains(&Family::V6))
            .map_err(at(self.host, "silencing IPv6 autoconfiguration"))?;
        self.devices.push(Device {
            link: attachment.link,
            to: attachment.to,
            descriptor,
            index,
            drops_before: DeviceDrops::default(),
        });
        Ok(offload)
    }

    fn raise_devices(&mut self) -> Result<(), Refused> {
        for device in &self.devices {
            self.routing
                .up(device.index)
                .map_err(at(self.host, "raising a TUN device"))?;
        }
        Ok(())
    }

    /// Gives the host its addresses in a network, and routes to the others' there, and tells the addresses.
    fn join(
        &mut self,
        network: u8,
        congestion_control: Option<&str>,
    ) -> Result<Vec<String>, Refused> {
        let metrics = metrics(self.own, congestion_control)?;
        let families = &self.setup.ip;
        let ours = topology::addresses(self.host, network, families);
        for (number, device) in self.devices.iter().enumerate() {
            for &from in ours.iter().filter(|_| number == 0) {
                // A host takes what comes for it by whichever device.
                self.routing
                    .add_address(device.index, from)
                    .map_err(at(self.host, "giving an address"))?;
            }
            for &other in &device.to {
                let theirs = topology::addresses(other, network, families);
                for (&from, to) in ours.iter().zip(theirs) {
                    self.routing
                        .add_route(device.index, to, from, metrics.clone())
                        .map_err(at(self.host, "adding a route"))?;
                }
            }
        }
        Ok(ours.iter().map(ToString::to_string).collect())
    }

    /// Gives the host the addresses of the servers beyond the far end, or a route to them.
    fn join_servers(
        &mut self,
        servers: u32,
        congestion_control: Option<&str>,
    ) -> Result<(), Refused> {
        let metrics = metrics(self.own, congestion_control)?;
        let families = &self.setup.ip;
        let ours = topology::addresses(self.host, PLAIN, families);
        for device in &self.devices {
            for (&family, &from) in families.iter().zip(&ours) {
                if self.host == HostId::Server {
                    for number in 0..servers {
                        self.routing
                            .add_address(device.index, servers::address(number, family))
                            .map_err(at(self.host, "giving a server's address"))?;
                    }
                } else if device.to.contains(&HostId::Server) {
                    for network in servers::networks(servers, family) {
                        self.routing
                            .add_network_route(device.index, network, from, metrics.clone())
                            .map_err(at(self.host, "adding a route to the servers"))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn note_drops(&mut self) -> Result<(), Refused> {
        for device in &mut self.devices {
            device.drops_before = self
                .routing
                .drops(device.link.name())
                .map_err(at(self.host, "reading the drop counts"))?;
        }
        Ok(())
    }
}

impl HostNamespace {
    /// Has the connections split that pass this host, whose namespace is the calling thread's.
    fn split(
        &mut self,
        host: HostId,
        setup: &Setup,
        long_leg: &HostSetup,
        root: bool,
        machine: &Machine,
    ) -> Result<(Splitter, SockDiag), Refused> {
        let own = own_addresses(host, setup);
        let site = self.site(host, setup, (&own, &[]), root, machine);
        site.split(long_leg)
    }

    /// Has a gateway take the connections that pass this host, whose namespace is the calling thread's.
    fn seat_gateway(
        &mut self,
        host: HostId,
        setup: &Setup,
        root: bool,
        machine: &Machine,
    ) -> Result<Seat, Refused> {
        let own = own_addresses(host, setup);
        let beside = beside(setup);
        let site = self.site(host, setup, (&own, &beside), root, machine);
        let taken = site.take()?;
        let net = self.net.share();
        let net = net.map_err(at(host, "sharing the network namespace"))?;
        let family = &setup.ip[..1];
        let address = topology::addresses(host, PLAIN, family)[0];
        let far = topology::addresses(HostId::Far, PLAIN, family)[0];
        gateway::Seat::new(host, net, address, far, taken, setup.path.mtu)
    }

    fn site<'a>(
        &'a mut self,
        host: HostId,
        setup: &'a Setup,
        (own, beside): (&'a [IpAddr], &'a [(Transport, u16)]),
        root: bool,
        machine: &'a Machine,
    ) -> split::Site<'a> {
        split::Site {
            host,
            net: &self.net,
            routing: &mut self.routing,
            to_path: Link::Path.name(),
            to_hosts: match host {
                HostId::Far => Link::Terrestrial.name(),
                _ => Link::Lan.name(),
            },
            addresses: own,
            families: &setup.ip,
            beside,
            mtu: setup.host_mtu(),
            root,
            machine,
        }
    }

    fn device(&self, link: Link) -> io::Result<&Device> {
        let found = self.devices.iter().find(|device| device.link == link);
        found.ok_or_else(|| io::Error::other(format!("there is no device {}", link.name())))
    }

    /// Another descriptor of the host's end of a link.
    pub(crate) fn share(&self, link: Link) -> io::Result<OwnedFd> {
        self.device(link)?.descriptor.try_clone()
    }

    /// Packets that a device lost since the host was built.
    pub(crate) fn device_drops(&mut self, link: Link) -> io::Result<DeviceDrops> {
        let before = self.device(link)?.drops_before;
        let now = self.routing.drops(link.name())?;
        Ok(DeviceDrops {
            transmit: now.transmit - before.transmit,
            receive: now.receive - before.receive,
        })
    }
}

/// What the gateways leave alone.
fn beside(setup: &Setup) -> Vec<(Transport, u16)> {
    let gateway = setup.gateway.as_ref();
    gateway.map_or_else(Vec::new, GatewaySetup::beside)
}

/// All that a host is reached by.
fn own_addresses(host: HostId, setup: &Setup) -> Vec<IpAddr> {
    (PLAIN..)
        .take(1 + setup.extra_congestion_controls.len())
        .flat_map(|network| topology::addresses(host, network, &setup.ip))
        .collect()
}

/// Lets the kernel pass on what is for others. Only once the devices have no multicast: a router's device that has
/// joins the routers' group, and says so to the link.
fn forward() -> io::Result<()> {
    sysctl::set_if_there("net.ipv4.ip_forward", "1")?;
    sysctl::set_if_there("net.ipv6.conf.all.forwarding", "1")
}
