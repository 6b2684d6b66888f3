//! `bentpipe-gateway near` and `far`: the daemon.

use crate::access::Access;
use crate::config::{File, Loaded, Rate, Redundancy, Role};
use crate::notify;
use crate::rules::Rules;
use crate::sockets::{self, Allowed, From, Nowhere};
use crate::status;
use bentpipe_carrier::quic;
use bentpipe_gateway::{Config, GatewayRedundancy, null};
use bentpipe_gateway_host::{
    ChoiceConfig, Entrance, Gateway, Listener, Onward, Peer, Setup, Stop, Tcp, Watch,
};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// Between two looks at whether the other gateway is there.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A gateway that has nothing to say is heard in this time, with a round trip.
const KEEP_ALIVE: Duration = Duration::from_secs(8);
/// Between two questions for the address of a far whose name has none.
const RESOLVE_AGAIN: Duration = Duration::from_secs(5);

/// The headers of IP and UDP.
fn header_bytes(peer: IpAddr) -> u32 {
    8 + if peer.to_canonical().is_ipv4() {
        20
    } else {
        40
    }
}

/// The session's settings. `outer`: the headers of IP and UDP.
pub fn session(loaded: &Loaded, outer: u32) -> Config {
    let path = &loaded.file.path;
    let rate = match path.rate {
        Rate::Fixed(bit_s) => bentpipe_gateway::Rate::Fixed(bit_s),
        Rate::Capped(bit_s) => bentpipe_gateway::Rate::Capped(bit_s),
        Rate::Fair => bentpipe_gateway::Rate::Fair,
    };
    let mut session = Config::with_rate(rate, outer + null::OVERHEAD_BYTES as u32);
    let redundancy = match path.redundancy {
        Redundancy::Adaptive => GatewayRedundancy::Adaptive,
        Redundancy::Share(share) => GatewayRedundancy::Fixed(share),
    };
    if let Some(policy) = redundancy.policy() {
        session.redundancy = policy;
    }
    session.takes_names = loaded.file.role == Role::Far;
    session.takes_udp = loaded.file.role == Role::Far;
    session
}

/// What makes a gateway of a configuration, with its sockets open.
fn setup(loaded: &Loaded, peer: SocketAddr) -> Result<Setup, String> {
    let file = &loaded.file;
    let here = |what: &str, at: SocketAddr| {
        let what = what.to_owned();
        move |error: io::Error| format!("{what} {at}: cannot listen there: {error}")
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
            (SocketAddr::new(any, 0), far, Box::new(Nowhere))
        }
        Role::Far => {
            let near = Peer::Near { key: file.peer.key };
            let access = Access {
                allow: file.access.allow.clone(),
                deny: file.access.deny.clone(),
                own: own_addresses(),
            };
            (peer, near, Box::new(Allowed { access }))
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
    let carrier = quic::Config {
        certain_udp_payload: file.path.udp_payload,
        largest_udp_payload: file.path.udp_payload,
        ..quic::Config::default()
    };
    if let Some(limit) = file.limits.memory {
        let needed = session.memory_bytes(carrier.certain_datagram() as u32);
        if needed > limit {
            return Err(format!(
                "limits.memory: {} MB is not enough: a session at this path.rate takes up to {} MB",
                limit / 1_000_000,
                needed.div_ceil(1_000_000)
            ));
        }
    }
    Ok(Setup {
        session,
        carrier,
        identity: loaded.identity.clone(),
        peer: of_peer,
        udp,
        tcp: Some(tcp),
        choice: ChoiceConfig::default(),
        listeners,
        onward,
        most_connections: file.limits.connections,
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
fn resolve(name: &str) -> Result<SocketAddr, String> {
    let found = name.to_socket_addrs();
    let first = found
        .map_err(|error| format!("peer.address \"{name}\": {error}"))?
        .next();
    first.ok_or_else(|| format!("peer.address \"{name}\": the name has no address"))
}

/// The router's rules, and a thread that takes new connections past the gateway while the other one is away.
#[derive(Debug)]
struct Routing {
    rules: Arc<Mutex<Option<Rules>>>,
}

impl Drop for Routing {
    fn drop(&mut self) {
        // The thread finds none, and ends.
        drop(lock(&self.rules).take());
    }
}

fn lock(rules: &Mutex<Option<Rules>>) -> MutexGuard<'_, Option<Rules>> {
    rules.lock().unwrap_or_else(PoisonError::into_inner)
}

fn router(file: &File, watch: Watch) -> Result<Option<Routing>, String> {
    let Some(router) = &file.router else {
        return Ok(None);
    };
    let rules = Rules::apply(router, &file.listen.tproxy)?;
    let rules = Arc::new(Mutex::new(Some(rules)));
    if let Some(after) = router.bypass_after_s {
        let rules = Arc::clone(&rules);
        thread::spawn(move || bypass(&rules, &watch, Duration::from_secs_f64(after)));
    }
    Ok(Some(Routing { rules }))
}

/// Takes new connections past the gateway while the other one was not heard for `after`.
fn bypass(rules: &Mutex<Option<Rules>>, watch: &Watch, after: Duration) {
    let mut away_since = Some(Instant::now());
    let mut taking = true;
    loop {
        thread::sleep(LOOK_EVERY);
        let report = watch.ask(LOOK_EVERY);
        let here = report.is_some_and(|report| {
            let heard = report.carrier.last_heard;
            report.connected
                && report.carrier.kind.is_some()
                && heard.is_none_or(|heard| heard.elapsed() < after.max(KEEP_ALIVE))
        });
        away_since = if here {
            None
        } else {
            away_since.or_else(|| Some(Instant::now()))
        };
        let takes = away_since.is_none_or(|since| taking && since.elapsed() < after);
        let mut rules = lock(rules);
        let Some(rules) = rules.as_mut() else {
            return;
        };
        if takes != taking {
            if takes {
                info!("the other gateway is back: new connections go through it");
            } else {
                warn!("the other gateway is away: new connections go past it");
            }
            if let Err(error) = rules.take_new(takes) {
                warn!(%error, "the router's rules could not be changed");
            }
            taking = takes;
        }
    }
}

/// Runs until SIGINT or SIGTERM.
pub fn run(loaded: &Loaded) -> Result<(), String> {
    let file = &loaded.file;
    for warning in &loaded.warnings {
        warn!("{warning}");
    }
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| error.to_string())?;
    let stop = Stop::new().map_err(|error| error.to_string())?;
    let ends = {
        let stop = stop.clone();
        let handle = signals.handle();
        let thread = thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                info!(signal, "stopping");
                // The gateway has ended by itself if it does not listen.
                let _ = stop.raise();
            }
        });
        (handle, thread)
    };
    let peer = match (file.role, &file.peer.address, file.listen.peer) {
        (Role::Near, Some(name), _) => loop {
            match resolve(name) {
                Ok(address) => break address,
                Err(error) => {
                    warn!("{error}; trying again in {} s", RESOLVE_AGAIN.as_secs());
                    notify::waiting(&error, RESOLVE_AGAIN);
                    thread::sleep(RESOLVE_AGAIN);
                    if ends.1.is_finished() {
                        return Ok(());
                    }
                }
            }
        },
        (_, _, Some(at)) => at,
        _ => unreachable!("a configuration that was checked has one of both"),
    };
    let gateway = Gateway::new(setup(loaded, peer)?, stop).map_err(|error| error.to_string())?;
    let _served = status::serve(&file.status, file.role, gateway.watch())?;
    let _rules = router(file, gateway.watch())?;
    info!(role = %file.role, public_key = %loaded.identity.public(), %peer, "ready");
    notify::ready(gateway.watch());
    let ended = gateway.run();
    notify::stopping();
    ends.0.close();
    // It has been told to end.
    let _ = ends.1.join();
    match ended {
        Ok(report) => {
            info!(
                seconds = report.ran.as_secs(),
                sessions = report.session.sessions,
                connections = report.session.opened + report.session.accepted,
                delivered_bytes = report.session.delivered_bytes,
                "stopped"
            );
            Ok(())
        }
        Err(error) => Err(format!("the gateway ended: {error}")),
    }
}
