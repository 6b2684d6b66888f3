//! Trials of far's security with both daemons as programs: who has no right key gets no session, and a flood of handshakes stops nothing. Each refusal is
//! logged and counted. Destinations that far refuses are tried by `proof.rs`.

mod world;

use bentpipe_carrier::identity::Identity;
use bentpipe_carrier::quic::{Config, Endpoint};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use world::{Daemon, World, program, text};

/// A key that far's configuration does not name.
fn other_key(world: &World) -> String {
    let path = world.path("other.key");
    let made = program(&["keys", path.to_str().unwrap()]);
    assert!(made.status.success());
    text(&made.stdout).trim().to_owned()
}

fn as_stranger(world: &World) -> Daemon {
    let config = world.near_config("100 Mbit/s", "", "");
    let config_text = fs::read_to_string(&config).unwrap();
    let own = config_text.replace("near.key", "other.key");
    Daemon::start("near", &world.write("stranger.toml", &own))
}

#[test]
fn a_wrong_key_gets_no_session_and_is_logged_and_counted_on_both_sides() {
    let world = World::new();
    let key = other_key(&world);
    let far = world.far(&world.keys[0]);
    let stranger = as_stranger(&world);
    let line = far.says("handshakes failed or were refused");
    assert!(line.contains(&key) && line.contains("127.0.0.1"), "{line}");
    let line = stranger.says("handshakes failed or were refused");
    assert!(line.contains("refused this end's key"), "{line}");
    world.until("far.sock", "carrier_refused", |refused| refused >= 1);
    let status = world.status("far.sock");
    assert_eq!(
        (&status["connected"], &status["sessions"]),
        (&false.into(), &0.into())
    );
    assert_eq!(world.status("near.sock")["sessions"], 0);
}

#[test]
fn a_far_with_another_key_is_refused_by_near_which_names_both() {
    let world = World::new();
    let key = other_key(&world);
    let config = world.far_config(&world.keys[0], "");
    let config_text = fs::read_to_string(&config).unwrap();
    fs::write(&config, config_text.replace("far.key", "other.key")).unwrap();
    let _far = Daemon::start("far", &config);
    let near = world.near();
    let line = near.says("handshakes failed or were refused");
    assert!(
        line.contains(&key) && line.contains(&world.keys[1]),
        "{line}"
    );
    world.until("near.sock", "carrier_refused", |refused| refused >= 1);
    assert_eq!(world.status("near.sock")["sessions"], 0);
}

#[test]
fn a_key_that_was_replaced_gets_no_session_any_more() {
    let world = World::new();
    let new = other_key(&world);
    let (near, far) = (world.near(), world.far(&world.keys[0]));
    world.exchange();
    let port = world.server.local_addr().unwrap().port();
    world.far_config(&new, &format!("\"127.0.0.1 port {port}\""));
    // A reload says that this key needs a restart.
    far.signal("HUP");
    let line = far.says("reloaded");
    assert!(line.contains("needs_restart=peer.key"), "{line}");
    assert!(far.terminate());
    let far = Daemon::start("far", &world.path("far.toml"));
    let line = far.says("handshakes failed or were refused");
    assert!(line.contains(&world.keys[0]), "{line}");
    assert_eq!(world.status("far.sock")["sessions"], 0);
    assert!(near.terminate());
    let _near = as_stranger(&world);
    world.exchange();
}

/// Resident memory in kB.
fn memory(daemon: &Daemon) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", daemon.child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let words = line.unwrap().split_whitespace().nth(1);
    words.unwrap().parse().unwrap()
}

#[test]
fn a_flood_of_handshakes_takes_little_memory_is_answered_little_and_stops_nothing() {
    const STRANGERS: usize = 1500;
    let world = World::new();
    let (_near, far) = (world.near(), world.far(&world.keys[0]));
    world.exchange();
    let before = memory(&far);
    let to: SocketAddr = (Ipv4Addr::LOCALHOST, world.far).into();
    let key = world.keys[1].parse().unwrap();
    let own = Identity::generate();
    let now = Instant::now();
    let sockets: Vec<_> = (0..10)
        .map(|_| UdpSocket::bind(world::any()).unwrap())
        .collect();
    let mut packet = Vec::new();
    let mut sent = 0;
    for number in 0..STRANGERS {
        // Each is a handshake of its own, and its rest never comes.
        let mut stranger = Endpoint::near(Config::default(), to, key, &own, now).unwrap();
        while let Some(transmit) = stranger.poll_transmit(now, &mut packet) {
            sockets[number % 10]
                .send_to(&packet[..transmit.size], to)
                .unwrap();
            sent += transmit.size;
        }
        if number % 300 == 0 {
            world.exchange();
        }
    }
    world.exchange();
    // The address of none was shown: far makes them show it from the sixteenth on.
    world.until("far.sock", "carrier_retried", |retried| retried >= 1000);
    let mut answered = 0;
    let mut buffer = [0; 2000];
    for socket in &sockets {
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        while let Ok(length) = socket.recv(&mut buffer) {
            answered += length;
        }
    }
    assert!(
        answered > 0 && answered <= 3 * sent,
        "{answered} bytes for {sent}"
    );
    let after = memory(&far);
    assert!(after < before + 64_000, "{before} kB, then {after} kB");
    let status = world.status("far.sock");
    assert_eq!(
        (&status["sessions"], &status["connected"]),
        (&1.into(), &true.into())
    );
}
