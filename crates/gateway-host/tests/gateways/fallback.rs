//! Which carrier is used where UDP is blocked: from the start, and in the middle.

use crate::ends::{PATIENCE, Running, any, bound, bytes, identity, patient, read_all, setup};
use bentpipe_carrier::quic;
use bentpipe_gateway::Config;
use bentpipe_gateway_host::{ChoiceConfig, Peer, Report, Setup, Tcp, far_sockets};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// UDP as the path lets it through.
#[derive(Clone, Default)]
struct Path {
    blocked: Arc<AtomicBool>,
    /// Packets that got through.
    passed: Arc<AtomicU64>,
}

impl Path {
    fn loses(&self) -> Box<dyn FnMut() -> bool + Send> {
        let path = self.clone();
        Box::new(move || {
            let blocked = path.blocked.load(Ordering::Relaxed);
            path.passed
                .fetch_add(u64::from(!blocked), Ordering::Relaxed);
            blocked
        })
    }

    fn block(&self, blocked: bool) {
        self.blocked.store(blocked, Ordering::Relaxed);
    }

    fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }
}

fn with_tcp(setup: Setup, tcp: Tcp, path: &Path) -> Setup {
    Setup {
        session: Config::fixed(RATE, 59),
        carrier: quic::Config {
            handshake_timeout: Duration::from_secs(2),
            ..quic::Config::default()
        },
        tcp: Some(tcp),
        choice: ChoiceConfig {
            answer_within: Duration::from_millis(800),
            confirm: Duration::from_millis(200),
            again_first: Duration::from_millis(300),
            again_most: Duration::from_secs(1),
            ..ChoiceConfig::default()
        },
        loses: Some(path.loses()),
        ..setup
    }
}

const RATE: u64 = 100_000_000;

struct World {
    near: Running,
    far: Running,
    entry: SocketAddr,
    server: TcpListener,
}

/// The number is that of near's key.
fn world(number: u8, path: &Path) -> World {
    world_of(number, path, path)
}

/// Paths of what each gateway sends.
fn world_of(number: u8, of_near: &Path, of_far: &Path) -> World {
    let server = TcpListener::bind(any()).unwrap();
    let to = server.local_addr().unwrap();
    let (udp, tcp) = far_sockets(any()).unwrap();
    let address = address_of(&udp);
    let key = identity(1).public();
    let far = setup(2, Peer::Near { key }, udp, Vec::new(), to);
    let far = Running::start(with_tcp(far, Tcp::Listen(tcp), of_far));
    let listener = TcpListener::bind(any()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let entry = listener.local_addr().unwrap();
    let key = identity(2).public();
    let peer = Peer::Far { address, key };
    let near = setup(number, peer, bound(any()), vec![listener.into()], any());
    let near = Running::start(with_tcp(near, Tcp::Connect, of_near));
    World {
        near,
        far,
        entry,
        server,
    }
}

fn address_of(udp: &OwnedFd) -> SocketAddr {
    let udp = UdpSocket::from(udp.try_clone().unwrap());
    udp.local_addr().unwrap()
}

impl World {
    fn stop(self) -> [Report; 2] {
        [self.near.stop(), self.far.stop()]
    }
}

#[test]
fn where_udp_is_blocked_from_the_start_the_session_goes_over_tls() {
    let path = Path::default();
    path.block(true);
    let world = world(1, &path);
    let (question, answer) = (bytes(3_000_000, 1), bytes(5_000_000, 2));
    let mut client = patient(TcpStream::connect(world.entry).unwrap());
    let sends = {
        let (mut client, question) = (client.try_clone().unwrap(), question.clone());
        std::thread::spawn(move || {
            client.write_all(&question).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        })
    };
    let mut server = patient(world.server.accept().unwrap().0);
    assert!(read_all(server.try_clone().unwrap()) == question);
    sends.join().unwrap();
    let answers = {
        let answer = answer.clone();
        std::thread::spawn(move || server.write_all(&answer).unwrap())
    };
    let mut heard = Vec::new();
    client.read_to_end(&mut heard).unwrap();
    answers.join().unwrap();
    assert!(heard == answer);
    let reports = world.stop();
    for report in &reports {
        let carrier = &report.carrier;
        assert_eq!((carrier.connections, carrier.tls_connections), (1, 1));
        assert_eq!(report.session.sessions, 1);
        // TCP repeats what is lost.
        assert_eq!(report.session.sender.repairs, 0);
    }
    assert_eq!(path.passed(), 0);
}

/// Byte `at` of a stream that does not repeat soon.
fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

#[test]
fn a_transfer_goes_on_over_tls_when_udp_is_blocked_and_over_quic_when_it_is_open_again() {
    let path = Path::default();
    let world = world(1, &path);
    let mut client = patient(TcpStream::connect(world.entry).unwrap());
    let enough = Arc::new(AtomicBool::new(false));
    let sends = {
        let enough = Arc::clone(&enough);
        std::thread::spawn(move || {
            let mut at = 0;
            while !enough.load(Ordering::Relaxed) {
                let piece: Vec<u8> = (at..at + 50_000).map(byte).collect();
                client.write_all(&piece).unwrap();
                at += 50_000;
            }
            client.shutdown(Shutdown::Write).unwrap();
            // It stays open until far has closed, too.
            assert_eq!(client.read(&mut [0]).unwrap(), 0);
            at
        })
    };
    let mut server = patient(world.server.accept().unwrap().0);
    let mut buffer = vec![0; 1 << 16];
    let mut at = 0;
    let mut read = |at: &mut u64| {
        let length = server.read(&mut buffer).unwrap();
        for &found in &buffer[..length] {
            assert_eq!(found, byte(*at), "byte {at}");
            *at += 1;
        }
        length
    };
    let mut read_on = |at: &mut u64, bytes: u64| {
        let end = *at + bytes;
        while *at < end {
            assert!(read(at) > 0, "the stream ended");
        }
    };
    read_on(&mut at, 2_000_000);
    path.block(true);
    // All buffers between both ends hold less.
    read_on(&mut at, 20_000_000);
    path.block(false);
    let before = path.passed();
    let begun = Instant::now();
    // Handshakes have a dozen packets.
    while path.passed() < before + 1000 {
        read_on(&mut at, 100_000);
        assert!(
            begun.elapsed() < PATIENCE,
            "the session does not come back to QUIC"
        );
    }
    enough.store(true, Ordering::Relaxed);
    while read(&mut at) > 0 {}
    drop(server);
    assert_eq!(at, sends.join().unwrap());
    let [near, far] = world.stop();
    for report in [&near, &far] {
        let carrier = &report.carrier;
        assert!(
            carrier.connections >= 3 && carrier.tls_connections >= 1,
            "{carrier:?}"
        );
        assert_eq!((report.session.sessions, report.session.resets), (1, 0));
    }
    assert_eq!(near.session.sent_bytes, at + 15, "its target has 15 bytes");
}

/// Far is heard all the time: it sends its packets again, since what near says of them does not arrive.
#[test]
fn where_udp_is_blocked_in_one_direction_alone_the_session_goes_on_over_tls() {
    for far_is_heard in [true, false] {
        let (of_near, of_far) = (Path::default(), Path::default());
        let world = world_of(1, &of_near, &of_far);
        let mut client = patient(TcpStream::connect(world.entry).unwrap());
        client.write_all(b"begins").unwrap();
        let mut server = patient(world.server.accept().unwrap().0);
        server.read_exact(&mut [0; 6]).unwrap();
        let blocked = if far_is_heard { &of_near } else { &of_far };
        let (question, answer) = (bytes(3_000_000, 1), bytes(3_000_000, 2));
        let both = {
            let (mut to, answer) = (server.try_clone().unwrap(), answer.clone());
            let (mut other, question) = (client.try_clone().unwrap(), question.clone());
            blocked.block(true);
            std::thread::spawn(move || {
                let answers = std::thread::spawn(move || to.write_all(&answer).unwrap());
                other.write_all(&question).unwrap();
                answers.join().unwrap();
            })
        };
        let mut heard = vec![0; question.len()];
        server.read_exact(&mut heard).unwrap();
        assert!(heard == question);
        let mut heard = vec![0; answer.len()];
        client.read_exact(&mut heard).unwrap();
        assert!(heard == answer);
        both.join().unwrap();
        let [near, far] = world.stop();
        for report in [&near, &far] {
            assert_eq!((report.session.sessions, report.session.resets), (1, 0));
            assert!(report.carrier.tls_connections >= 1, "{:?}", report.carrier);
        }
    }
}

#[test]
fn a_stranger_gets_nothing_over_tls() {
    let path = Path::default();
    path.block(true);
    let world = world(9, &path);
    std::thread::sleep(Duration::from_millis(1500));
    let [near, far] = world.stop();
    assert_eq!((near.established, far.established), (None, None));
    // With TLS 1.3 near learns it a round trip after it is ready itself.
    assert_eq!(far.carrier.connections, 0);
    assert!(far.carrier.refused >= 1, "{:?}", far.carrier);
}

#[test]
fn far_listens_at_one_port_only() {
    let (udp, _) = far_sockets(any()).unwrap();
    let (_, tcp) = far_sockets(any()).unwrap();
    let key = identity(1).public();
    let of_far = setup(2, Peer::Near { key }, udp, Vec::new(), any());
    let of_far = with_tcp(of_far, Tcp::Listen(tcp), &Path::default());
    let stop = bentpipe_gateway_host::Stop::new().unwrap();
    let error = bentpipe_gateway_host::Gateway::new(of_far, stop).unwrap_err();
    assert!(error.to_string().contains("port"), "{error}");
}
