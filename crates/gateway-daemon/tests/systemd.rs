//! The daemon as systemd starts it: it says when it is ready, feeds the watchdog, and takes its key from the credentials.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::time::Duration;

const PROGRAM: &str = env!("CARGO_BIN_EXE_bentpipe-gateway");

#[test]
fn systemd_hears_of_the_start_and_of_each_answer_and_gives_the_key() {
    let folder = tempfile::tempdir().unwrap();
    let credentials = folder.path().join("credentials");
    fs::create_dir(&credentials).unwrap();
    let key = |name: &str| {
        let made = Command::new(PROGRAM)
            .args(["keys", credentials.join(name).to_str().unwrap()])
            .output()
            .unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let (_, near) = (key("gateway.key"), key("near.key"));
    // A port that was free a moment ago, for TCP and UDP.
    let port = loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = tcp.local_addr().unwrap();
        if UdpSocket::bind(at).is_ok() {
            break at.port();
        }
    };
    // There is no such key beside the configuration.
    let config = folder.path().join("gateway.toml");
    let text = format!(
        "role = \"far\"\nkey = \"gateway.key\"\n[peer]\nkey = \"{near}\"\n[path]\nrate = \"fair\"\n[listen]\npeer = \"127.0.0.1:{port}\"\n"
    );
    fs::write(&config, text).unwrap();
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut daemon = Command::new(PROGRAM)
        .args(["far", "--config", config.to_str().unwrap()])
        .env("NOTIFY_SOCKET", &socket)
        .env("WATCHDOG_USEC", "400000")
        .env("CREDENTIALS_DIRECTORY", &credentials)
        .spawn()
        .unwrap();
    let mut heard = Vec::new();
    let mut says = |what: &str| {
        let mut message = [0; 1000];
        // An end without what is looked for ends the wait.
        while let Ok(length) = manager.recv(&mut message) {
            let message = String::from_utf8_lossy(&message[..length]).into_owned();
            heard.push(message.clone());
            if message.contains(what) {
                return true;
            }
        }
        false
    };
    let ready = says("READY=1") && says("WATCHDOG=1") && says("WATCHDOG=1");
    let told = Command::new("kill").arg(daemon.id().to_string()).status();
    let stopping = says("STOPPING=1");
    let status = daemon.wait().unwrap();
    assert!(ready && stopping && told.unwrap().success(), "{heard:?}");
    assert!(status.success());
}
