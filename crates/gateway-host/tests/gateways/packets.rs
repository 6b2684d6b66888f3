//! Whole packets of users through two gateways, of which each has one end of a pair of sockets in a TUN device's place.

use crate::ends::{PATIENCE, Running, any, bound, identity, setup};
use bentpipe_base::Nanos;
use bentpipe_gateway::{Rate, ResetCode, Target};
use bentpipe_gateway_host::{Onward, PacketEnds, PacketWay, Peer};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

const BUSY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const QUIET: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 7);

struct AllPackets;

impl Onward for AllPackets {
    fn connect(&mut self, _: &Target) -> Result<OwnedFd, ResetCode> {
        Err(ResetCode::NotAllowed)
    }

    fn allows_packet(&mut self, _: PacketWay, _: PacketEnds) -> bool {
        true
    }
}

/// The kernel's side of a device, and the gateway's, which does not block.
fn device() -> (UnixDatagram, OwnedFd) {
    let pair = socketpair(
        AddressFamily::UNIX,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    );
    let (kernel, gateway) = pair.unwrap();
    let kernel = UnixDatagram::from(kernel);
    for set in [
        UnixDatagram::set_read_timeout,
        UnixDatagram::set_write_timeout,
    ] {
        set(&kernel, Some(PATIENCE)).unwrap();
    }
    rustix::io::ioctl_fionbio(&gateway, true).unwrap();
    (kernel, gateway)
}

/// An echo request or answer: protocol 1 has no ports.
fn packet(from: Ipv4Addr, to: Ipv4Addr, number: u16, bytes: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend(bytes.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 1, 0, 0]);
    packet.extend(from.octets());
    packet.extend(to.octets());
    packet.extend(number.to_be_bytes());
    packet.resize(bytes.into(), 0);
    packet
}

/// From this user to the server, or back.
fn between(user: Ipv4Addr, up: bool, number: u16, bytes: u16) -> Vec<u8> {
    let (from, to) = if up { (user, SERVER) } else { (SERVER, user) };
    packet(from, to, number, bytes)
}

/// From whom, to whom, and its number.
fn read(packet: &[u8]) -> (Ipv4Addr, Ipv4Addr, u16) {
    let address = |at: usize| Ipv4Addr::from_octets(packet[at..at + 4].try_into().unwrap());
    let number = u16::from_be_bytes(packet[20..22].try_into().unwrap());
    (address(12), address(16), number)
}

struct World {
    near: Running,
    far: Running,
    users: UnixDatagram,
    servers: UnixDatagram,
}

impl World {
    /// Both send 2 Mbit/s, and 131 kB of datagrams may wait.
    fn new() -> Self {
        let socket = bound(any());
        let address = UdpSocket::from(socket.try_clone().unwrap())
            .local_addr()
            .unwrap();
        let key = identity(1).public();
        let mut of_far = setup(2, Peer::Near { key }, socket, Vec::new(), any());
        let key = identity(2).public();
        let peer = Peer::Far { address, key };
        let mut of_near = setup(1, peer, bound(any()), Vec::new(), any());
        of_far.session.takes_ip = true;
        let ends = [&mut of_near, &mut of_far].map(|it| {
            it.onward = Box::new(AllPackets);
            it.session.rate = Rate::Fixed(2_000_000);
            it.session.datagram_buffer = 1 << 17;
            // A machine that is busy with other tests is no reason to drop anything.
            it.session.datagram_wait = Nanos::from_secs(60);
            let (kernel, gateway) = device();
            it.tun = Some(gateway);
            kernel
        });
        let [users, servers] = ends;
        let far = Running::start(of_far);
        let near = Running::start(of_near);
        Self {
            near,
            far,
            users,
            servers,
        }
    }

    /// The first packet crosses as soon as there is a session, so it is sent until one comes.
    fn begin(&self, user: Ipv4Addr) {
        let hears = &self.servers;
        hears
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let mut buffer = [0; 2000];
        loop {
            self.users.send(&packet(user, SERVER, 0, 100)).unwrap();
            if hears.recv(&mut buffer).is_ok() {
                break;
            }
        }
        hears.set_read_timeout(Some(PATIENCE)).unwrap();
    }
}

/// The numbers, but for 0, of the packets that are meant, until so many have come.
fn numbers(
    device: &UnixDatagram,
    count: usize,
    is_of: impl Fn((Ipv4Addr, Ipv4Addr, u16)) -> bool,
) -> Vec<u16> {
    let (mut found, mut buffer) = (Vec::new(), [0; 2000]);
    while found.len() < count {
        let length = device.recv(&mut buffer).expect("all of the quiet user's");
        let read = read(&buffer[..length]);
        if read.2 > 0 && is_of(read) {
            found.push(read.2);
        }
    }
    found
}

#[test]
fn a_user_who_floods_the_device_takes_nothing_of_another_users_share_both_ways() {
    let world = World::new();
    world.begin(BUSY);
    world.begin(QUIET);
    let quiet_is = |from: Ipv4Addr, to: Ipv4Addr| from == QUIET || to == QUIET;
    for (gives, takes, up) in [
        (&world.users, &world.servers, true),
        (&world.servers, &world.users, false),
    ] {
        let came = std::thread::scope(|scope| {
            let came = scope.spawn(|| numbers(takes, 5, |(from, to, _)| quiet_is(from, to)));
            for number in 1..=2000 {
                gives.send(&between(BUSY, up, number, 1200)).unwrap();
                // In one queue of 131 kB these would be the oldest, and go.
                if (201..=205).contains(&number) {
                    gives.send(&between(QUIET, up, number, 100)).unwrap();
                }
            }
            came.join().unwrap()
        });
        assert_eq!(came, [201, 202, 203, 204, 205]);
    }
    for report in [world.near.stop(), world.far.stop()] {
        // One for each user, and one for who has none.
        assert_eq!(report.packets.flows, 3);
        assert!(report.packets.sent >= 210 && report.packets.delivered >= 5);
        assert!(report.session.datagrams.dropped_full > 0);
        assert_eq!(report.users.each().len(), 2);
        assert_eq!(report.packets.refused, 0);
    }
}
