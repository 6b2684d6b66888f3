//! What makes a gateway of a configuration.

use crate::access::Access;
use crate::config::{self, File, Loaded, Rate, Redundancy, Role};
use crate::sockets::{self, Allowed, From, Nowhere, PacketsOf};
use crate::tun;
use bentpipe_carrier::quic;
use bentpipe_gateway::{Config, GatewayRedundancy, null};
use bentpipe_gateway_host::{ChoiceConfig, Entrance, Listener, Onward, Peer, Setup, Tcp};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use tracing::warn;

/// The headers of IP and UDP.
pub fn header_bytes(peer: IpAddr) -> u32 {
    8 + if peer.to_canonical().is_ipv4() {
        20
    } else {
        40
    }
}

/// The control law of a configuration.
pub fn rate(of: Rate) -> bentpipe_gateway::Rate {
    match of {
        Rate::Fixed(bit_s) => bentpipe_gateway::Rate::Fixed(bit_s),
        Rate::Capped(bit_s) => bentpipe_gateway::Rate::Capped(bit_s),
        Rate::Fair => bentpipe_gateway::Rate::Fair,
    }
}

/// Far's way onwards, under the access list of a configuration.
pub fn allowed(file: &File) -> Box<dyn Onward + Send> {
    let access = Access {
        allow: file.access.allow.clone(),
        deny: file.access.deny.clone(),
        own: own_addresses(),
    };
    Box::new(Allowed {
        access,
        packets: packets_of(file),
    })
}

fn packets_of(file: &File) -> PacketsOf {
    PacketsOf(
        file.tun
            .as_ref()
            .map_or_else(Vec::new, config::Tun::networks),
    )
}

/// The session's settings. `outer`: the headers of IP and UDP.
pub fn session(loaded: &Loaded, outer: u32) -> Config {
    let path = &loaded.file.path;
    let mut session = Config::with_rate(rate(path.rate), outer + null::OVERHEAD_BYTES as u32);
    let redundancy = match path.redundancy {
        Redundancy::Adaptive => GatewayRedundancy::Adaptive,
        Redundancy::Share(share) => GatewayRedundancy::Fixed(share),
    };
    if let Some(policy) = redundancy.policy() {
        session.redundancy = policy;
    }
    session.takes_names = loaded.file.role == Role::Far;
    session.takes_udp = loaded.file.role == Role::Far;
    session.takes_ip = loaded.file.role == Role::Far && loaded.file.tun.is_some();
    session
}

/// The carrier's settings.
pub fn carrier(file: &File) -> quic::Config {
    quic::Config {
        certain_udp_payload: file.path.udp_payload,
        largest_udp_payload: file.path.udp_payload,
        ..quic::Config::default()
    }
}

/// Whether limits.memory is enough for a session.
pub fn check_memory(loaded: &Loaded, session: &Config) -> Result<(), String> {
    let file = &loaded.file;
    let needed = session.memory_bytes(carrier(file).certain_datagram() as u32);
    match file.limits.memory {
        Some(limit) if needed > limit => Err(format!(
            "limits.memory: {:.3} MB is not enough: a session at this path.rate takes up to {} MB",
            limit as f64 / 1e6,
            needed.div_ceil(1_000_000)
        )),
        _ => Ok(()),
    }
}

/// What makes a gateway of a configuration, with its sockets open.
pub fn setup(loaded: &Loaded, peer: SocketAddr) -> Result<Setup, String> {
    let file = &loaded.file;
    let here = |what: &str, at: SocketAddr| {
        let what = what.to_owned();
        move |error: io::Error| {
            let needs = match error.kind() {
                ErrorKind::PermissionDenied if what.starts_with("listen.tproxy") => {
                    ". It needs CAP_NET_ADMIN"
                }
                ErrorKind::PermissionDenied if at.port() < 1024 => {
                    ". A port below 1024 needs CAP_NET_BIND_SERVICE"
                }
                _ => "",
            };
            format!("{what} {at}: cannot listen there: {error}{needs}")
        }
    };
    let mut listeners = Vec::new();
    for (name, entrance, addresses) in [
        ("listen.socks5", Entrance::Socks5, &file.listen.socks5),
        (
            "listen.http_connect",
            Entrance::HttpConnect,
            &file.listen.http_connect,
        ),
        ("listen.tproxy", Entrance::Address, &file.listen.tproxy),
    ] {
        for &at in addresses {
            let from = match entrance {
                Entrance::Address => From::Anywhere,
                _ => From::Programs,
            };
            let socket = sockets::listener(at, from).map_err(here(name, at))?;
            listeners.push(Listener { socket, entrance });
        }
    }
    let transparent_udp = file.listen.tproxy.iter().map(|&at| {
        bentpipe_gateway_host::transparent_udp(at).map_err(here("listen.tproxy (UDP)", at))
    });
    let transparent_udp = transparent_udp.collect::<Result<Vec<_>, _>>()?;
    // Before far looks for its own addresses.
    let tun = file.tun.as_ref().map(|it| tun::device(file, it));
    let tun = tun.transpose()?;
    let (at, of_peer, onward): (_, _, Box<dyn Onward + Send>) = match file.role {
        Role::Near => {
            let any = match peer.ip() {
                IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            };
            let far = Peer::Far {
                address: peer,
                key: file.peer.key,
            };
            (
                SocketAddr::new(any, 0),
                far,
                Box::new(Nowhere {
                    packets: packets_of(file),
                }),
            )
        }
        Role::Far => {
            let near = Peer::Near { key: file.peer.key };
            (peer, near, allowed(file))
        }
    };
    let udp: OwnedFd = sockets::udp(at).map_err(here("listen.peer", at))?;
    let tcp = match file.role {
        Role::Near => Tcp::Connect,
        Role::Far => {
            let socket = sockets::listener(at, From::Peer).map_err(here("listen.peer", at))?;
            Tcp::Listen(socket)
        }
    };
    let session = session(loaded, header_bytes(peer.ip()));
    let carrier = carrier(file);
    check_memory(loaded, &session)?;
    Ok(Setup {
        session,
        carrier,
        identity: loaded.identity.clone(),
        peer: of_peer,
        udp,
        tcp: Some(tcp),
        choice: ChoiceConfig::default(),
        listeners,
        transparent_udp,
        tun,
        onward,
        most_connections: file.limits.connections,
        most_user_associations: file.limits.user_associations,
        on_delivered: None,
        loses: None,
    })
}

/// The addresses of this machine's interfaces, now.
fn own_addresses() -> Vec<IpAddr> {
    let found = if_addrs::get_if_addrs().unwrap_or_else(|error| {
        warn!(%error, "this machine's own addresses are not known; the access list refuses only those that are not public");
        Vec::new()
    });
    found.into_iter().map(|interface| interface.ip()).collect()
}

/// The address of far: the first that its name has.
pub fn resolve(name: &str) -> Result<SocketAddr, String> {
    let found = name.to_socket_addrs();
    let first = found
        .map_err(|error| format!("peer.address \"{name}\": {error}"))?
        .next();
    first.ok_or_else(|| format!("peer.address \"{name}\": the name has no address"))
}
