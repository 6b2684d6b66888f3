//! The sockets of a gateway.

use crate::access::Access;
use bentpipe_gateway::{ResetCode, Target};
use bentpipe_gateway_host::{Onward, PacketEnds, PacketWay, reset_code};
use ipnet::IpNet;
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use tracing::info;

/// Connections that wait to be accepted; the kernel allows `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

fn socket(of: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(of), kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A UDP socket that is bound and does not block. One of IPv6's unspecified address takes IPv4, too.
pub fn udp(at: SocketAddr) -> io::Result<OwnedFd> {
    let socket = socket(at, Type::DGRAM, Protocol::UDP)?;
    if at.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&at.into())?;
    Ok(socket.into())
}

/// What comes to a TCP socket that listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// The other gateway. A socket of IPv6's unspecified address takes IPv4, too.
    Peer,
    /// Programs that connect to this address.
    Programs,
    /// Programs' connections to any address (`IP_TRANSPARENT`, ip(7)).
    Anywhere,
}

/// A TCP socket that listens.
pub fn listener(at: SocketAddr, from: From) -> io::Result<OwnedFd> {
    let socket = socket(at, Type::STREAM, Protocol::TCP)?;
    socket.set_reuse_address(true)?;
    if at.is_ipv6() {
        socket.set_only_v6(from != From::Peer)?;
    }
    if from == From::Anywhere && at.is_ipv4() {
        socket.set_ip_transparent_v4(true)?;
    } else if from == From::Anywhere {
        socket.set_ip_transparent_v6(true)?;
    }
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Far's way onwards: plain connections, and datagrams, to what the access list allows.
#[derive(Debug)]
pub struct Allowed {
    pub access: Access,
    pub packets: PacketsOf,
}

/// The users whose whole packets cross.
#[derive(Debug)]
pub struct PacketsOf(pub Vec<IpNet>);

impl PacketsOf {
    /// What a packet is between a user and others, as the user sends it. None: it is no user's.
    fn sent(&self, is_sent: bool, ends: PacketEnds) -> Option<PacketEnds> {
        let sent = if is_sent { ends } else { ends.reversed() };
        let is_user = |ip: IpAddr| self.0.iter().any(|network| network.contains(&ip));
        is_user(sent.source).then_some(sent)
    }
}

impl Allowed {
    /// Whether a packet may cross: it is between a user and what the access list allows.
    fn check_packet(&self, way: PacketWay, ends: PacketEnds) -> Result<(), String> {
        let sent = self.packets.sent(way == PacketWay::Comes, ends);
        let sent = sent.ok_or("it is of no network of tun.users")?;
        let checked = match sent.to() {
            Ok(to) => self.access.check(to),
            Err(to) => self.access.check_portless(to),
        };
        checked.map_err(|why| why.to_string())
    }
}

fn refused(way: PacketWay, ends: PacketEnds, why: &str) {
    let (source, destination) = (ends.source, ends.destination);
    info!(?way, %source, %destination, %why, "refused a packet; further ones of this session are counted only");
}

impl Onward for Allowed {
    fn connect(&mut self, target: &Target) -> Result<OwnedFd, ResetCode> {
        let to = target.destination;
        let to = SocketAddr::new(to.ip().to_canonical(), to.port());
        if let Err(why) = self.access.check(to) {
            info!(destination = %to, %why, "refused a connection");
            return Err(ResetCode::NotAllowed);
        }
        begin(to).map_err(|error| {
            let error = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            reset_code(error)
        })
    }

    fn associate(&mut self, _: &Target) -> Result<OwnedFd, ResetCode> {
        let any = |ip: IpAddr| udp(SocketAddr::new(ip, 0));
        // A machine without IPv6 reaches IPv4 only.
        any(Ipv6Addr::UNSPECIFIED.into())
            .or_else(|_| any(Ipv4Addr::UNSPECIFIED.into()))
            .map_err(|error| reset_code(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
    }

    fn allows_datagram(&mut self, address: SocketAddr) -> bool {
        self.access.check(address).is_ok()
    }

    fn refused_datagram(&mut self, to: SocketAddr, host: SocketAddr) {
        if let Err(why) = self.access.check(to) {
            info!(destination = %to, %host, %why, "refused a datagram; further ones of this association are counted only");
        }
    }

    fn allows_packet(&mut self, way: PacketWay, ends: PacketEnds) -> bool {
        self.check_packet(way, ends).is_ok()
    }

    fn refused_packet(&mut self, way: PacketWay, ends: PacketEnds) {
        if let Err(why) = self.check_packet(way, ends) {
            refused(way, ends, &why);
        }
    }
}

fn begin(to: SocketAddr) -> io::Result<OwnedFd> {
    let socket = socket(to, Type::STREAM, Protocol::TCP)?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket.into()),
    }
}

/// Near opens no connections: far has no hosts that ask for any.
#[derive(Debug)]
pub struct Nowhere {
    pub packets: PacketsOf,
}

impl Onward for Nowhere {
    fn connect(&mut self, _: &Target) -> Result<OwnedFd, ResetCode> {
        Err(ResetCode::NotAllowed)
    }

    fn allows_packet(&mut self, way: PacketWay, ends: PacketEnds) -> bool {
        self.packets.sent(way == PacketWay::Leaves, ends).is_some()
    }

    fn refused_packet(&mut self, way: PacketWay, ends: PacketEnds) {
        refused(way, ends, "it is of no network of tun.users");
    }
}
