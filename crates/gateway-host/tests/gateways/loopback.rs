//! Two gateways over UDP on the loopback device, between real sockets.

use crate::ends::{RATE, Running, any, bound, bytes, identity, patient, plain, read_all, setup};
use bentpipe_gateway::{Config, ResetCode, Target};
use bentpipe_gateway_host::{Entrance, Listener, Peer, Report};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Both gateways, and a server behind far.
struct World {
    near: Running,
    far: Running,
    entry: SocketAddr,
    far_udp: SocketAddr,
    server: TcpListener,
}

fn far(udp: SocketAddr, to: SocketAddr) -> (Running, SocketAddr) {
    let udp = bound(udp);
    let at = UdpSocket::from(udp.try_clone().unwrap());
    let at = at.local_addr().unwrap();
    let key = identity(1).public();
    (
        Running::start(setup(2, Peer::Near { key }, udp, Vec::new(), to)),
        at,
    )
}

impl World {
    fn new() -> Self {
        let server = TcpListener::bind(any()).unwrap();
        let to = server.local_addr().unwrap();
        Self::to(server, to)
    }

    fn to(server: TcpListener, to: SocketAddr) -> Self {
        let (far, address) = far(any(), to);
        let listener = TcpListener::bind(any()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let entry = listener.local_addr().unwrap();
        let key = identity(2).public();
        let peer = Peer::Far { address, key };
        let mut setup = setup(1, peer, bound(any()), Vec::new(), any());
        setup.listeners.push(OwnedFd::from(listener).into());
        let near = Running::start(setup);
        Self {
            near,
            far,
            entry,
            far_udp: address,
            server,
        }
    }

    fn client(&self) -> TcpStream {
        patient(TcpStream::connect(self.entry).unwrap())
    }

    fn accept(&self) -> TcpStream {
        patient(self.server.accept().unwrap().0)
    }

    fn stop(self) -> [Report; 2] {
        [self.near.stop(), self.far.stop()]
    }
}

#[test]
fn every_byte_arrives_both_ways_and_each_direction_ends_by_itself() {
    let world = World::new();
    let (question, answer) = (bytes(3_000_000, 1), bytes(5_000_000, 2));
    let mut client = world.client();
    let sends = {
        let (mut client, question) = (client.try_clone().unwrap(), question.clone());
        std::thread::spawn(move || {
            client.write_all(&question).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        })
    };
    let mut server = world.accept();
    // It answers only when the other direction has ended.
    assert_eq!(read_all(server.try_clone().unwrap()), question);
    sends.join().unwrap();
    let answers = {
        let answer = answer.clone();
        std::thread::spawn(move || server.write_all(&answer).unwrap())
    };
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).unwrap();
    answers.join().unwrap();
    assert_eq!(heard, answer);
    let [near, far] = world.stop();
    assert_eq!(near.session.sent_bytes, question.len() as u64 + TARGET);
    assert_eq!(near.session.delivered_bytes, answer.len() as u64);
    assert_eq!(far.session.sent_bytes, answer.len() as u64);
    assert_eq!((near.session.opened, far.session.accepted), (1, 1));
    assert_eq!((near.session.resets, far.session.resets), (0, 0));
    assert_eq!((near.udp.overflow, far.udp.overflow), (0, 0));
    assert!(near.established.is_some() && near.udp.receive_buffer_bytes > 0);
}

/// Of an IPv4 connection, in front of its bytes.
const TARGET: u64 = 15;

#[test]
fn connections_beside_each_other_keep_apart() {
    let world = World::new();
    let clients: Vec<_> = (0..20_usize)
        .map(|number| {
            let mut client = world.client();
            std::thread::spawn(move || {
                let sent = bytes(100_000 + number, number);
                client.write_all(&sent).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
                assert_eq!(read_all(client), sent, "client {number}");
            })
        })
        .collect();
    let echoes: Vec<_> = (0..20)
        .map(|_| {
            let mut server = world.accept();
            std::thread::spawn(move || {
                let heard = read_all(server.try_clone().unwrap());
                server.write_all(&heard).unwrap();
            })
        })
        .collect();
    for thread in clients.into_iter().chain(echoes) {
        thread.join().unwrap();
    }
    let [near, _] = world.stop();
    assert_eq!(near.session.opened, 20);
    assert_eq!(near.session.flows, 0, "nothing is left of them");
}

fn reset(stream: TcpStream) {
    let socket = OwnedFd::from(stream);
    rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
}

fn is_reset(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    let ended = stream.read_to_end(&mut rest);
    ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
}

#[test]
fn a_reset_reaches_the_other_host() {
    let world = World::new();
    for client_resets in [true, false] {
        let (mut client, mut server) = (world.client(), None);
        client.write_all(b"x").unwrap();
        let accepted = server.insert(world.accept());
        accepted.read_exact(&mut [0]).unwrap();
        let server = server.unwrap();
        let (resets, hears) = if client_resets {
            (client, server)
        } else {
            (server, client)
        };
        reset(resets);
        assert!(is_reset(hears), "the client resets: {client_resets}");
    }
    let [near, far] = world.stop();
    assert_eq!((near.session.resets, far.session.resets), (1, 1));
}

#[test]
fn a_destination_that_refuses_resets_the_host() {
    let server = TcpListener::bind(any()).unwrap();
    let nobody = {
        let gone = TcpListener::bind(any()).unwrap();
        gone.local_addr().unwrap()
    };
    let world = World::to(server, nobody);
    assert!(is_reset(world.client()));
    let [near, far] = world.stop();
    assert_eq!((near.session.resets, far.connect_failures), (1, 1));
}

#[test]
fn a_far_gateway_that_starts_anew_resets_what_was_open_and_serves_what_comes() {
    let mut world = World::new();
    let mut client = world.client();
    client.write_all(b"before").unwrap();
    let mut server = world.accept();
    server.read_exact(&mut [0; 6]).unwrap();
    // Without a word to near, as after `kill -9`: the sockets of a stopped gateway close.
    let to = world.server.local_addr().unwrap();
    world.far.stop();
    let (again, _) = far(world.far_udp, to);
    world.far = again;
    drop(server);
    assert!(is_reset(client));
    let mut client = world.client();
    client.write_all(b"after").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(world.accept()), b"after");
    let [near, far] = world.stop();
    assert_eq!((near.carrier.connections, far.carrier.connections), (2, 1));
}

/// The longest buffer that Linux lets a TCP socket have.
fn largest(setting: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{setting}")).unwrap();
    text.split_whitespace().last().unwrap().parse().unwrap()
}

#[test]
fn a_host_that_does_not_read_holds_back_its_sender_and_nobody_else() {
    let world = World::new();
    let mut stuck = world.client();
    let stuck_server = world.accept();
    stuck_server.set_nonblocking(true).unwrap();
    // Far more than all buffers hold: the sender of it stops.
    let blocked = {
        let mut stream = stuck_server.try_clone().unwrap();
        let piece = vec![7; 1 << 20];
        let mut sent = 0_u64;
        let mut idle = 0;
        while idle < 20 && sent < 1 << 30 {
            if let Ok(length) = stream.write(&piece) {
                (sent, idle) = (sent + length as u64, 0);
            } else {
                idle += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        sent
    };
    // A flow's window, its buffer, and those of the kernel's sockets: two pairs of them.
    let config = Config::fixed(RATE, 59);
    let kernel = 2 * (largest("tcp_rmem") + largest("tcp_wmem"));
    let most = config.flow_window + config.send_buffer + kernel;
    assert!(
        blocked <= most,
        "{blocked} bytes went somewhere, {most} have room"
    );
    let mut client = world.client();
    client.write_all(b"beside").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(world.accept()), b"beside");
    // It reads after all: nothing was lost.
    drop(stuck_server);
    let mut rest = Vec::new();
    stuck.read_to_end(&mut rest).unwrap();
    assert_eq!(rest.len() as u64, blocked);
    world.stop();
}

#[test]
fn what_hosts_were_given_is_told_as_it_happens() {
    let server = TcpListener::bind(any()).unwrap();
    let to = server.local_addr().unwrap();
    let told = Arc::new(Mutex::new(0));
    let sum = Arc::clone(&told);
    let key = identity(1).public();
    let mut of_far = setup(2, Peer::Near { key }, bound(any()), Vec::new(), to);
    of_far.on_delivered = Some(Box::new(move |_, bytes| *sum.lock().unwrap() += bytes));
    let at = UdpSocket::from(of_far.udp.try_clone().unwrap());
    let address = at.local_addr().unwrap();
    let far = Running::start(of_far);
    let listener = TcpListener::bind(any()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let entry = listener.local_addr().unwrap();
    let key = identity(2).public();
    let peer = Peer::Far { address, key };
    let near = Running::start(setup(1, peer, bound(any()), vec![listener.into()], any()));
    let mut client = patient(TcpStream::connect(entry).unwrap());
    client.write_all(&bytes(200_000, 3)).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_all(patient(server.accept().unwrap().0)).len(), 200_000);
    near.stop();
    far.stop();
    assert_eq!(*told.lock().unwrap(), 200_000);
}

#[test]
fn a_stranger_gets_nothing() {
    let server = TcpListener::bind(any()).unwrap();
    let to = server.local_addr().unwrap();
    let (far, address) = far(any(), to);
    let key = identity(2).public();
    let peer = Peer::Far { address, key };
    let stranger = Running::start(setup(9, peer, bound(any()), Vec::new(), any()));
    std::thread::sleep(Duration::from_millis(500));
    let stranger = stranger.stop();
    let far = far.stop();
    assert_eq!((stranger.established, far.established), (None, None));
    assert!(far.carrier.refused >= 1, "{:?}", far.carrier);
}

/// Far goes on to where it was asked to.
fn as_asked(target: &Target) -> Result<OwnedFd, ResetCode> {
    plain(target.destination)
}

/// A world whose far connects to the destination, and near takes this entrance.
fn world_of(entrance: Entrance) -> World {
    let server = TcpListener::bind(any()).unwrap();
    let udp = bound(any());
    let far_udp = UdpSocket::from(udp.try_clone().unwrap())
        .local_addr()
        .unwrap();
    let key = identity(1).public();
    let mut of_far = setup(2, Peer::Near { key }, udp, Vec::new(), any());
    of_far.onward = Box::new(as_asked);
    let far = Running::start(of_far);
    let listener = TcpListener::bind(any()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let entry = listener.local_addr().unwrap();
    let peer = Peer::Far {
        address: far_udp,
        key: identity(2).public(),
    };
    let mut of_near = setup(1, peer, bound(any()), Vec::new(), any());
    let socket = listener.into();
    of_near.listeners.push(Listener { socket, entrance });
    let near = Running::start(of_near);
    World {
        near,
        far,
        entry,
        far_udp,
        server,
    }
}

#[test]
fn socks_leads_to_the_addresses_of_a_name_and_what_follows_it_comes_first() {
    let world = world_of(Entrance::Socks5);
    let port = world.server.local_addr().unwrap().port();
    let mut client = world.client();
    let name = b"localhost";
    let mut sent = vec![5, 1, 0, 5, 1, 0, 3, name.len() as u8];
    sent.extend_from_slice(name);
    sent.extend_from_slice(&port.to_be_bytes());
    sent.extend_from_slice(b"question");
    client.write_all(&sent).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut server = world.accept();
    assert_eq!(read_all(server.try_clone().unwrap()), b"question");
    server.write_all(b"answer").unwrap();
    drop(server);
    let heard = read_all(client);
    assert_eq!(heard[..2], [5, 0]);
    assert_eq!(heard[2..4], [5, 0]);
    assert_eq!(heard[12..], *b"answer");
    let [_, far] = world.stop();
    assert_eq!(far.connect_failures, 0);
}

#[test]
fn a_name_without_an_address_resets_its_connection() {
    let world = world_of(Entrance::HttpConnect);
    let mut client = world.client();
    client
        .write_all(b"CONNECT nothing.invalid:80 HTTP/1.1\r\nHost: nothing.invalid\r\n\r\n")
        .unwrap();
    let mut heard = Vec::new();
    let error = client.read_to_end(&mut heard).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    let [_, far] = world.stop();
    assert_eq!(far.connect_failures, 1);
}

#[test]
fn http_connect_leads_to_an_address_and_other_methods_are_refused() {
    let world = world_of(Entrance::HttpConnect);
    let to = world.server.local_addr().unwrap();
    let mut client = world.client();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(read_all(client).starts_with(b"HTTP/1.1 405 "));
    let mut client = world.client();
    write!(client, "CONNECT {to} HTTP/1.1\r\n\r\nhello").unwrap();
    let mut server = world.accept();
    let mut heard = [0; 5];
    server.read_exact(&mut heard).unwrap();
    assert_eq!(heard, *b"hello");
    drop(server);
    assert!(read_all(client).starts_with(b"HTTP/1.1 200 "));
    world.stop();
}
