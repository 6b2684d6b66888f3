//! Figures of users and flows, what is kept across restarts, and a reload, with both daemons as programs.

mod world;

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};
use world::{Daemon, PATIENCE, World, free, program, text};

fn user(status: &Value) -> &Value {
    let users = status["users"].as_array().unwrap();
    users.iter().find(|it| it["user"] == "127.0.0.1").unwrap()
}

fn scrape(port: u16) -> String {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.0\r\nHost: here\r\n\r\n")
        .unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    heard
}

#[test]
fn the_status_has_users_and_flows_and_keeps_sums_across_restarts() {
    let world = World::new();
    let prometheus = free();
    let status = format!("state = \"near.state\"\nprometheus = \"127.0.0.1:{prometheus}\"");
    let config = world.near_config("100 Mbit/s", &status, "");
    let (near, _far) = (Daemon::start("near", &config), world.far(&world.keys[0]));
    world.exchange();
    let mut client = world.client(world.server.local_addr().unwrap().port());
    client.write_all(b"still open").unwrap();
    let (mut server, _) = world.server.accept().unwrap();
    server.read_exact(&mut [0; 10]).unwrap();
    let seen = world.status("near.sock");
    assert_eq!(user(&seen)["connections"], 2);
    assert_eq!(user(&seen)["sent_bytes"], 18);
    assert_eq!(user(&seen)["delivered_bytes"], 6);
    let flow = &seen["flows"][0];
    assert_eq!(flow["host"], client.local_addr().unwrap().to_string());
    let port = world.server.local_addr().unwrap().port();
    assert_eq!(flow["destination"], format!("localhost:{port}"));
    assert_eq!(
        (&flow["sent_bytes"], &flow["state"]),
        (&10.into(), &"open".into())
    );
    assert_eq!(seen["rate_limit_bit_s"], 100_000_000);
    // At far a user is who asked near.
    let at_far = world.status("far.sock");
    assert_eq!(user(&at_far)["delivered_bytes"], 18);
    let scraped = scrape(prometheus);
    let line = "bentpipe_gateway_user_sent_bytes_total{role=\"near\",user=\"127.0.0.1\"} 18";
    assert!(scraped.contains(line), "{scraped}");
    let socket = world.path("near.sock");
    let shown = program(&["status", "--socket", socket.to_str().unwrap()]);
    let shown = text(&shown.stdout);
    assert!(shown.contains(&format!("localhost:{port}")), "{shown}");
    let total = seen["total"]["sent_bytes"].as_u64().unwrap();
    assert!(total >= 18);
    assert!(near.terminate());
    let near = Daemon::start("near", &config);
    let seen = world.status("near.sock");
    assert_eq!(
        (&seen["total"]["starts"], &seen["opened"]),
        (&2.into(), &0.into())
    );
    assert_eq!(seen["total"]["sent_bytes"], total);
    assert_eq!(user(&seen)["sent_bytes"], 18);
    world.until("near.sock", "sessions", |sessions| sessions == 1);
    world.exchange();
    let seen = world.status("near.sock");
    assert!(seen["total"]["sent_bytes"].as_u64().unwrap() >= total + 8);
    assert_eq!(user(&seen)["sent_bytes"], 26);
    assert!(near.terminate());
}

#[test]
fn a_damaged_state_is_put_aside_with_one_line_and_counting_begins_anew() {
    let world = World::new();
    let config = world.near_config("100 Mbit/s", "state = \"near.state\"", "");
    let big = format!("{{\"version\":1,\"totals\":{{\"starts\":{}", u64::MAX);
    for damaged in [
        "",
        "{\"version\":1,\"totals\":{\"sta",
        "{\"version\":9}",
        "\u{0}\u{1}",
        &big,
    ] {
        let path = world.write("near.state", damaged);
        let mut near = Daemon::begin("near", &config);
        let line = near.says("cannot be read");
        assert!(line.contains(path.to_str().unwrap()), "{line}");
        near.says("ready");
        assert_eq!(world.status("near.sock")["total"]["starts"], 1);
        assert!(near.child.try_wait().unwrap().is_none());
        assert!(near.terminate());
        let aside = fs::read_to_string(world.path("near.state.damaged")).unwrap();
        assert_eq!(aside, damaged);
    }
    let kept: Value =
        serde_json::from_str(&fs::read_to_string(world.path("near.state")).unwrap()).unwrap();
    assert_eq!(kept["totals"]["starts"], 1);
}

#[test]
fn a_status_that_watches_prints_again_and_again() {
    let world = World::new();
    let _near = world.near();
    let socket = world.path("near.sock");
    let mut child = std::process::Command::new(world::PROGRAM)
        .args(["status", "--json", "--watch", "1", "--socket"])
        .arg(socket)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let mut up = || {
        let line = lines.next().unwrap().unwrap();
        let status: Value = serde_json::from_str(&line).unwrap();
        status["up_s"].as_f64().unwrap()
    };
    assert!(up() < up());
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Whether a connection to this port gets through to far's destination.
fn is_open(world: &World, port: u16) -> bool {
    let mut client = world.client(port);
    // A refusal resets the connection, perhaps before this is written; nobody answers otherwise.
    if client.write_all(b"x").is_err() {
        return false;
    }
    client
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let read = client.read(&mut [0; 1]);
    read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[test]
fn a_reload_changes_what_can_change_says_what_cannot_and_cuts_nothing() {
    let world = World::new();
    let near_config = world.near_config("100 Mbit/s", "", "");
    let (near, far) = (
        Daemon::start("near", &near_config),
        world.far(&world.keys[0]),
    );
    let port = world.server.local_addr().unwrap().port();
    let mut client = world.client(port);
    client.write_all(b"before").unwrap();
    let (mut server, _) = world.server.accept().unwrap();
    server.read_exact(&mut [0; 6]).unwrap();
    // Far: the access list closes, and the port that listens is named as what needs a restart.
    let config = world.far_config(&world.keys[0], "");
    let text = fs::read_to_string(&config).unwrap();
    let elsewhere = text.replace(&format!("[::]:{}", world.far), &format!("[::]:{}", free()));
    fs::write(&config, elsewhere).unwrap();
    far.signal("HUP");
    let line = far.says("reloaded");
    assert!(
        line.contains("changed=access needs_restart=listen"),
        "{line}"
    );
    assert!(!is_open(&world, port));
    // Near: the rate, and the socket of its status.
    let moved = world.path("moved.sock");
    let text = fs::read_to_string(&near_config).unwrap();
    let text = text
        .replace("100 Mbit/s", "20 Mbit/s")
        .replace("near.sock", "moved.sock");
    fs::write(&near_config, &text).unwrap();
    near.signal("HUP");
    let line = near.says("reloaded");
    assert!(
        line.contains("changed=path.rate, status needs_restart=nothing"),
        "{line}"
    );
    let begun = Instant::now();
    while !moved.exists() && begun.elapsed() < PATIENCE {}
    assert_eq!(world.status("moved.sock")["rate_limit_bit_s"], 20_000_000);
    assert!(!world.path("near.sock").exists());
    // A wrong file changes nothing.
    fs::write(&near_config, text.replace("20 Mbit/s", "soon")).unwrap();
    near.signal("HUP");
    let line = near.says("not reloaded");
    assert!(
        line.contains("near.toml:7: rate: got \"soon\", expected a rate"),
        "{line}"
    );
    let seen = world.status("moved.sock");
    assert_eq!(seen["rate_limit_bit_s"], 20_000_000);
    assert_eq!(
        (&seen["reloads"], &seen["reloads_refused"]),
        (&1.into(), &1.into())
    );
    // The flow from before goes on, over the same session.
    client.write_all(b"after").unwrap();
    let mut heard = [0; 5];
    server.read_exact(&mut heard).unwrap();
    assert_eq!((&heard, &seen["sessions"]), (b"after", &1.into()));
    assert!(near.terminate() && far.terminate());
    assert!(!moved.exists());
}
