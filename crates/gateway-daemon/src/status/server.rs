//! Who asks is answered: at the socket of `bentpipe-gateway status`, and at the address for Prometheus.

use super::model::{Standing, Totals};
use super::rates::Rates;
use crate::config::{Role, Status};
use bentpipe_gateway_host::Watch;
use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::warn;

/// A gateway that is busy answers in milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// systemd makes it for the units. A daemon that root starts by hand makes it itself.
const RUNTIME_FOLDER: &str = "/run/bentpipe-gateway";
/// A status has so many flows, and some hundred bytes for each flow and user.
const MOST_FLOWS: usize = 200;
const LONGEST: u64 = 1 << 20;

/// What answers are made of.
#[derive(Clone, Debug)]
pub struct Answers {
    pub role: Role,
    pub watch: Watch,
    /// What was counted before this start.
    pub before: Totals,
    pub rates: Arc<Mutex<Rates>>,
    /// Reloads that were followed, and that were refused.
    pub reloads: Arc<[AtomicU64; 2]>,
}

impl Answers {
    pub fn standing(&self) -> Option<Standing> {
        let report = self.watch.ask_in_detail(PATIENCE, MOST_FLOWS)?;
        let rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let mut standing = Standing::new(self.role, &report, &self.before, rates.bit_s());
        standing.reloads = self.reloads[0].load(Ordering::Relaxed);
        standing.reloads_refused = self.reloads[1].load(Ordering::Relaxed);
        Some(standing)
    }
}

/// Answers as long as it stands. The socket is removed then.
#[derive(Debug)]
pub struct Served {
    socket: Option<Socket>,
    prometheus: Option<Prometheus>,
}

impl Served {
    /// Answers at the socket and at the address that are configured, beside the gateway.
    pub fn new(status: &Status, answers: &Answers) -> Result<Self, String> {
        let prometheus = status.prometheus;
        let prometheus = prometheus.map(|at| Prometheus::new(at, answers.clone()));
        let socket = status.socket.as_deref();
        let socket = socket.map(|path| Socket::new(path, answers.clone()));
        Ok(Self {
            prometheus: prometheus.transpose()?,
            socket: socket.transpose()?,
        })
    }

    /// Answers where another configuration says. On an error it answers as before where it can.
    pub fn change(&mut self, status: &Status, answers: &Answers) -> Result<(), String> {
        let at = self.prometheus.as_ref().map(|it| it.at);
        if at != status.prometheus {
            let new = status.prometheus;
            let new = new.map(|at| Prometheus::new(at, answers.clone()));
            self.prometheus = new.transpose()?;
        }
        let path = self.socket.as_ref().map(|it| it.path.clone());
        if path != status.socket {
            let new = status.socket.as_deref();
            let new = new.map(|path| Socket::new(path, answers.clone()));
            self.socket = new.transpose()?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Socket {
    path: PathBuf,
    closing: Arc<AtomicBool>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        // The thread wakes up and ends. Somebody may have removed the socket.
        let _ = UnixStream::connect(&self.path);
        let _ = fs::remove_file(&self.path);
    }
}

impl Socket {
    fn new(path: &Path, answers: Answers) -> Result<Self, String> {
        let name = path.display();
        let wrong = |error: io::Error| format!("status.socket {name}: {error}");
        if UnixStream::connect(path).is_ok() {
            return Err(format!(
                "status.socket {name}: another gateway answers there"
            ));
        }
        // One that nobody answers at was left by a gateway that was killed.
        match fs::symlink_metadata(path) {
            Ok(about) if !std::os::unix::fs::FileTypeExt::is_socket(&about.file_type()) => {
                return Err(format!("status.socket {name}: it is another file"));
            }
            Ok(_) => fs::remove_file(path).map_err(wrong)?,
            Err(_) => {}
        }
        if path.parent() == Some(Path::new(RUNTIME_FOLDER)) {
            // Where that fails, the next line says it.
            let _ = fs::create_dir(RUNTIME_FOLDER);
        }
        let listener = UnixListener::bind(path).map_err(wrong)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(wrong)?;
        let closing = Arc::new(AtomicBool::new(false));
        let closes = Arc::clone(&closing);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if closes.load(Ordering::Relaxed) {
                    return;
                }
                if let Err(error) = stream.and_then(|stream| answer(stream, &answers)) {
                    warn!(%error, "a question for the status was not answered");
                }
            }
        });
        Ok(Self {
            path: path.to_owned(),
            closing,
        })
    }
}

fn answer(mut stream: UnixStream, answers: &Answers) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let standing = answers.standing();
    let standing = standing.ok_or_else(|| io::Error::other("the gateway did not answer"))?;
    stream.write_all(serde_json::to_string(&standing)?.as_bytes())
}

struct Prometheus {
    at: SocketAddr,
    server: Arc<tiny_http::Server>,
}

impl std::fmt::Debug for Prometheus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prometheus")
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

impl Prometheus {
    fn new(at: SocketAddr, answers: Answers) -> Result<Self, String> {
        let server = tiny_http::Server::http(at)
            .map_err(|error| format!("status.prometheus {at}: {error}"))?;
        let server = Arc::new(server);
        let serves = Arc::clone(&server);
        thread::spawn(move || {
            for request in serves.incoming_requests() {
                let standing = (request.url() == "/metrics").then(|| answers.standing());
                let answer = match standing {
                    None => tiny_http::Response::from_string("the figures are at /metrics\n")
                        .with_status_code(404),
                    Some(None) => tiny_http::Response::from_string("the gateway did not answer\n")
                        .with_status_code(503),
                    Some(Some(standing)) => metrics(&standing),
                };
                // Who asked may have left.
                let _ = request.respond(answer);
            }
        });
        Ok(Self { at, server })
    }
}

fn metrics(standing: &Standing) -> tiny_http::Response<io::Cursor<Vec<u8>>> {
    let kind =
        tiny_http::Header::from_bytes("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    let answer = tiny_http::Response::from_string(standing.prometheus());
    match kind {
        Ok(kind) => answer.with_header(kind),
        Err(()) => answer,
    }
}

/// Asks the gateway whose socket this is.
pub fn ask(path: &Path) -> Result<Standing, String> {
    let name = path.display();
    let mut stream = UnixStream::connect(path).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!("{name}: {error}. The gateway's user, or root, may ask"),
        _ => format!("{name}: no gateway answers there ({error}). Is it running, and is status.socket set in its configuration?"),
    })?;
    let mut text = String::new();
    stream
        .set_read_timeout(Some(2 * PATIENCE))
        .and_then(|()| (&mut stream).take(LONGEST).read_to_string(&mut text))
        .map_err(|error| format!("{name}: the gateway did not answer: {error}"))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("{name}: what answers is no gateway of this version: {error}"))
}
