//! `/metrics`: Prometheus' text format, counters that grow with what they count, and what goes on after a restart.

mod world;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::time::Instant;
use world::{Daemon, PATIENCE, World, free};

/// Values by series, such as `bentpipe_gateway_user_sent_bytes_total{role="near",user="10.0.0.1"}`.
type Series = BTreeMap<String, f64>;

fn get(port: u16, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let asks = format!("GET {path} HTTP/1.0\r\nHost: here\r\n\r\n");
    stream.write_all(asks.as_bytes()).unwrap();
    let mut heard = String::new();
    stream.read_to_string(&mut heard).unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

fn is_name(text: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(first) && text.chars().all(|c| first(c) || c.is_ascii_digit())
}

/// The labels of a series, which is one line without its value. Values of ours need no escapes.
fn labels(text: &str) -> BTreeMap<&str, &str> {
    let inner = text.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
    let each = inner.split(',').map(|label| {
        let (name, value) = label.split_once('=').unwrap();
        let value = value.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
        assert!(is_name(name) && !value.contains(['"', '\\', '{']), "{text}");
        (name, value)
    });
    let labels: BTreeMap<_, _> = each.collect();
    assert_eq!(labels.len(), inner.split(',').count(), "{text}: one twice");
    labels
}

/// Reads version 0.0.4 of the format, as strictly as its description has it: HELP and TYPE once, before the metric's samples, which stand together.
fn parse(text: &str) -> Series {
    assert!(text.ends_with('\n'));
    let mut series = Series::new();
    let mut metrics = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let (name, help) = line
            .strip_prefix("# HELP ")
            .expect(line)
            .split_once(' ')
            .unwrap();
        assert!(is_name(name) && help.ends_with('.'), "{line}");
        assert!(!metrics.contains(&name), "{name} comes twice");
        metrics.push(name);
        let kind = lines.next().unwrap().strip_prefix("# TYPE ").unwrap();
        let kind = kind.strip_prefix(name).unwrap().trim_start();
        assert_eq!(kind == "counter", name.ends_with("_total"), "{name} {kind}");
        assert!(kind == "counter" || kind == "gauge", "{name} {kind}");
        let mut samples = 0;
        while let Some(sample) = lines.next_if(|line| !line.starts_with('#')) {
            let (whose, value) = sample.rsplit_once(' ').unwrap();
            let of = labels(whose.strip_prefix(name).expect(sample));
            assert!(of.contains_key("role") && of.len() <= 2, "{sample}");
            let value: f64 = value.parse().unwrap();
            assert!(value.is_finite() && (kind == "gauge" || value >= 0.0));
            let before = series.insert(whose.to_owned(), value);
            assert!(before.is_none(), "{whose} comes twice");
            samples += 1;
        }
        assert!(samples > 0, "{name} has no sample");
    }
    series
}

fn scrape(port: u16) -> Series {
    let (head, body) = get(port, "/metrics");
    assert!(
        head.starts_with("http/1.") && head.contains(" 200 "),
        "{head}"
    );
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    parse(&body)
}

fn value(of: &Series, role: &str, name: &str) -> f64 {
    of[&format!("bentpipe_gateway_{name}{{role=\"{role}\"}}")]
}

/// Scrapes until all of these counters have grown.
fn grown(port: u16, role: &str, before: &Series, names: &[&str]) -> Series {
    let until = Instant::now() + PATIENCE;
    loop {
        let now = scrape(port);
        let same = |name: &&&str| value(&now, role, name) <= value(before, role, name);
        let Some(same) = names.iter().find(same) else {
            return now;
        };
        assert!(Instant::now() < until, "{same} of {role} does not grow");
    }
}

/// A UDP association by SOCKS: its connection, and where datagrams go. None: it is refused.
fn associate(world: &World) -> Option<(TcpStream, SocketAddr)> {
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, world.socks)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
        .write_all(b"\x05\x01\x00\x05\x03\x00\x01\0\0\0\0\0\0")
        .unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    let port = u16::from_be_bytes([answer[10], answer[11]]);
    (answer[3] == 0).then_some((client, (Ipv4Addr::LOCALHOST, port).into()))
}

fn request(fragment: u8, port: u16) -> Vec<u8> {
    let mut bytes = vec![0, 0, fragment, 1, 127, 0, 0, 1];
    bytes.extend(port.to_be_bytes());
    bytes.extend(b"question");
    bytes
}

/// Datagrams there and back, one to where none may go, and a fragment, which SOCKS here does not take.
fn datagrams(world: &World, server: &UdpSocket) {
    let (_held, at) = associate(world).unwrap();
    // The limit is one for each user.
    assert!(associate(world).is_none());
    let client = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = server.local_addr().unwrap().port();
    for socket in [&client, server] {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
    }
    for bytes in [request(0, port), request(0, 9), request(1, port)] {
        client.send_to(&bytes, at).unwrap();
    }
    let mut heard = [0; 100];
    let (length, from) = server.recv_from(&mut heard).unwrap();
    assert_eq!(&heard[..length], b"question");
    server.send_to(b"answer", from).unwrap();
    let length = client.recv(&mut heard).unwrap();
    assert!(heard[..length].ends_with(b"answer"));
}

fn refused(world: &World) {
    let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, world.socks)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let to = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9);
    let mut asks = b"\x05\x01\x00\x05\x01\x00\x01".to_vec();
    asks.extend(to.ip().octets());
    asks.extend(to.port().to_be_bytes());
    client.write_all(&asks).unwrap();
    // It is told that the connection is there, and then that it is over.
    let _ = client.read_to_end(&mut Vec::new());
}

#[test]
fn counters_are_well_formed_grow_and_go_on_after_a_restart_where_they_are_kept() {
    let world = World::new();
    let ports = [free(), free()];
    let status = format!(
        "state = \"near.state\"\nprometheus = \"127.0.0.1:{}\"",
        ports[0]
    );
    let near_config = world.near_config("100 Mbit/s", &status, "[limits]\nuser_associations = 1");
    let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let allowed = [world.server.local_addr(), server.local_addr()]
        .map(|at| format!("\"127.0.0.1 port {}\"", at.unwrap().port()));
    let far_config = world.far_config(&world.keys[0], &allowed.join(", "));
    let text = fs::read_to_string(&far_config).unwrap();
    fs::write(
        &far_config,
        format!("{text}prometheus = \"127.0.0.1:{}\"\n", ports[1]),
    )
    .unwrap();
    let near = Daemon::start("near", &near_config);
    let near_at_start = scrape(ports[0]);
    let far = Daemon::start("far", &far_config);
    let at_start = [near_at_start, scrape(ports[1])];
    assert_eq!(get(ports[0], "/").0.split(' ').nth(1), Some("404"));

    world.exchange();
    datagrams(&world, &server);
    refused(&world);
    let right = fs::read_to_string(&near_config).unwrap();
    fs::write(&near_config, "wrong").unwrap();
    near.signal("HUP");
    near.says("not reloaded");
    fs::write(&near_config, right).unwrap();
    near.signal("HUP");
    near.says("reloaded");

    let both = [
        "sessions_total",
        "sent_bytes_total",
        "delivered_bytes_total",
        "packets_total",
        "datagrams_sent_total",
        "datagrams_delivered_total",
        "resets_total",
        "up_seconds",
    ];
    let of_near = [
        "opened_total",
        "associations_failed_total",
        "associations_over_limit_total",
        "datagrams_invalid_total",
        "reloads_total",
        "reloads_refused_total",
    ];
    let of_far = [
        "accepted_total",
        "connect_failures_total",
        "destinations_refused_total",
        "datagrams_refused_total",
    ];
    let near_names = [&both[..], &of_near].concat();
    let at_near = grown(ports[0], "near", &at_start[0], &near_names);
    let far_names = [&both[..], &of_far].concat();
    let at_far = grown(ports[1], "far", &at_start[1], &far_names);
    for (role, before, after) in [
        ("near", &at_start[0], &at_near),
        ("far", &at_start[1], &at_far),
    ] {
        for (series, then) in before.iter().filter(|(name, _)| name.contains("_total{")) {
            assert!(after[series] >= *then, "{series} of {role} has fallen");
        }
        assert!((value(after, role, "starts_total") - 1.0).abs() < 0.5);
    }

    // What users did, and how often it was started, goes on. The rest begins at 0, as Prometheus expects of a program that was started again.
    assert!(near.terminate());
    let _near = Daemon::start("near", &near_config);
    let again = scrape(ports[0]);
    let users = |of: &Series| -> Series {
        let users = of.iter().filter(|(name, _)| name.contains("_user_"));
        users.map(|(name, value)| (name.clone(), *value)).collect()
    };
    let mine = "bentpipe_gateway_user_datagrams_sent_total{role=\"near\",user=\"127.0.0.1\"}";
    assert!(again[mine] >= 2.0);
    assert_eq!(users(&again), users(&at_near));
    assert!((value(&again, "near", "starts_total") - 2.0).abs() < 0.5);
    for name in ["opened_total", "reloads_total", "datagrams_sent_total"] {
        assert!(value(&again, "near", name) < 0.5, "{name}");
    }
    drop(far);
}
