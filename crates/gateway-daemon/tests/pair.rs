//! Both daemons, started as programs, between a client and a server on the loopback device.

mod world;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use world::{PATIENCE, World, any, program, text};

#[test]
fn two_daemons_carry_connections_refuse_what_is_not_allowed_and_end_clean() {
    let world = World::new();
    let (near, far) = (world.near(), world.far(&world.keys[0]));
    world.exchange();
    // Another port of the same machine is not allowed.
    let mut refused = world.client(9);
    assert!(refused.read(&mut [0; 1]).is_err());
    let refusal = far.says("refused a connection");
    assert!(refusal.contains("destination=127.0.0.1:9"), "{refusal}");
    let status = world.status("near.sock");
    assert_eq!(status["role"], "near");
    assert_eq!(status["connected"], true);
    assert_eq!(status["opened"], 2);
    assert_eq!(world.status("far.sock")["connect_failures"], 1);
    assert!(near.terminate() && far.terminate());
    assert!(!world.path("near.sock").exists() && !world.path("far.sock").exists());
}

/// A header of SOCKS for UDP, and a body.
fn datagram(port: u16, body: &[u8]) -> Vec<u8> {
    let [high, low] = port.to_be_bytes();
    [&[0, 0, 0, 1, 127, 0, 0, 1, high, low], body].concat()
}

#[test]
fn udp_crosses_to_what_the_access_list_allows_and_the_status_counts_the_rest() {
    let world = World::new();
    let (_near, far) = (world.near(), world.far(&world.keys[0]));
    let server = UdpSocket::bind(world.server.local_addr().unwrap()).unwrap();
    let closed = UdpSocket::bind(any()).unwrap();
    let port = |socket: &UdpSocket| socket.local_addr().unwrap().port();
    let mut tcp = TcpStream::connect((Ipv4Addr::LOCALHOST, world.socks)).unwrap();
    tcp.set_read_timeout(Some(PATIENCE)).unwrap();
    tcp.write_all(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0")
        .unwrap();
    let mut answer = [0; 12];
    tcp.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..10], [5, 0, 5, 0, 0, 1, 127, 0, 0, 1]);
    let relay = u16::from_be_bytes([answer[10], answer[11]]);
    let client = UdpSocket::bind(any()).unwrap();
    for socket in [&client, &server] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    let ask = |to: u16, body: &[u8]| {
        let sent = client.send_to(&datagram(to, body), (Ipv4Addr::LOCALHOST, relay));
        sent.unwrap();
    };
    ask(port(&closed), b"refused");
    ask(port(&closed), b"refused");
    ask(port(&server), b"question");
    let mut heard = [0; 100];
    let (length, from) = server.recv_from(&mut heard).unwrap();
    assert_eq!(&heard[..length], b"question");
    server.send_to(b"answer", from).unwrap();
    let length = client.recv(&mut heard).unwrap();
    assert_eq!(heard[..length], datagram(port(&server), b"answer"));
    let refusal = far.says("refused a datagram");
    let destination = format!("destination=127.0.0.1:{} ", port(&closed));
    assert!(refusal.contains(&destination), "{refusal}");
    let status = world.status("far.sock");
    assert_eq!(status["associations"], 1);
    assert_eq!(status["datagrams_refused"], 2);
    assert_eq!(status["datagrams_sent"], 1);
    let socket = world.path("near.sock");
    let said = program(&["status", "--socket", socket.to_str().unwrap()]);
    let line = "1 associations open; 3 datagrams from hosts, 1 to hosts, 0 refused";
    assert!(text(&said.stdout).contains(line), "{}", text(&said.stdout));
    drop(tcp);
    world.until("far.sock", "associations", |open| open == 0);
}

#[test]
fn a_gateway_whose_peer_was_killed_carries_on_with_the_next_one() {
    let world = World::new();
    let near = world.near();
    let far = world.far(&world.keys[0]);
    world.exchange();
    // Killed: it tells nobody and leaves its socket.
    drop(far);
    assert!(world.path("far.sock").exists());
    let _far = world.far(&world.keys[0]);
    // Near hears of it from the new far, at its next packet.
    world.until("near.sock", "sessions", |sessions| sessions == 2);
    world.exchange();
    drop(near);
}

#[test]
fn a_stranger_gets_no_session() {
    let world = World::new();
    let near = world.near();
    let _far = world.far(&other_key(&world));
    world.until("far.sock", "carrier_refused", |refused| refused > 0);
    let said = program(&[
        "status",
        "--socket",
        world.path("far.sock").to_str().unwrap(),
    ]);
    let line = "failed or were refused; the last: ";
    assert!(text(&said.stdout).contains(line), "{}", text(&said.stdout));
    let status = world.status("near.sock");
    assert_eq!(
        (&status["connected"], &status["sessions"]),
        (&false.into(), &0.into())
    );
    drop(near);
}

fn other_key(world: &World) -> String {
    let made = program(&["keys", world.path("other.key").to_str().unwrap()]);
    text(&made.stdout).trim().to_owned()
}

#[test]
fn mistakes_are_one_line_and_status_2() {
    let world = World::new();
    let config = world.write(
        "wrong.toml",
        "role = \"near\"\nkey = \"near.key\"\nrate = 1\n",
    );
    for (arguments, expected) in [
        (
            ["check", "--config", config.to_str().unwrap()],
            "wrong.toml:3: unknown field `rate`",
        ),
        (
            ["near", "--config", "/nothing.toml"],
            "/nothing.toml: cannot read it",
        ),
    ] {
        let said = program(&arguments);
        assert_eq!(said.status.code(), Some(2));
        let said = text(&said.stderr);
        assert!(
            said.contains(expected) && said.trim().lines().count() == 1,
            "{said}"
        );
    }
    let nobody = world.path("nobody.sock");
    let said = program(&["status", "--socket", nobody.to_str().unwrap()]);
    assert_eq!(said.status.code(), Some(1));
    assert!(text(&said.stderr).contains("no gateway answers there"));
}
