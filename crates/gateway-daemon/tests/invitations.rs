//! `bentpipe-gateway pair`, with both ends as programs.

mod world;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use world::{PATIENCE, PROGRAM, free, program, text};

/// Far, which has printed its invitation.
fn invite(folder: &Path, port: u16, minutes: &str) -> (Child, String) {
    let address = format!("localhost:{port}");
    let config = folder.join("far.toml");
    let mut far = Command::new(PROGRAM)
        .args([
            "pair",
            "--invite",
            &address,
            "--minutes",
            minutes,
            "--rate",
            "10 Mbit/s",
            "--config",
        ])
        .arg(config)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(far.stdout.as_mut().unwrap());
    out.read_line(&mut line).unwrap();
    (far, line.trim().to_owned())
}

fn take(folder: &Path, name: &str, invitation: &str) -> Output {
    // A careful administrator's umask.
    Command::new("sh")
        .args([
            "-c",
            "umask 077; exec \"$@\"",
            "sh",
            PROGRAM,
            "pair",
            invitation,
            "--config",
        ])
        .arg(folder.join(name))
        .output()
        .unwrap()
}

fn said(child: &mut Child) -> (bool, String) {
    let status = child.wait().unwrap();
    let mut error = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut error)
        .unwrap();
    (status.success(), error)
}

#[test]
fn two_gateways_that_were_paired_have_right_configurations_and_carry_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let port = free();
    let (mut far, invitation) = invite(folder.path(), port, "5");
    // Strangers: one that says nothing, one that speaks no TLS, one without the secret.
    let silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut noise = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    noise.write_all(&[7; 3000]).unwrap();
    let last = if invitation.ends_with('0') { "1" } else { "0" };
    let wrong = format!("{}{last}", &invitation[..invitation.len() - 1]);
    let refused = take(folder.path(), "wrong.toml", &wrong);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("far refuses: the secret is wrong"));
    assert!(!folder.path().join("wrong.toml").exists());
    let taken = take(folder.path(), "near.toml", &invitation);
    assert!(taken.status.success(), "{}", text(&taken.stderr));
    let (success, error) = said(&mut far);
    assert!(success, "{error}");
    // Which one far refuses first is chance.
    for why in ["the secret is wrong", "InvalidContentType", "(2 so far)"] {
        assert!(error.contains(why), "{why}: {error}");
    }
    drop(silent);
    // Nobody waits any more, and what was written stays.
    let again = take(folder.path(), "again.toml", &invitation);
    assert!(text(&again.stderr).contains("the invitation was used or has expired"));
    for name in ["near", "far"] {
        let config = folder.path().join(format!("{name}.toml"));
        let mode = fs::metadata(&config).unwrap().permissions().mode();
        assert!(name == "far" || mode & 0o777 == 0o644, "{mode:o}");
        let key = fs::metadata(config.with_extension("key")).unwrap();
        assert_eq!(key.permissions().mode() & 0o777, 0o600);
        let socket = folder.path().join(format!("{name}.sock"));
        let config_text = fs::read_to_string(&config).unwrap();
        let config_text = config_text
            .replace(
                "/run/bentpipe-gateway/status.sock",
                socket.to_str().unwrap(),
            )
            .replace("127.0.0.1:1080", &format!("127.0.0.1:{}", free()));
        fs::write(&config, config_text).unwrap();
        let right = program(&["check", "--config", config.to_str().unwrap()]);
        assert!(right.status.success(), "{}", text(&right.stderr));
    }
    let _far = world::Daemon::start("far", &folder.path().join("far.toml"));
    let _near = world::Daemon::start("near", &folder.path().join("near.toml"));
    let begun = std::time::Instant::now();
    let socket = folder.path().join("near.sock");
    loop {
        let shown = program(&["status", "--json", "--socket", socket.to_str().unwrap()]);
        let status: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        if status["connected"] == true {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{status}");
    }
}

#[test]
fn an_invitation_that_was_taken_is_refused_to_another_key() {
    use bentpipe_carrier::identity::Identity;
    use bentpipe_carrier::tls::{Carrier, Config};
    use bentpipe_gateway_daemon::invitation::Invitation;
    let folder = tempfile::tempdir().unwrap();
    let port = free();
    let (mut far, word) = invite(folder.path(), port, "5");
    let invitation: Invitation = word.parse().unwrap();
    // Near's own first try, whose answer is lost: far goes on waiting for it.
    let own = Identity::generate();
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let mut carrier = Carrier::near(Config::default(), invitation.key, &own);
    let mut buffer = [0; 4096];
    let mut has_sent = false;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    loop {
        let mut out = Vec::new();
        carrier.poll_bytes(&mut out);
        stream.write_all(&out).unwrap();
        match carrier.poll_event() {
            Some(bentpipe_carrier::Event::Connected { .. }) => {
                let message = [&[1], &invitation.secret.0[..]].concat();
                carrier.send_control(&message).unwrap();
                has_sent = true;
                continue;
            }
            Some(bentpipe_carrier::Event::Control(answer)) => {
                assert!(has_sent && answer[..] == [2]);
                break;
            }
            other => assert!(other.is_none(), "{other:?}"),
        }
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0);
        carrier.handle_bytes(&buffer[..length]);
    }
    drop(stream);
    let replayed = take(folder.path(), "thief.toml", &word);
    let error = text(&replayed.stderr);
    assert!(
        error.contains("far refuses: the invitation was used before"),
        "{error}"
    );
    assert!(!folder.path().join("thief.key").exists());
    // The same key may come again.
    fs::write(folder.path().join("near.key"), own.to_pem()).unwrap();
    let taken = take(folder.path(), "near.toml", &word);
    assert!(taken.status.success(), "{}", text(&taken.stderr));
    let (success, error) = said(&mut far);
    assert!(success && error.contains("used before"), "{error}");
    let written = fs::read_to_string(folder.path().join("far.toml")).unwrap();
    assert!(written.contains(&own.public().to_string()));
}

#[test]
fn a_late_invitation_is_refused_and_a_far_with_another_key_gets_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let port = free();
    let (mut far, word) = invite(folder.path(), port, "0.01");
    let (success, error) = said(&mut far);
    assert!(
        !success && error.contains("has expired, and nobody took it"),
        "{error}"
    );
    let late = take(folder.path(), "near.toml", &word);
    assert!(!late.status.success());
    // Nothing of either try stays.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // Somebody else answers at far's address.
    let other = tempfile::tempdir().unwrap();
    let (mut false_far, _) = invite(other.path(), port, "0.05");
    let taken = take(folder.path(), "near.toml", &word);
    assert!(!taken.status.success());
    assert!(
        text(&taken.stderr).contains("expected"),
        "{}",
        text(&taken.stderr)
    );
    assert!(!said(&mut false_far).0);
}

#[test]
fn nothing_is_written_over_and_mistakes_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("far.toml");
    fs::write(&config, "mine").unwrap();
    let there = config.to_str().unwrap();
    for (arguments, expected) in [
        (
            vec!["pair", "--invite", "localhost:1", "--config", there],
            "it exists already",
        ),
        (
            vec!["pair", "--invite", "localhost"],
            "expected a name or an address with its port",
        ),
        (
            vec!["pair", "hello", "--config", there],
            "this is no invitation",
        ),
        (
            vec!["pair", "bentpipe1,a:1,b,c", "--config", there],
            "cut short or changed",
        ),
    ] {
        let said = program(&arguments);
        assert_eq!(said.status.code(), Some(1));
        let error = text(&said.stderr);
        assert!(
            error.contains(expected) && error.lines().count() == 1,
            "{error}"
        );
    }
    assert_eq!(fs::read_to_string(&config).unwrap(), "mine");
    let wrong = program(&[
        "pair",
        "--invite",
        "localhost:1",
        "--rate",
        "soon",
        "--config",
        folder.path().join("x.toml").to_str().unwrap(),
    ]);
    assert!(text(&wrong.stderr).contains("got \"soon\", expected a rate"));
}
