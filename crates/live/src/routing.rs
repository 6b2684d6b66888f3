//! Links, addresses and routes of the calling thread's network namespace, by rtnetlink(7).

use crate::family::Family;
use crate::transport::Transport;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage, RulePortRange};
use netlink_packet_route::{AddressFamily, IpProtocol, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A socket that stays in the network namespace that it was opened in.
#[derive(Debug)]
pub(crate) struct Routing {
    socket: Socket,
    sequence: u32,
}

/// Packets that a device lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceDrops {
    /// Sent by the host, and never read from the device.
    pub transmit: u64,
    /// Written to the device, and never seen by the host.
    pub receive: u64,
}

/// Where all packets of a table go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DefaultRoute {
    /// To this host, whatever their address.
    Here {
        loopback: u32,
    },
    Device {
        index: u32,
    },
}

/// Of both ends of each veth pair; locally administered.
const HARDWARE_ADDRESS: [u8; 6] = [0x02, 0, 0, 0, 0, 0x77];

impl Routing {
    pub(crate) fn open() -> io::Result<Self> {
        let socket = Socket::new(NETLINK_ROUTE)?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    pub(crate) fn index_of(&mut self, name: &str) -> io::Result<u32> {
        Ok(self.link(name)?.header.index)
    }

    /// Sets the largest packet, the length of the queue to user space, and that there is no multicast.
    pub(crate) fn configure(&mut self, index: u32, mtu: u32, queue_packets: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.change_mask = LinkFlags::Multicast;
        link.attributes = vec![
            LinkAttribute::Mtu(mtu),
            LinkAttribute::TxQueueLen(queue_packets),
        ];
        self.set(RouteNetlinkMessage::SetLink(link), 0)
    }

    pub(crate) fn up(&mut self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.set(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Adds an address that is valid at once (no duplicate detection) and brings no route to others.
    pub(crate) fn add_address(&mut self, index: u32, address: IpAddr) -> io::Result<()> {
        let (family, length) = family_of(address);
        let mut message = AddressMessage::default();
        message.header.family = family;
        message.header.prefix_len = length;
        message.header.scope = AddressScope::Universe;
        message.header.index = index;
        message.attributes = vec![
            AddressAttribute::Address(address),
            AddressAttribute::Local(address),
            AddressAttribute::Flags(AddressFlags::Nodad | AddressFlags::Noprefixroute),
        ];
        self.set(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Adds a route to one address, from one of ours, with metrics (`ip route add .. congctl .. initcwnd ..`).
    pub(crate) fn add_route(
        &mut self,
        index: u32,
        to: IpAddr,
        from: IpAddr,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let (_, whole) = family_of(to);
        self.add_network_route(index, (to, whole), from, metrics)
    }

    /// Adds a route to the addresses that have this prefix and its length.
    pub(crate) fn add_network_route(
        &mut self,
        index: u32,
        (to, length): (IpAddr, u8),
        from: IpAddr,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let (family, _) = family_of(to);
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        message.header.destination_prefix_length = length;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = if to.is_ipv4() {
            RouteScope::Link
        } else {
            RouteScope::Universe
        };
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Destination(route_address(to)),
            RouteAttribute::PrefSource(route_address(from)),
            RouteAttribute::Oif(index),
        ];
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        self.set(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Makes two Ethernet devices that are joined to each other: one here, the other in `there`. Both have the same name and hardware
    /// address and resolve no addresses, so that each takes what the other sends.
    pub(crate) fn make_veth(&mut self, name: &str, there: BorrowedFd<'_>) -> io::Result<()> {
        let own = || {
            let mut link = LinkMessage::default();
            link.attributes = vec![
                LinkAttribute::IfName(name.to_owned()),
                LinkAttribute::Address(HARDWARE_ADDRESS.to_vec()),
            ];
            link
        };
        let mut peer = own();
        let namespace = LinkAttribute::NetNsFd(there.as_raw_fd());
        peer.attributes.push(namespace);
        let mut link = own();
        link.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.set(
            RouteNetlinkMessage::NewLink(link),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Lets a device of [`Routing::make_veth`] carry packets up to this length.
    pub(crate) fn up_without_resolution(&mut self, index: u32, mtu: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        link.header.change_mask = LinkFlags::Up | LinkFlags::Noarp | LinkFlags::Multicast;
        link.attributes = vec![LinkAttribute::Mtu(mtu)];
        self.set(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Adds the route for all packets to a table. With a device of the kind loopback they are delivered here.
    pub(crate) fn add_default_route(
        &mut self,
        family: Family,
        table: u8,
        to: DefaultRoute,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let (index, kind, scope) = match (to, family) {
            (DefaultRoute::Here { loopback }, _) => (loopback, RouteType::Local, RouteScope::Host),
            (DefaultRoute::Device { index }, Family::V4) => {
                (index, RouteType::Unicast, RouteScope::Link)
            }
            (DefaultRoute::Device { index }, Family::V6) => {
                (index, RouteType::Unicast, RouteScope::Universe)
            }
        };
        let mut message = RouteMessage::default();
        message.header.address_family = address_family(family);
        message.header.table = table;
        message.header.protocol = RouteProtocol::Static;
        message.header.scope = scope;
        message.header.kind = kind;
        message.attributes = vec![RouteAttribute::Oif(index)];
        if !metrics.is_empty() {
            message.attributes.push(RouteAttribute::Metrics(metrics));
        }
        self.set(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Looks up the packets of this protocol that come in through a device in a table of their own, after those that are addressed to this host.
    pub(crate) fn add_transport_rule(
        &mut self,
        family: Family,
        transport: Transport,
        incoming: &str,
        table: u8,
    ) -> io::Result<()> {
        let mut message = RuleMessage::default();
        message.header.family = address_family(family);
        message.header.table = table;
        message.header.action = RuleAction::ToTable;
        message.attributes = vec![
            RuleAttribute::Iifname(incoming.to_owned()),
            RuleAttribute::IpProtocol(protocol(transport)),
            RuleAttribute::Priority(table.into()),
        ];
        self.set(
            RouteNetlinkMessage::NewRule(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Looks up the packets with this port at either end as those of other protocols, before any rule of [`Routing::add_transport_rule`]
    /// with a higher table.
    pub(crate) fn add_port_exception(
        &mut self,
        family: Family,
        (transport, port): (Transport, u16),
        priority: u8,
    ) -> io::Result<()> {
        let range = RulePortRange {
            start: port,
            end: port,
        };
        for ports in [
            RuleAttribute::SourcePortRange(range),
            RuleAttribute::DestinationPortRange(range),
        ] {
            let mut message = RuleMessage::default();
            message.header.family = address_family(family);
            message.header.table = RouteHeader::RT_TABLE_MAIN;
            message.header.action = RuleAction::ToTable;
            message.attributes = vec![
                RuleAttribute::IpProtocol(protocol(transport)),
                ports,
                RuleAttribute::Priority(priority.into()),
            ];
            self.set(
                RouteNetlinkMessage::NewRule(message),
                NLM_F_CREATE | NLM_F_EXCL,
            )?;
        }
        Ok(())
    }

    pub(crate) fn drops(&mut self, name: &str) -> io::Result<DeviceDrops> {
        let link = self.link(name)?;
        let counted = link
            .attributes
            .iter()
            .find_map(|attribute| match attribute {
                LinkAttribute::Stats64(counted) => Some(drops_of(counted)),
                _ => None,
            });
        counted.ok_or_else(|| io::Error::other(format!("the kernel gave no statistics of {name}")))
    }

    fn link(&mut self, name: &str) -> io::Result<LinkMessage> {
        let mut query = LinkMessage::default();
        query.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        self.send(RouteNetlinkMessage::GetLink(query), NLM_F_REQUEST)?;
        match self.receive()? {
            Some(RouteNetlinkMessage::NewLink(link)) => Ok(link),
            _ => Err(io::Error::other(format!(
                "the kernel gave no link for {name}"
            ))),
        }
    }

    fn set(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.send(message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        self.receive().map(|_| ())
    }

    fn send(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.sequence += 1;
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut packet = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0).map(|_| ())
    }

    /// The answer to the last request: a message, or `None` for a bare acknowledgement.
    fn receive(&mut self) -> io::Result<Option<RouteNetlinkMessage>> {
        loop {
            let (bytes, _) = self.socket.recv_from_full()?;
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&bytes)
                .map_err(io::Error::other)?;
            if answer.header.sequence_number != self.sequence {
                continue;
            }
            return match answer.payload {
                NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
                NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
                _ => Ok(None),
            };
        }
    }
}

fn drops_of(counted: &Stats64) -> DeviceDrops {
    DeviceDrops {
        transmit: counted.tx_dropped + counted.tx_errors,
        receive: counted.rx_dropped + counted.rx_errors,
    }
}

fn protocol(transport: Transport) -> IpProtocol {
    match transport {
        Transport::Tcp => IpProtocol::Tcp,
        Transport::Udp => IpProtocol::Udp,
    }
}

fn address_family(family: Family) -> AddressFamily {
    match family {
        Family::V4 => AddressFamily::Inet,
        Family::V6 => AddressFamily::Inet6,
    }
}

fn family_of(address: IpAddr) -> (AddressFamily, u8) {
    match address {
        IpAddr::V4(_) => (AddressFamily::Inet, 32),
        IpAddr::V6(_) => (AddressFamily::Inet6, 128),
    }
}

fn route_address(address: IpAddr) -> RouteAddress {
    match address {
        IpAddr::V4(address) => RouteAddress::Inet(address),
        IpAddr::V6(address) => RouteAddress::Inet6(address),
    }
}
