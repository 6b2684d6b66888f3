//! `[gateway]`: bentpipe's gateways at near and at far, and the hosts do not see them.
//!
//! Each of the two is a router whose kernel hands over the TCP connections and the UDP that come from the hosts' side (`split::tproxy`), addresses
//! and ports as they were. A thread of the host process is the gateway ([`bentpipe_gateway_host`]). The session between both is UDP from
//! near to far, so that it crosses the path as any packet does. The other gateway opens each connection again, under its opener's
//! address and port, and sends datagrams from their sender's: whichever host sends first, each direction is an association of its own. Other
//! packets the hosts forward as any router does.
//!
//! Keys are made for each run. The gateways connect when the pipes run, which is before the run's time zero.

mod report;

pub use report::{GatewayError, GatewaysReport, PerGateway};

use crate::datapath::Decoded;
use crate::datapath::priority::{self, Urgency};
use crate::host_setup::{HostSetup, at};
use crate::namespaces::NetNamespace;
use crate::per_host::HostId;
use crate::refusal::Refused;
use crate::split::{Taken, sockets};
use crate::transport::Transport;
use bentpipe_carrier::identity::Identity;
use bentpipe_carrier::quic;
use bentpipe_gateway::{Config, GatewayRedundancy, Rate, ResetCode, Target, null};
use bentpipe_gateway_host::{ChoiceConfig, Gateway, Onward, Peer, Report, Setup, Stop, reset_code};
use report::RunZero;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
use serde::Deserialize;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::thread::{Builder, JoinHandle};

/// The gateways' threads, by the host that they stand for.
pub(crate) const THREADS: [(&str, HostId); 2] =
    [("gateway near", HostId::Near), ("gateway far", HostId::Far)];
/// Where far waits for near.
const PORT: u16 = 4433;
/// Connections that each gateway may have open at once, if open files suffice.
const MOST: u64 = 16_384;
/// Descriptors of both gateways: each has one for a connection.
pub(crate) const DESCRIPTORS: u64 = MOST * OF_A_CONNECTION;
const OF_A_CONNECTION: u64 = 2;
/// RFC 9000, section 14: QUIC needs a UDP payload of this size.
const LEAST_UDP_PAYLOAD: u32 = 1200;
const UDP_BYTES: u32 = 8;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GatewaySetup {
    /// Near and far towards client and server. A near host of the setup has its own settings.
    pub hosts: HostSetup,
    /// How fast far sends to near, and near to far.
    pub down_rate: Rate,
    pub up_rate: Rate,
    #[serde(default)]
    pub redundancy: GatewayRedundancy,
    /// Somebody else's programs are the gateways. The connections that come from the clients' side go to near's transparent
    /// listeners at this port, one for each family. Bentpipe's own gateways do not start.
    #[serde(default)]
    pub port_of_others: Option<u16>,
    /// Near has a transparent socket for UDP at that port too, and takes the clients' datagrams.
    #[serde(default)]
    pub others_take_udp: bool,
    /// The gateways leave connections with one of these ports at either end alone, and UDP. The packets are forwarded, and cross the path
    /// beside the session.
    #[serde(default)]
    pub beside_tcp_ports: Vec<u16>,
    #[serde(default)]
    pub beside_udp_ports: Vec<u16>,
}

impl GatewaySetup {
    /// Bentpipe's own gateways sit at near and far.
    pub fn is_ours(&self) -> bool {
        self.port_of_others.is_none()
    }

    /// The port of somebody else's programs at near, and what they take there.
    pub(crate) fn others(&self) -> Option<(u16, &'static [Transport])> {
        let takes: &[Transport] = if self.others_take_udp {
            &[Transport::Tcp, Transport::Udp]
        } else {
            &[Transport::Tcp]
        };
        self.port_of_others.map(|port| (port, takes))
    }

    /// What the gateways leave alone.
    pub(crate) fn beside(&self) -> Vec<(Transport, u16)> {
        let of = |transport| move |&port: &u16| (transport, port);
        let tcp = self.beside_tcp_ports.iter().map(of(Transport::Tcp));
        tcp.chain(self.beside_udp_ports.iter().map(of(Transport::Udp)))
            .collect()
    }
}

/// What a gateway needs of its host.
#[derive(Debug)]
pub(crate) struct Seat {
    net: NetNamespace,
    udp: OwnedFd,
    far: SocketAddr,
    taken: Taken,
}

impl Seat {
    /// In the host's namespace, which is the calling thread's. `far`: the address of the host of that name.
    pub fn new(
        host: HostId,
        net: NetNamespace,
        own: IpAddr,
        far: IpAddr,
        taken: Taken,
        mtu: u32,
    ) -> Result<Self, Refused> {
        let least = LEAST_UDP_PAYLOAD + header_bytes(far.is_ipv4());
        if mtu < least {
            return Err(Refused {
                what: "gateway".into(),
                message: format!(
                    "a gateway needs a path with an MTU of {least} bytes or more, got {mtu}"
                ),
                remedy: None,
            });
        }
        let far = SocketAddr::new(far, PORT);
        let port = if own == far.ip() { PORT } else { 0 };
        let udp = bound(SocketAddr::new(own, port));
        let udp = udp.map_err(|error| at(host, "making the gateway's socket")(error.into()))?;
        Ok(Self {
            net,
            udp,
            far,
            taken,
        })
    }
}

/// Of IP and UDP.
fn header_bytes(is_v4: bool) -> u32 {
    UDP_BYTES + if is_v4 { 20 } else { 40 }
}

fn bound(at: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if at.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    bind(&socket, &at)?;
    Ok(socket)
}

/// Both gateways at work, that at near first.
#[derive(Debug)]
pub(crate) struct Gateways {
    both: [Running; 2],
    zero: RunZero,
}

#[derive(Debug)]
struct Running {
    stop: Stop,
    thread: JoinHandle<io::Result<Report>>,
}

impl Gateways {
    /// `descriptors`: what both may have together. `decoded`: who counts what goes down, and what goes up.
    pub fn start(
        setup: &GatewaySetup,
        [near, far]: [Seat; 2],
        mtu: u32,
        descriptors: u64,
        [down, up]: [Decoded; 2],
        zero_monotonic_ns: i64,
    ) -> io::Result<Self> {
        let identities = [Identity::generate(), Identity::generate()];
        let [near_key, far_key] = identities.each_ref().map(Identity::public);
        let (address, is_v4) = (far.far, far.far.is_ipv4());
        let limit = (descriptors / OF_A_CONNECTION) as usize;
        let start = |place: usize, seat: Seat, peer, rate, decoded: Decoded, identity| {
            let Seat {
                net, udp, taken, ..
            } = seat;
            let outer_bytes = header_bytes(is_v4) + null::OVERHEAD_BYTES as u32;
            let mut session = Config::with_rate(rate, outer_bytes);
            session.takes_udp = true;
            if let Some(policy) = setup.redundancy.policy() {
                session.redundancy = policy;
            }
            let payload = (mtu - header_bytes(is_v4)).min(u16::MAX.into()) as u16;
            let carrier = quic::Config {
                certain_udp_payload: payload,
                largest_udp_payload: payload,
                ..quic::Config::default()
            };
            let of_gateway = Setup {
                session,
                carrier,
                identity,
                peer,
                udp,
                listeners: taken.listeners.into_iter().map(Into::into).collect(),
                onward: Box::new(AsTheHost),
                most_connections: limit,
                // All of a lab's hosts are one side's.
                most_user_associations: limit,
                on_delivered: Some(Box::new(move |_, bytes| decoded.count(bytes))),
                loses: None,
                tcp: None,
                transparent_udp: taken.udp,
                tun: None,
                choice: ChoiceConfig::default(),
            };
            Running::start(THREADS[place].0, net, of_gateway)
        };
        let [near_identity, far_identity] = identities;
        let peer = Peer::Near { key: near_key };
        let far = start(1, far, peer, setup.down_rate, up, far_identity)?;
        let peer = Peer::Far {
            address,
            key: far_key,
        };
        let near = start(0, near, peer, setup.up_rate, down, near_identity)?;
        Ok(Self {
            both: [near, far],
            zero: RunZero::new(zero_monotonic_ns),
        })
    }

    /// A gateway is no longer at work.
    pub fn has_ended(&self) -> bool {
        self.both.iter().any(|it| it.thread.is_finished())
    }

    pub fn stop(self) -> io::Result<GatewaysReport> {
        let [near, far] = self.both.map(Running::stop);
        Ok(GatewaysReport::new([near?, far?], self.zero))
    }
}

/// Opens connections, and sends datagrams, as if their host had, in the calling thread's network namespace.
#[derive(Debug)]
struct AsTheHost;

impl Onward for AsTheHost {
    fn connect(&mut self, target: &Target) -> Result<OwnedFd, ResetCode> {
        sockets::connect_as(target.source, target.destination).map_err(reset_code)
    }

    fn associate(&mut self, target: &Target) -> Result<OwnedFd, ResetCode> {
        sockets::send_as(target.source).map_err(reset_code)
    }

    fn allows_datagram(&mut self, _: SocketAddr) -> bool {
        true
    }
}

impl Running {
    fn start(name: &str, net: NetNamespace, setup: Setup) -> io::Result<Self> {
        let stop = Stop::new()?;
        let gateway = Gateway::new(setup, stop.clone())?;
        let thread = Builder::new().name(name.into()).spawn(move || {
            // A socket belongs to the network namespace of the thread that makes it.
            net.join()?;
            priority::raise(Urgency::Channels);
            gateway.run()
        })?;
        Ok(Self { stop, thread })
    }

    fn stop(self) -> io::Result<Report> {
        self.stop.raise()?;
        let ended = self.thread.join();
        ended.map_err(|_| io::Error::other("it ended in a panic"))?
    }
}
