//! Gateways, hosts and their bytes, for the tests.

use bentpipe_carrier::identity::Identity;
use bentpipe_carrier::quic;
use bentpipe_gateway::{Config, ResetCode, Target};
use bentpipe_gateway_host::{ChoiceConfig, Gateway, Peer, Report, Setup, Stop, reset_code};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(30);
pub const RATE: u64 = 400_000_000;

pub fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

pub fn identity(number: u8) -> Identity {
    Identity::from_seed([number; 32])
}

pub struct Running {
    stop: Stop,
    thread: JoinHandle<std::io::Result<Report>>,
}

impl Running {
    pub fn start(setup: Setup) -> Self {
        let stop = Stop::new().unwrap();
        let gateway = Gateway::new(setup, stop.clone()).unwrap();
        let thread = std::thread::spawn(move || gateway.run());
        Self { stop, thread }
    }

    pub fn stop(self) -> Report {
        self.stop.raise().unwrap();
        self.thread.join().unwrap().unwrap()
    }
}

pub fn bound(at: SocketAddr) -> OwnedFd {
    let socket = UdpSocket::bind(at).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

pub fn setup(
    number: u8,
    peer: Peer,
    udp: OwnedFd,
    listeners: Vec<OwnedFd>,
    to: SocketAddr,
) -> Setup {
    Setup {
        session: Config {
            takes_names: true,
            ..Config::fixed(RATE, 59)
        },
        carrier: quic::Config::default(),
        identity: identity(number),
        peer,
        udp,
        listeners: listeners.into_iter().map(Into::into).collect(),
        onward: Box::new(move |_: &Target| plain(to)),
        most_connections: 100,
        most_user_associations: 100,
        on_delivered: None,
        loses: None,
        tcp: None,
        transparent_udp: Vec::new(),
        tun: None,
        choice: ChoiceConfig::default(),
    }
}

/// A connection to the same destination, whatever was asked for.
pub fn plain(to: SocketAddr) -> Result<OwnedFd, ResetCode> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let begun = || {
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
        match connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(error) => Err(error),
        }
    };
    begun().map_err(reset_code)
}

/// A test that would hang fails.
pub fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub fn bytes(count: usize, seed: usize) -> Vec<u8> {
    (0..count)
        .map(|at| ((at * 31 + seed) ^ (at >> 9)) as u8)
        .collect()
}

pub fn read_all(mut stream: TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    all
}
