//! The TCP connections to the other gateway, each with TLS: for paths that let no UDP through.

use bentpipe_carrier::Event;
use bentpipe_carrier::identity::{Identity, PublicKey};
use bentpipe_carrier::tls::{Carrier, Config, FarEnd};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
    set_tcp_user_timeout,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, accept_with, connect,
    getpeername, recv, send, socket_with,
};
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Handshakes of far at a time. A newer one ends the oldest.
const MOST_HANDSHAKES: usize = 16;
/// Connections of near that are complete: the one in use, and one that takes its place.
const MOST_CONNECTED: usize = 4;
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// A connection whose bytes are not acknowledged for so long has ended. One that idles is asked after so long.
const UNACKNOWLEDGED_MS: u32 = 20_000;
const IDLE: Duration = Duration::from_secs(5);
/// Bytes that wait in the kernel before TCP may send them. Control messages and small flows wait behind them.
const WAITING_BYTES: u32 = 128 << 10;
/// Bytes of a TCP segment: it fits where a UDP payload of 1200 does, over IPv4 and IPv6. Where long packets vanish and nobody says so, TCP would send them
/// again and again.
const LONGEST_SEGMENT: u32 = 1160;
const READ_BYTES: usize = 64 << 10;
/// Bytes in a row from one connection, before others have their turn.
const BYTES_PER_TURN: usize = 256 << 10;

/// One connection. A number is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LinkId(u64);

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Link {
    id: LinkId,
    socket: OwnedFd,
    tls: Carrier,
    /// Far: who connects. What ends before TLS is complete is refused.
    from: Option<SocketAddr>,
    began: Instant,
    /// TLS is complete.
    connected: bool,
    ended: bool,
    /// It was closed from here, and its events say so later.
    closed: bool,
    /// What the socket said last: there may be more to read, and it may take more.
    readable: bool,
    writable: bool,
    out: Vec<u8>,
    sent: usize,
}

#[derive(Debug)]
pub(crate) enum Ends {
    Near {
        far: SocketAddr,
        key: PublicKey,
        own: Identity,
    },
    Far {
        listener: OwnedFd,
        end: FarEnd,
    },
}

#[derive(Debug)]
pub(crate) struct Tcp {
    epoll: Arc<OwnedFd>,
    /// Of all its sockets.
    number: u64,
    ends: Ends,
    config: Config,
    links: Vec<Link>,
    next: u64,
    buffer: Vec<u8>,
}

impl Tcp {
    pub fn new(
        epoll: Arc<OwnedFd>,
        number: u64,
        ends: Ends,
        max_datagram: usize,
    ) -> io::Result<Self> {
        if let Ends::Far { listener, .. } = &ends {
            epoll::add(
                &*epoll,
                listener,
                EventData::new_u64(number),
                EventFlags::IN,
            )?;
        }
        Ok(Self {
            epoll,
            number,
            ends,
            config: Config {
                max_datagram,
                ..Config::default()
            },
            links: Vec::new(),
            next: 0,
            buffer: vec![0; READ_BYTES],
        })
    }

    /// Near: begins a connection. `None`: it failed at once.
    pub fn connect(&mut self, now: Instant) -> Option<LinkId> {
        let Ends::Near { far, key, own } = &self.ends else {
            return None;
        };
        let family = if far.is_ipv4() {
            AddressFamily::INET
        } else {
            AddressFamily::INET6
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(family, SocketType::STREAM, flags, None).ok()?;
        // Far sends no longer ones either. Without it the carrier works where the path's MTU is known.
        let _ = crate::socket_options::set_longest_segment(&socket, LONGEST_SEGMENT);
        match connect(&socket, far) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(_) => return None,
        }
        let tls = Carrier::near(self.config, *key, own);
        self.add(now, socket, tls, None).ok()
    }

    fn add(
        &mut self,
        now: Instant,
        socket: OwnedFd,
        tls: Carrier,
        from: Option<SocketAddr>,
    ) -> rustix::io::Result<LinkId> {
        set_tcp_nodelay(&socket, true)?;
        set_socket_keepalive(&socket, true)?;
        set_tcp_keepidle(&socket, IDLE)?;
        set_tcp_keepintvl(&socket, IDLE)?;
        set_tcp_user_timeout(&socket, UNACKNOWLEDGED_MS)?;
        // Without it the carrier works too.
        let _ = crate::socket_options::set_most_unsent(&socket, WAITING_BYTES);
        let wanted = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(
            &*self.epoll,
            &socket,
            EventData::new_u64(self.number),
            wanted,
        )?;
        let id = LinkId(self.next);
        self.next += 1;
        self.links.push(Link {
            id,
            socket,
            tls,
            from,
            began: now,
            connected: false,
            ended: false,
            closed: false,
            readable: true,
            writable: true,
            out: Vec::new(),
            sent: 0,
        });
        Ok(id)
    }

    /// Something happened at one of the sockets.
    pub fn happened(&mut self) {
        for link in &mut self.links {
            (link.readable, link.writable) = (true, true);
        }
    }

    fn accept(&mut self, now: Instant) {
        loop {
            let Ends::Far { listener, end } = &self.ends else {
                return;
            };
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = match accept_with(listener, flags) {
                Ok(socket) => socket,
                Err(Errno::INTR | Errno::CONNABORTED) => continue,
                // Nobody waits, or there is no descriptor.
                Err(_) => return,
            };
            let tls = end.carrier(self.config);
            // Where it fails, it is closed.
            let from = getpeername(&socket).ok().flatten();
            let from = from.and_then(|it| SocketAddr::try_from(it).ok());
            let _ = self.add(now, socket, tls, from);
            self.leave_newest(false, MOST_HANDSHAKES);
        }
    }

    /// Ends the oldest connections if there are more than `most` of this kind.
    fn leave_newest(&mut self, connected: bool, most: usize) {
        let count = self
            .links
            .iter()
            .filter(|it| it.connected == connected)
            .count();
        let mut too_many = count.saturating_sub(most);
        for link in &mut self.links {
            if too_many > 0 && link.connected == connected {
                link.tls.close(0, "there are newer connections");
                link.closed = true;
                too_many -= 1;
            }
        }
    }

    /// Reads what has come, and gives the sockets what they take. Whether there may be more at once.
    pub fn go_on(&mut self, now: Instant, mut take: impl FnMut(LinkId, Event)) -> bool {
        self.accept(now);
        let mut more = false;
        let mut newly_connected = false;
        for link in &mut self.links {
            if !link.connected && link.began + HANDSHAKE_WITHIN <= now {
                link.tls.close(0, "the handshake took too long");
            }
            more |= link.read(&mut self.buffer, &mut take);
            link.write();
            // What was read last may be followed by events of what was written.
            newly_connected |= link.tell(&mut take);
        }
        if newly_connected {
            self.leave_newest(true, MOST_CONNECTED);
        }
        self.links
            .retain(|it| !(it.ended && (it.tls.is_done() && it.is_written() || !it.writable)));
        more
    }

    pub fn timeout(&self) -> Option<Instant> {
        let due = self.links.iter().filter_map(|it| match it {
            _ if it.ended || it.connected && !it.closed => None,
            _ if it.closed => Some(it.began),
            _ => Some(it.began + HANDSHAKE_WITHIN),
        });
        due.min()
    }

    fn link(&mut self, id: LinkId) -> Option<&mut Link> {
        self.links.iter_mut().find(|it| it.id == id)
    }

    pub fn has_room(&mut self, id: LinkId) -> bool {
        self.link(id).is_some_and(|it| it.tls.has_room())
    }

    /// False: it was not taken.
    pub fn send_datagram(&mut self, id: LinkId, body: &[u8]) -> bool {
        self.link(id)
            .is_some_and(|it| it.tls.send_datagram(body).is_ok())
    }

    pub fn send_control(&mut self, id: LinkId, body: &[u8]) {
        if let Some(link) = self.link(id) {
            // A session has few and short ones. One that is not taken is of a connection that ends.
            let _ = link.tls.send_control(body);
        }
    }

    /// Gives the socket what it takes.
    pub fn flush(&mut self, id: LinkId) {
        if let Some(link) = self.link(id) {
            link.write();
        }
    }

    pub fn close(&mut self, id: LinkId, code: u64, reason: &str) {
        if let Some(link) = self.link(id) {
            link.tls.close(code, reason);
            link.closed = true;
            link.write();
        }
    }
}

impl Link {
    /// Whether there may be more at once.
    fn read(&mut self, buffer: &mut [u8], take: &mut impl FnMut(LinkId, Event)) -> bool {
        let mut passed = 0;
        while self.readable && !self.ended {
            if passed >= BYTES_PER_TURN {
                return true;
            }
            match recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Ok((_, 0)) => {
                    self.readable = false;
                    self.tls.handle_end();
                }
                Ok((_, length)) => {
                    passed += length;
                    let mut bytes = &buffer[..length];
                    while !bytes.is_empty() && !self.ended {
                        let taken = self.tls.handle_bytes(bytes);
                        bytes = &bytes[taken..];
                        self.tell(take);
                    }
                }
                // A connection that is not there yet says so with NOTCONN.
                Err(Errno::AGAIN | Errno::NOTCONN) => self.readable = false,
                Err(Errno::INTR) => {}
                Err(_) => {
                    (self.readable, self.writable) = (false, false);
                    self.tls.handle_end();
                }
            }
            self.tell(take);
        }
        false
    }

    /// Passes on events. Whether TLS is newly complete.
    fn tell(&mut self, take: &mut impl FnMut(LinkId, Event)) -> bool {
        let was_connected = self.connected;
        while let Some(event) = self.tls.poll_event() {
            self.connected |= matches!(event, Event::Connected { .. });
            self.ended |= matches!(event, Event::Closed { .. });
            let event = match (event, self.from) {
                (Event::Closed { why }, Some(from)) if !self.connected => {
                    Event::Refused { from, why }
                }
                (event, _) => event,
            };
            take(self.id, event);
        }
        self.connected && !was_connected
    }

    fn is_written(&self) -> bool {
        self.sent == self.out.len()
    }

    fn write(&mut self) {
        while self.writable {
            if self.is_written() {
                self.out.clear();
                self.sent = 0;
                if !self.tls.poll_bytes(&mut self.out) {
                    return;
                }
            }
            match send(&self.socket, &self.out[self.sent..], SendFlags::NOSIGNAL) {
                Ok(length) => self.sent += length,
                Err(Errno::AGAIN | Errno::NOTCONN) => self.writable = false,
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.writable = false;
                    self.tls.handle_end();
                }
            }
        }
    }
}

/// Two sockets for far, bound to one address and the same port: of UDP, and one of TCP that listens. Port 0 takes a free one.
pub fn far_sockets(at: SocketAddr) -> io::Result<(OwnedFd, OwnedFd)> {
    const TRIES: usize = 16;
    let mut last = None;
    for _ in 0..TRIES {
        let udp = UdpSocket::bind(at)?;
        match TcpListener::bind(udp.local_addr()?) {
            Ok(tcp) => {
                udp.set_nonblocking(true)?;
                tcp.set_nonblocking(true)?;
                return Ok((udp.into(), tcp.into()));
            }
            // With port 0, the next one may be free for both.
            Err(error) if at.port() == 0 => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}
