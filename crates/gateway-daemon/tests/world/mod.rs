//! Both daemons, started as programs, between a client and a server on the loopback device.
#![allow(dead_code, reason = "each test takes a part of it")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_bentpipe-gateway");
pub const PATIENCE: Duration = Duration::from_secs(30);

pub fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A port that was free a moment ago, for TCP and UDP.
pub fn free() -> u16 {
    loop {
        let tcp = TcpListener::bind(any()).unwrap();
        let at = tcp.local_addr().unwrap();
        if UdpSocket::bind(at).is_ok() {
            return at.port();
        }
    }
}

pub fn program(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A daemon, which ends with its test.
pub struct Daemon {
    pub child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Daemon {
    pub fn start(role: &str, config: &Path) -> Self {
        let daemon = Self::begin(role, config);
        daemon.says("ready");
        daemon
    }

    /// It may not be ready yet.
    pub fn begin(role: &str, config: &Path) -> Self {
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
        Self { child, lines }
    }

    pub fn says(&self, what: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE).expect("a line");
            if line.contains(what) {
                return line;
            }
        }
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    pub fn terminate(mut self) -> bool {
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

pub struct World {
    folder: tempfile::TempDir,
    pub keys: [String; 2],
    pub far: u16,
    pub socks: u16,
    pub server: TcpListener,
}

impl World {
    pub fn new() -> Self {
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

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn near(&self) -> Daemon {
        Daemon::start("near", &self.near_config("100 Mbit/s", "", ""))
    }

    /// `status` is more of its section, and `more` further sections.
    pub fn near_config(&self, rate: &str, status: &str, more: &str) -> PathBuf {
        let config = format!(
            "role = \"near\"\nkey = \"near.key\"\n[peer]\naddress = \"localhost:{}\"\nkey = \"{}\"\n\
             [path]\nrate = \"{rate}\"\n[listen]\nsocks5 = [\"127.0.0.1:{}\"]\n\
             [status]\nsocket = \"{}\"\n{status}\n{more}\n",
            self.far,
            self.keys[1],
            self.socks,
            self.path("near.sock").display()
        );
        self.write("near.toml", &config)
    }

    pub fn far(&self, near_key: &str) -> Daemon {
        let port = self.server.local_addr().unwrap().port();
        let allow = format!("\"127.0.0.1 port {port}\"");
        Daemon::start("far", &self.far_config(near_key, &allow))
    }

    pub fn far_config(&self, near_key: &str, allow: &str) -> PathBuf {
        let config = format!(
            "role = \"far\"\nkey = \"far.key\"\n[peer]\nkey = \"{near_key}\"\n\
             [path]\nrate = \"100 Mbit/s\"\n[listen]\npeer = \"[::]:{}\"\n\
             [access]\nallow = [{allow}]\n[status]\nsocket = \"{}\"\n",
            self.far,
            self.path("far.sock").display()
        );
        self.write("far.toml", &config)
    }

    /// A connection by SOCKS to this port of `localhost`.
    pub fn client(&self, port: u16) -> TcpStream {
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

    pub fn exchange(&self) {
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
    pub fn until(&self, name: &str, figure: &str, is_right: impl Fn(u64) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !self.status(name)[figure].as_u64().is_some_and(&is_right) {
            assert!(Instant::now() < until, "{figure} of {name} is not right");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn status(&self, name: &str) -> serde_json::Value {
        let socket = self.path(name);
        let said = program(&["status", "--json", "--socket", socket.to_str().unwrap()]);
        assert!(said.status.success(), "{}", text(&said.stderr));
        serde_json::from_slice(&said.stdout).unwrap()
    }
}
