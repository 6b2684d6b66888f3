//! Both daemons, started as programs, between a client and a server on the loopback device.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bentpipe-gateway");
const PATIENCE: Duration = Duration::from_secs(30);

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A port that was free a moment ago, for TCP and UDP.
fn free() -> u16 {
    loop {
        let tcp = TcpListener::bind(any()).unwrap();
        let at = tcp.local_addr().unwrap();
        if UdpSocket::bind(at).is_ok() {
            return at.port();
        }
    }
}

fn program(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A daemon, which ends with its test.
struct Daemon {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Daemon {
    fn start(role: &str, config: &Path) -> Self {
        let mut child = Command::new(PROGRAM)
            .args([role, "--config", config.to_str().unwrap()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        let daemon = Self { child, lines };
        daemon.says("ready");
        daemon
    }

    fn says(&self, what: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a line");
            if line.contains(what) {
                return line;
            }
        }
    }

    fn terminate(mut self) -> bool {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        self.says("stopped");
        self.child.wait().unwrap().success()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct World {
    folder: tempfile::TempDir,
    keys: [String; 2],
    far: u16,
    socks: u16,
    server: TcpListener,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = ["near", "far"].map(|name| {
            let key = folder.path().join(format!("{name}.key"));
            let made = program(&["keys", key.to_str().unwrap()]);
            assert!(made.status.success());
            text(&made.stdout).trim().to_owned()
        });
        let server = TcpListener::bind(any()).unwrap();
        Self {
            folder,
            keys,
            far: free(),
            socks: free(),
            server,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn near(&self) -> Daemon {
        let config = format!(
            "role = \"near\"\nkey = \"near.key\"\n[peer]\naddress = \"localhost:{}\"\nkey = \"{}\"\n\
             [path]\nrate = \"100 Mbit/s\"\n[listen]\nsocks5 = [\"127.0.0.1:{}\"]\n\
             [status]\nsocket = \"{}\"\n",
            self.far,
            self.keys[1],
            self.socks,
            self.path("near.sock").display()
        );
        Daemon::start("near", &self.write("near.toml", &config))
    }

    fn far(&self, near_key: &str) -> Daemon {
        let config = format!(
            "role = \"far\"\nkey = \"far.key\"\n[peer]\nkey = \"{near_key}\"\n\
             [path]\nrate = \"100 Mbit/s\"\n[listen]\npeer = \"[::]:{}\"\n\
             [access]\nallow = [\"127.0.0.1 port {}\"]\n[status]\nsocket = \"{}\"\n",
            self.far,
            self.server.local_addr().unwrap().port(),
            self.path("far.sock").display()
        );
        Daemon::start("far", &self.write("far.toml", &config))
    }

    /// A connection by SOCKS to this port of `localhost`.
    fn client(&self, port: u16) -> TcpStream {
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, self.socks)).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut asks = b"\x05\x01\x00\x05\x01\x00\x03\x09localhost".to_vec();
        asks.extend_from_slice(&port.to_be_bytes());
        client.write_all(&asks).unwrap();
        let mut answer = [0; 12];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer[..4], [5, 0, 5, 0]);
        client
    }

    fn exchange(&self) {
        let mut client = self.client(self.server.local_addr().unwrap().port());
        client.write_all(b"question").unwrap();
        let (mut server, _) = self.server.accept().unwrap();
        let mut heard = [0; 8];
        server.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"question");
        server.write_all(b"answer").unwrap();
        drop(server);
        let mut heard = Vec::new();
        client.read_to_end(&mut heard).unwrap();
        assert_eq!(heard, b"answer");
    }

    /// Waits until a figure of the status is right.
    fn until(&self, name: &str, figure: &str, is_right: impl Fn(u64) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !self.status(name)[figure].as_u64().is_some_and(&is_right) {
            assert!(Instant::now() < until, "{figure} of {name} is not right");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn status(&self, name: &str) -> serde_json::Value {
        let socket = self.path(name);
        let said = program(&["status", "--json", "--socket", socket.to_str().unwrap()]);
        assert!(said.status.success(), "{}", text(&said.stderr));
        serde_json::from_slice(&said.stdout).unwrap()
    }
}

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
