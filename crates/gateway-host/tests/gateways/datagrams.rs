//! UDP through two gateways on the loopback device: SOCKS at near, sockets under an access list at far.

use crate::ends::{PATIENCE, Running, any, bound, bytes, identity, patient, setup};
use bentpipe_base::Nanos;
use bentpipe_gateway::{ResetCode, Target};
use bentpipe_gateway_host::{Entrance, Listener, Onward, Peer, Report};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Refusals = Arc<Mutex<Vec<SocketAddr>>>;

/// An access list with one rule: which port is refused.
struct Rule {
    refused_port: u16,
    refusals: Refusals,
}

impl Onward for Rule {
    fn connect(&mut self, _: &Target) -> Result<OwnedFd, ResetCode> {
        Err(ResetCode::NotAllowed)
    }

    fn associate(&mut self, _: &Target) -> Result<OwnedFd, ResetCode> {
        Ok(bound((Ipv6Addr::UNSPECIFIED, 0).into()))
    }

    fn allows_datagram(&mut self, address: SocketAddr) -> bool {
        let [a, .., d] = match address.ip() {
            IpAddr::V4(ip) => ip.octets(),
            IpAddr::V6(_) => return false,
        };
        a == 127 && d != 9 && address.port() != self.refused_port
    }

    fn refused_datagram(&mut self, to: SocketAddr, _: SocketAddr) {
        self.refusals.lock().unwrap().push(to);
    }
}

fn udp() -> UdpSocket {
    let socket = UdpSocket::bind(any()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn at(socket: &UdpSocket) -> SocketAddr {
    socket.local_addr().unwrap()
}

struct World {
    near: Running,
    far: Running,
    entry: SocketAddr,
    /// Far refuses datagrams to it, and from it.
    forbidden: UdpSocket,
    refusals: Refusals,
}

impl World {
    fn new(far_takes_udp: bool) -> Self {
        Self::with_idle(far_takes_udp, Nanos::from_secs(300))
    }

    fn with_idle(far_takes_udp: bool, idle: Nanos) -> Self {
        let (forbidden, refusals) = (udp(), Refusals::default());
        let socket = bound(any());
        let address = at(&socket.try_clone().unwrap().into());
        let key = identity(1).public();
        let mut of_far = setup(2, Peer::Near { key }, socket, Vec::new(), any());
        of_far.onward = Box::new(Rule {
            refused_port: at(&forbidden).port(),
            refusals: Arc::clone(&refusals),
        });
        of_far.session.takes_udp = far_takes_udp;
        let key = identity(2).public();
        let peer = Peer::Far { address, key };
        let mut of_near = setup(1, peer, bound(any()), Vec::new(), any());
        let listener = TcpListener::bind(any()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let entry = listener.local_addr().unwrap();
        of_near.listeners.push(Listener {
            socket: listener.into(),
            entrance: Entrance::Socks5,
        });
        for session in [&mut of_far.session, &mut of_near.session] {
            // A machine that is busy with other tests is no reason to drop anything.
            session.datagram_wait = Nanos::from_secs(60);
            session.association_idle = idle;
        }
        let far = Running::start(of_far);
        let near = Running::start(of_near);
        Self {
            near,
            far,
            entry,
            forbidden,
            refusals,
        }
    }

    fn stop(self) -> [Report; 2] {
        [self.near.stop(), self.far.stop()]
    }
}

/// A program with an association.
struct Program {
    tcp: TcpStream,
    udp: UdpSocket,
    /// Where near takes its datagrams.
    relay: SocketAddr,
}

fn request(to: SocketAddr, body: &[u8]) -> Vec<u8> {
    let SocketAddr::V4(to) = to else {
        panic!("the tests speak IPv4")
    };
    let [high, low] = to.port().to_be_bytes();
    let [a, b, c, d] = to.ip().octets();
    [&[0, 0, 0, 1, a, b, c, d, high, low], body].concat()
}

impl Program {
    fn new(world: &World) -> Self {
        let mut tcp = patient(TcpStream::connect(world.entry).unwrap());
        tcp.write_all(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0")
            .unwrap();
        let mut answer = [0; 12];
        tcp.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..10], [5, 0, 5, 0, 0, 1, 127, 0, 0, 1]);
        let port = u16::from_be_bytes([answer[10], answer[11]]);
        Self {
            tcp,
            udp: udp(),
            relay: (Ipv4Addr::LOCALHOST, port).into(),
        }
    }

    fn send(&self, datagram: &[u8]) {
        self.udp.send_to(datagram, self.relay).unwrap();
    }

    fn ask(&self, to: SocketAddr, body: &[u8]) {
        self.send(&request(to, body));
    }

    /// The next datagram, with its header.
    fn hear(&self) -> Vec<u8> {
        hear(&self.udp).0
    }
}

fn hear(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = vec![0; 1 << 16];
    let (length, from) = socket.recv_from(&mut buffer).unwrap();
    buffer.truncate(length);
    (buffer, from)
}

#[test]
fn a_question_is_answered_and_one_socket_at_far_stands_for_the_host_everywhere() {
    let world = World::new(true);
    let program = Program::new(&world);
    let servers = [udp(), udp()];
    let mapped = servers.each_ref().map(|server| {
        program.ask(at(server), b"question");
        let (heard, from) = hear(server);
        assert_eq!(heard, b"question");
        server.send_to(b"answer", from).unwrap();
        assert_eq!(program.hear(), request(at(server), b"answer"));
        from
    });
    assert_eq!(mapped[0], mapped[1]);
    // Another program has another socket.
    let other = Program::new(&world);
    other.ask(at(&servers[0]), b"other");
    assert_ne!(hear(&servers[0]).1, mapped[0]);
    // A datagram without bytes is one.
    program.ask(at(&servers[0]), b"");
    let (heard, from) = hear(&servers[0]);
    assert_eq!((&heard[..], from), (&b""[..], mapped[0]));
    let [near, far] = world.stop();
    for report in [near.associations, far.associations] {
        assert_eq!((report.open, report.refused, report.unsent), (2, 0, 0));
    }
}

#[test]
fn the_access_list_holds_for_each_datagram_both_ways() {
    let world = World::new(true);
    let program = Program::new(&world);
    let allowed = udp();
    let forbidden = at(&world.forbidden);
    for _ in 0..3 {
        program.ask(forbidden, b"refused");
    }
    // As SOCKS may write it, too.
    let mut mapped = b"\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01".to_vec();
    mapped.extend_from_slice(&forbidden.port().to_be_bytes());
    program.send(&mapped);
    program.ask((Ipv4Addr::LOCALHOST, 0).into(), b"refused");
    program.ask((Ipv4Addr::new(127, 0, 0, 9), 9).into(), b"refused");
    program.ask(at(&allowed), b"taken");
    let (heard, from) = hear(&allowed);
    assert_eq!(heard, b"taken");
    world.forbidden.send_to(b"refused", from).unwrap();
    allowed.send_to(b"answer", from).unwrap();
    assert_eq!(program.hear(), request(at(&allowed), b"answer"));
    world.forbidden.set_nonblocking(true).unwrap();
    let nothing = world.forbidden.recv_from(&mut [0; 9]).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
    let refusals = Arc::clone(&world.refusals);
    let [_, far] = world.stop();
    assert_eq!(far.associations.refused, 7);
    assert_eq!(*refusals.lock().unwrap(), [forbidden]);
}

#[test]
fn only_addresses_that_a_host_has_sent_to_may_answer_from_any_port() {
    let world = World::new(true);
    let program = Program::new(&world);
    let server = udp();
    let other = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
    program.ask(at(&server), b"question");
    let (_, mapped) = hear(&server);
    other.send_to(b"unsolicited", mapped).unwrap();
    let same_address = udp();
    same_address.send_to(b"answer", mapped).unwrap();
    assert_eq!(program.hear(), request(at(&same_address), b"answer"));
    program.ask(at(&other), b"question");
    assert_eq!(hear(&other).1, mapped);
    other.send_to(b"solicited", mapped).unwrap();
    assert_eq!(program.hear(), request(at(&other), b"solicited"));
    let [_, far] = world.stop();
    assert_eq!(far.associations.unsolicited, 1);
}

/// Waits until nobody has a socket at this address.
fn until_free(at: SocketAddr) {
    let until = Instant::now() + PATIENCE;
    while UdpSocket::bind(at).is_err() {
        assert!(Instant::now() < until, "somebody still has {at}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_end_of_its_connection_ends_an_association_on_both_sides() {
    let world = World::new(true);
    let server = udp();
    for resets in [false, true] {
        let mut program = Program::new(&world);
        // Bytes beside it mean nothing.
        program.tcp.write_all(&bytes(10_000, 1)).unwrap();
        program.ask(at(&server), b"x");
        let (_, mapped) = hear(&server);
        if resets {
            let socket = OwnedFd::from(program.tcp);
            rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
        } else {
            drop(program.tcp);
        }
        until_free(program.relay);
        until_free((Ipv6Addr::UNSPECIFIED, mapped.port()).into());
    }
    let [near, far] = world.stop();
    for report in [&near, &far] {
        assert_eq!(report.associations.open, 0);
        assert_eq!(report.associations.open_at_once_max, 1);
        assert_eq!(report.session.datagrams.associations, 0);
        assert_eq!((report.session.flows, report.open), (0, 0));
    }
}

#[test]
fn a_program_whose_association_was_idle_for_too_long_goes_on_with_another_flow() {
    let world = World::with_idle(true, Nanos::from_secs(2));
    let program = Program::new(&world);
    let server = udp();
    for _ in 0..2 {
        program.ask(at(&server), b"x");
        let (_, mapped) = hear(&server);
        server.send_to(b"y", mapped).unwrap();
        assert_eq!(program.hear(), request(at(&server), b"y"));
        until_free((Ipv6Addr::UNSPECIFIED, mapped.port()).into());
    }
    let [near, far] = world.stop();
    assert_eq!((near.associations.open, far.associations.open), (1, 0));
    assert_eq!((near.session.opened, far.session.accepted), (2, 2));
}

#[test]
fn datagrams_of_all_lengths_cross_whole() {
    const COUNT: usize = 2000;
    const AT_ONCE: usize = 16;
    const LONGEST: usize = COUNT - 1;
    let world = World::new(true);
    let program = Program::new(&world);
    let server = udp();
    let to = at(&server);
    let echo = std::thread::spawn(move || {
        for _ in 0..COUNT {
            let (heard, from) = hear(&server);
            server.send_to(&heard, from).unwrap();
        }
    });
    let body = |number: usize| {
        let length = match number {
            // In one Ethernet packet, and in one of a larger MTU.
            0..200 => 1472,
            200..210 => 8972,
            // The longest that a header leaves room for.
            LONGEST => 65_507 - 10,
            _ => 2 + number % 1400,
        };
        let mut body = bytes(length, number);
        body[..2].copy_from_slice(&(number as u16).to_be_bytes());
        body
    };
    let mut heard = vec![false; COUNT];
    let mut hear_one = || {
        let datagram = program.hear();
        let number = usize::from(u16::from_be_bytes([datagram[10], datagram[11]]));
        assert!(datagram == request(to, &body(number)), "datagram {number}");
        assert!(!std::mem::replace(&mut heard[number], true), "came twice");
    };
    for number in 0..LONGEST {
        program.ask(to, &body(number));
        if number >= AT_ONCE {
            hear_one();
        }
    }
    for _ in 0..AT_ONCE {
        hear_one();
    }
    // Alone: beside others it has no room in a socket's buffer of the usual size.
    program.ask(to, &body(LONGEST));
    hear_one();
    echo.join().unwrap();
    let [near, far] = world.stop();
    for report in [near, far] {
        let (sent, delivered) = (
            report.session.datagrams.sent,
            report.session.datagrams.delivered,
        );
        assert_eq!((sent, delivered), (COUNT as u64, COUNT as u64));
        assert_eq!(report.associations.unsent, 0);
    }
}

#[test]
fn what_is_no_request_of_the_program_goes_nowhere() {
    let world = World::new(true);
    let program = Program::new(&world);
    let server = udp();
    let stranger = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
    let right = request(at(&server), b"stranger");
    stranger.send_to(&right, program.relay).unwrap();
    program.send(b"");
    program.send(b"\0\0\0\x01\x7f\0\0");
    let mut fragment = request(at(&server), b"fragment");
    fragment[2] = 1;
    program.send(&fragment);
    program.send(b"\0\0\0\x03\x09localhost\0\x35name");
    program.ask(at(&server), b"request");
    let (heard, _) = hear(&server);
    assert_eq!(heard, b"request");
    // Of the same address, and not the program.
    udp().send_to(&right, program.relay).unwrap();
    program.ask(at(&server), b"another");
    assert_eq!(hear(&server).0, b"another");
    let [near, _] = world.stop();
    let it = near.associations;
    assert_eq!(
        (it.strangers, it.malformed, it.fragments, it.names),
        (2, 2, 1, 1)
    );
}

#[test]
fn a_program_hears_that_far_takes_no_udp() {
    let world = World::new(false);
    let mut program = Program::new(&world);
    program.ask(world.entry, b"x");
    let error = program.tcp.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    until_free(program.relay);
    let [near, far] = world.stop();
    assert_eq!((near.associations.open, far.associations.open), (0, 0));
}
