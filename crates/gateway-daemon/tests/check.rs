//! `bentpipe-gateway check`, with a far that runs as a program.

mod world;

use serde_json::Value;
use world::{Daemon, World, free, program, text};

fn check(config: &std::path::Path, more: &[&str]) -> (Option<i32>, Value, String) {
    let config = config.to_str().unwrap();
    let arguments = [&["check", "--json", "--config", config][..], more].concat();
    let said = program(&arguments);
    let found = serde_json::from_slice(&said.stdout).unwrap_or_default();
    (said.status.code(), found, text(&said.stderr))
}

fn finding<'a>(found: &'a Value, what: &str) -> &'a Value {
    let all = found["findings"].as_array().unwrap();
    all.iter()
        .find(|it| it["what"] == what)
        .unwrap_or(&Value::Null)
}

#[test]
fn a_path_is_measured_from_near_below_its_rate_and_a_session_is_not_disturbed() {
    let world = World::new();
    let config = world.near_config("4 Mbit/s", "", "");
    let far = world.far(&world.keys[0]);
    let (status, found, said) = check(&config, &["--path"]);
    assert_eq!(status, Some(0), "{found} {said}");
    // 4 Mbit/s for 2 s are a megabyte.
    assert!(said.contains("up to 1.00 MB to it"), "{said}");
    let path = &found["path"];
    assert!(path["round_trip_ms_median"].as_f64().unwrap() > 0.0);
    assert_eq!(path["udp_payload_bytes"], 1472);
    assert!(path["clock_difference_s"].as_f64().unwrap().abs() < 5.0);
    for direction in ["to_far", "from_far"] {
        let of = &path[direction];
        let (sent, came) = (
            of["packets_sent"].as_u64().unwrap(),
            of["packets_came"].as_u64().unwrap(),
        );
        assert!(sent > 700 && came <= sent && 10 * came > 9 * sent, "{path}");
        // Far's own rate is higher: near's holds.
        let bit_s = of["bit_s"].as_f64().unwrap();
        assert!(bit_s > 1e5 && bit_s < 4.4e6, "{path}");
    }
    let near = Daemon::start("near", &config);
    world.until("near.sock", "sessions", |sessions| sessions == 1);
    // The daemon answers for itself.
    let (status, found, _) = check(&config, &["--path"]);
    let detail = finding(&found, "path")["detail"].as_str().unwrap();
    assert_eq!(status, Some(0));
    assert!(
        detail.contains("this gateway runs: connected over quic"),
        "{detail}"
    );
    // Another process with near's key, which does not know of it and has other ports, is told that far is busy.
    let text = std::fs::read_to_string(&config).unwrap();
    let text = text.replace("near.sock", "nobody.sock");
    let (used, other) = (world.socks.to_string(), free().to_string());
    let blind = world.write("blind.toml", &text.replace(&used, &other));
    let (status, found, _) = check(&blind, &["--path"]);
    assert_eq!(status, Some(0), "{found}");
    assert!(
        finding(&found, "path")["detail"]
            .as_str()
            .unwrap()
            .contains("far carries a session")
    );
    assert!(found["path"]["to_far"].is_null() && found["path"]["round_trip_ms_median"].is_f64());
    world.exchange();
    let stands = world.status("far.sock");
    assert_eq!(
        (&stands["sessions"], &stands["carrier_connections"]),
        (&1.into(), &1.into())
    );
    assert!(near.terminate() && far.terminate());
}

#[test]
fn what_is_wrong_with_the_path_is_said() {
    let world = World::new();
    let config = world.near_config("4 Mbit/s", "", "");
    // Nobody is there. Without --path that is a warning.
    let (status, found, _) = check(&config, &["--path"]);
    assert_eq!(
        (status, &finding(&found, "far")["verdict"]),
        (Some(1), &"wrong".into())
    );
    let (status, found, said) = check(&config, &["--offline"]);
    assert_eq!(
        (status, finding(&found, "far"), said.as_str()),
        (Some(0), &Value::Null, "")
    );
    // Far does not know this near.
    let made = program(&["keys", world.path("other.key").to_str().unwrap()]);
    let _far = world.far(text(&made.stdout).trim());
    let (status, found, _) = check(&config, &[]);
    let detail = finding(&found, "far")["detail"].as_str().unwrap();
    assert_eq!(status, Some(1));
    assert!(detail.contains("refuses this gateway's key"), "{detail}");
}

#[test]
fn a_configured_payload_that_does_not_cross_is_an_error() {
    let world = World::new();
    let _far = world.far(&world.keys[0]);
    let config = world.near_config("4 Mbit/s", "", "");
    let text = std::fs::read_to_string(&config).unwrap();
    // Far takes 1472 bytes and no more.
    let text = text.replace("[listen]", "udp_payload = 1473\n[listen]");
    std::fs::write(&config, text).unwrap();
    let (status, found, _) = check(&config, &[]);
    assert_eq!(
        (status, &finding(&found, "MTU")["verdict"]),
        (Some(1), &"wrong".into()),
        "{found}"
    );
}

#[test]
fn what_the_configuration_names_and_this_machine_does_not_have_is_said() {
    let world = World::new();
    let busy = std::net::TcpListener::bind(world::any()).unwrap();
    let port = busy.local_addr().unwrap().port();
    let more = format!(
        "http_connect = [\"127.0.0.1:{port}\"]\ntproxy = [\"192.0.2.77:4100\"]\n\
         [router]\ninterfaces = [\"no-such-lan\"]\n[status]\nstate = \"no/such/figures.json\"\n"
    );
    let config = world.near_config("4 Mbit/s", "", "");
    let text = std::fs::read_to_string(&config).unwrap();
    let (before, _) = text.split_once("[status]").unwrap();
    std::fs::write(&config, format!("{before}{more}")).unwrap();
    let (status, found, _) = check(&config, &["--offline"]);
    assert_eq!(status, Some(1));
    let all = found["findings"].as_array().unwrap();
    for (what, verdict, detail) in [
        (
            "listen",
            "warning",
            format!("listen.http_connect 127.0.0.1:{port}: another program has this port"),
        ),
        (
            "listen",
            "wrong",
            "listen.tproxy 192.0.2.77:4100: this machine does not have this address".into(),
        ),
        ("interface", "warning", "no interface no-such-lan".into()),
        ("status", "wrong", "status.state: there is no folder".into()),
    ] {
        let is_it =
            |it: &&Value| it["what"] == what && it["detail"].as_str().unwrap().contains(&detail);
        let found = all.iter().find(is_it).unwrap_or(&Value::Null);
        assert_eq!(found["verdict"], verdict, "{detail}: {all:?}");
    }
    // A gateway that runs would answer at this socket: the port is another program's.
    let socket = format!("[status]\nsocket = {:?}\n", world.path("near.sock"));
    std::fs::write(
        &config,
        format!("{before}http_connect = [\"127.0.0.1:{port}\"]\n{socket}"),
    )
    .unwrap();
    let (status, found, _) = check(&config, &["--offline"]);
    let all = found["findings"].as_array().unwrap();
    let found = all.iter().find(|it| it["what"] == "listen").unwrap();
    assert_eq!(
        (status, &found["verdict"]),
        (Some(1), &"wrong".into()),
        "{all:?}"
    );
}
