//! Near: datagrams of hosts that know nothing of the gateway, which TPROXY hands over with the address that they were sent to
//! (Documentation/networking/tproxy.rst of Linux). An answer comes from the address that it was sent from.
//!
//! A host's address and port is one association, whomever it sends to, as a SOCKS program's is. It ends where its flow does: when it was idle
//! for long, or when its place is needed. The next datagram begins another.

use crate::associations::Associations;
use crate::clock::Now;
use crate::entrance::Asked;
use crate::flows::{FlowReport, FlowState, Ledger};
use crate::original_destination::{receive, set_transparent};
use crate::socket_options;
use crate::user::{user_address, user_of};
use crate::users::Users;
use bentpipe_gateway::{FlowId, Received, ResetCode, Session, Target};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, bind, sendto, socket_with};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// Datagrams in a row from one socket, before others have their turn.
const DATAGRAMS_PER_TURN: usize = 64;
/// The longest datagram has less.
const BUFFER_BYTES: usize = 1 << 16;
/// Between two looks at what is idle.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// A host that asks a server of names or of time takes a new port for each question: such an association need not be kept for long.
/// RFC 4787, section 4.3, allows it for well-known ports.
const SHORT_PORTS: [u16; 2] = [53, 123];
const SHORT_IDLE: Duration = Duration::from_secs(30);
/// Sockets that answer: so many at most, and each as long as it is used.
const MOST_ANSWERING: usize = 1024;
const ANSWERING_IDLE: Duration = Duration::from_mins(1);
/// Where there is no room, the idlest of so many go at once: to look for them takes time.
const SHARE_THAT_GOES: usize = 16;

/// One address and port of a host.
#[derive(Debug)]
struct Host {
    flow: FlowId,
    /// Datagrams without an address go there, and come from there.
    destination: SocketAddr,
    /// All went to ports where an answer comes at once or never.
    short: bool,
    ledger: Ledger,
}

#[derive(Debug)]
pub(crate) struct TransparentUdp {
    sockets: Vec<OwnedFd>,
    /// Something may have come to the socket.
    readable: Vec<bool>,
    hosts: HashMap<SocketAddr, Host>,
    by_flow: HashMap<FlowId, SocketAddr>,
    /// Sockets at the addresses that answers come from, and when each was used.
    answering: HashMap<SocketAddr, (OwnedFd, Instant)>,
    buffer: Vec<u8>,
    swept: Instant,
}

impl TransparentUdp {
    pub fn new(sockets: Vec<OwnedFd>) -> Self {
        let buffer = vec![0; if sockets.is_empty() { 0 } else { BUFFER_BYTES }];
        Self {
            readable: vec![true; sockets.len()],
            sockets,
            hosts: HashMap::new(),
            by_flow: HashMap::new(),
            answering: HashMap::new(),
            buffer,
            swept: Instant::now(),
        }
    }

    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowReport> {
        self.hosts
            .values()
            .map(move |it| it.ledger.report(FlowState::Udp, now))
    }

    /// Datagrams that found the receive buffer full.
    pub fn overflow(&self) -> u64 {
        let drops = self.sockets.iter().map(socket_options::drops);
        drops.filter_map(Result::ok).sum()
    }

    /// Something came to the socket of this place.
    pub fn happened(&mut self, place: usize) {
        if let Some(readable) = self.readable.get_mut(place) {
            *readable = true;
        }
    }

    pub fn has_turns(&self) -> bool {
        self.readable.contains(&true)
    }

    /// Whether the flow was one of these. It is over.
    pub fn flow_reset(&mut self, flow: FlowId, associations: &mut Associations) -> bool {
        let Some(source) = self.by_flow.remove(&flow) else {
            return false;
        };
        self.hosts.remove(&source);
        associations.count_one_less(user_of(source.ip()));
        true
    }

    /// Gives a host a datagram. False: the flow is none of these.
    pub fn give(
        &mut self,
        now: Now,
        received: &Received,
        associations: &mut Associations,
        users: &mut Users,
    ) -> bool {
        let Some(&source) = self.by_flow.get(&received.flow) else {
            return false;
        };
        let Some(host) = self.hosts.get_mut(&source) else {
            return false;
        };
        let from = received.address.unwrap_or(host.destination);
        let sent = answering(&mut self.answering, from, now.instant)
            .and_then(|socket| sendto(socket, &received.bytes, SendFlags::NOSIGNAL, &source));
        if sent.is_err() {
            // As any network does where there is no room or no way.
            associations.report.unsent += 1;
            return true;
        }
        let bytes = received.bytes.len() as u64;
        host.ledger.delivered_bytes += bytes;
        host.ledger.has_moved(now.instant);
        let user = users.of(user_address(source.ip()));
        user.datagrams_delivered += 1;
        user.datagram_bytes_delivered += bytes;
        true
    }

    /// Reads what has come, and ends what was idle.
    pub fn take_turns(
        &mut self,
        now: Now,
        associations: &mut Associations,
        users: &mut Users,
        session: &mut Session,
    ) {
        if self.sockets.is_empty() {
            return;
        }
        self.sweep(now.instant, associations, session);
        for place in 0..self.sockets.len() {
            let mut left = if self.readable[place] {
                DATAGRAMS_PER_TURN
            } else {
                0
            };
            while left > 0 {
                left -= 1;
                match receive(&self.sockets[place], &mut self.buffer) {
                    Ok(came) => {
                        let ends = (came.source, came.destination);
                        self.send(now, ends, came.bytes, associations, users, session);
                    }
                    Err(Errno::AGAIN) => {
                        self.readable[place] = false;
                        break;
                    }
                    Err(_) => associations.report.malformed += 1,
                }
            }
        }
    }

    /// Sends the first bytes of the buffer on.
    fn send(
        &mut self,
        now: Now,
        (source, destination): (SocketAddr, SocketAddr),
        bytes: usize,
        associations: &mut Associations,
        users: &mut Users,
        session: &mut Session,
    ) {
        if !self.hosts.contains_key(&source) {
            let user = user_of(source.ip());
            if associations.of_users.is_full(user) {
                let ended = self.make_room(|it| user_of(it.ip()) == user, associations, session);
                // Where all are a program's, by SOCKS, this one goes.
                associations.report.over_user_limit += ended.max(1);
                if associations.of_users.is_full(user) {
                    return;
                }
            }
            if associations.report.open >= associations.most as u64 {
                self.make_room(|_| true, associations, session);
            }
            if associations.report.open >= associations.most as u64 {
                associations.report.failed += 1;
                return;
            }
            let target = Target {
                destination,
                source,
            };
            let Ok(flow) = session.open_udp(now.time, user, &target) else {
                associations.report.without_flow += 1;
                return;
            };
            associations.count_one_more(user);
            self.by_flow.insert(flow, source);
            let host = Host {
                flow,
                destination,
                short: true,
                ledger: Ledger::new(source, Some(Asked::Address(destination))),
            };
            self.hosts.insert(source, host);
        }
        let Some(host) = self.hosts.get_mut(&source) else {
            return;
        };
        let address = (destination != host.destination).then_some(destination);
        let payload = &self.buffer[..bytes];
        if !session.send_datagram(now.time, host.flow, address, payload) {
            associations.report.without_flow += 1;
            return;
        }
        host.short &= SHORT_PORTS.contains(&destination.port());
        host.ledger.sent_bytes += bytes as u64;
        host.ledger.has_moved(now.instant);
        let user = users.of(user_address(source.ip()));
        user.datagrams_sent += 1;
        user.datagram_bytes_sent += bytes as u64;
    }

    fn end(&mut self, source: SocketAddr, associations: &mut Associations, session: &mut Session) {
        if let Some(host) = self.hosts.remove(&source) {
            self.by_flow.remove(&host.flow);
            associations.count_one_less(user_of(source.ip()));
            session.reset(host.flow, ResetCode::TimedOut);
        }
    }

    /// Ends the idlest of some hosts' associations. How many.
    fn make_room(
        &mut self,
        of: impl Fn(SocketAddr) -> bool,
        associations: &mut Associations,
        session: &mut Session,
    ) -> u64 {
        let some = self.hosts.iter().filter(|(source, _)| of(**source));
        let mut all: Vec<_> = some.map(|(&it, host)| (host.ledger.moved, it)).collect();
        if all.is_empty() {
            return 0;
        }
        let count = all.len() / SHARE_THAT_GOES;
        all.select_nth_unstable(count);
        for (_, source) in all.drain(..=count) {
            self.end(source, associations, session);
        }
        count as u64 + 1
    }

    fn sweep(&mut self, now: Instant, associations: &mut Associations, session: &mut Session) {
        if now.saturating_duration_since(self.swept) < SWEEP_EVERY {
            return;
        }
        self.swept = now;
        let idle = |since: Instant| now.saturating_duration_since(since);
        self.answering
            .retain(|_, (_, used)| idle(*used) < ANSWERING_IDLE);
        let over = |host: &Host| host.short && idle(host.ledger.moved) >= SHORT_IDLE;
        let over = self.hosts.iter().filter(|(_, host)| over(host));
        let over: Vec<_> = over.map(|(&source, _)| source).collect();
        for source in over {
            self.end(source, associations, session);
        }
    }
}

/// The socket at this address, which is another machine's.
fn answering(
    all: &mut HashMap<SocketAddr, (OwnedFd, Instant)>,
    at: SocketAddr,
    now: Instant,
) -> rustix::io::Result<&OwnedFd> {
    if !all.contains_key(&at) {
        if all.len() >= MOST_ANSWERING {
            let mut used: Vec<_> = all.iter().map(|(&it, (_, used))| (*used, it)).collect();
            let count = used.len() / SHARE_THAT_GOES;
            used.select_nth_unstable(count);
            for (_, at) in used.drain(..=count) {
                all.remove(&at);
            }
        }
        all.insert(at, (answers_from(at)?, now));
    }
    let (socket, used) = all.get_mut(&at).ok_or(Errno::INVAL)?;
    *used = now;
    Ok(socket)
}

/// A socket that sends from another machine's address. Nothing comes to it: TPROXY looks for connected sockets and listeners only.
fn answers_from(at: SocketAddr) -> rustix::io::Result<OwnedFd> {
    let family = if at.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
    set_transparent(&socket, at.is_ipv4())?;
    set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &at)?;
    Ok(socket)
}
