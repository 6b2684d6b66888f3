//! What a gateway says of itself: `bentpipe-gateway status`, its JSON, and Prometheus' text format.

use crate::config::{Role, Status};
use bentpipe_gateway_host::{CarrierKind, Report, Watch};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tracing::warn;

/// A gateway that is busy answers in milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);
/// Statuses are some hundred bytes.
const LONGEST: u64 = 1 << 20;

/// How a gateway stands. Counts are since it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    pub role: Role,
    pub version: String,
    pub up_s: f64,
    /// There is a session with the other gateway.
    pub connected: bool,
    /// Sessions that began: more than one where a gateway began anew or an outage lasted longer than the session does.
    pub sessions: u64,
    /// Connections of the carrier, and handshakes that failed or were refused.
    pub carrier_connections: u64,
    /// Of them, TLS over TCP: taken where UDP gets no answer.
    pub carrier_tls_connections: u64,
    pub carrier_refused: u64,
    pub carrier_last_end: Option<String>,
    /// What the session goes over: "quic" or "tls over tcp".
    pub carrier: Option<String>,
    pub round_trip_ms: Option<f64>,
    /// The share that the path loses, as this gateway finds by what the other one reports.
    pub loss: f64,
    /// Hosts' connections: open now, opened from here, opened by the other gateway, reset, and destinations that could not be reached.
    pub open_connections: u64,
    pub opened: u64,
    pub accepted: u64,
    pub resets: u64,
    pub connect_failures: u64,
    /// Hosts' UDP associations that are open, and those that got no socket.
    pub associations: u64,
    pub associations_failed: u64,
    /// Datagrams that hosts gave, and that they were given.
    pub datagrams_sent: u64,
    pub datagrams_delivered: u64,
    /// Datagrams that the access list does not allow; that came from strangers, or were no requests of SOCKS that are taken (fragments, names);
    /// and that waited for too long or had no room, here or in the kernel.
    pub datagrams_refused: u64,
    pub datagrams_invalid: u64,
    pub datagrams_dropped: u64,
    /// Payload that hosts gave, and that they were given.
    pub sent_bytes: u64,
    pub delivered_bytes: u64,
    /// Packets to the other gateway: new ones, repairs sent beforehand, and those sent again.
    pub packets: u64,
    pub repairs: u64,
    pub sent_again: u64,
    /// Packets that came and found this machine's buffer full.
    pub receive_overflow: u64,
    /// Time that the sender could not use: the machine was too slow or too busy.
    pub held_up_s: f64,
}

impl Standing {
    pub fn new(role: Role, of: &Report) -> Self {
        let session = &of.session;
        let (datagrams, hosts) = (&session.datagrams, &of.associations);
        Self {
            role,
            version: env!("CARGO_PKG_VERSION").into(),
            up_s: of.ran.as_secs_f64(),
            connected: of.connected,
            sessions: session.sessions,
            carrier_connections: of.carrier.connections,
            carrier_tls_connections: of.carrier.tls_connections,
            carrier_refused: of.carrier.refused,
            carrier_last_end: of.carrier.last_end.clone(),
            carrier: of.carrier.kind.map(|kind| {
                let name = match kind {
                    CarrierKind::Quic => "quic",
                    CarrierKind::Tls => "tls over tcp",
                };
                name.into()
            }),
            round_trip_ms: session
                .round_trip
                .map(|time| time.0 as f64 / 1e6)
                .or_else(|| of.carrier.round_trip.map(|time| time.as_secs_f64() * 1e3)),
            loss: session.channel_loss,
            open_connections: of.open,
            opened: session.opened,
            accepted: session.accepted,
            resets: session.resets,
            connect_failures: of.connect_failures,
            associations: hosts.open,
            associations_failed: hosts.failed,
            datagrams_sent: datagrams.sent,
            datagrams_delivered: datagrams.delivered,
            datagrams_refused: hosts.refused,
            datagrams_invalid: hosts.invalid(),
            datagrams_dropped: datagrams.dropped_old
                + datagrams.dropped_full
                + datagrams.not_taken
                + hosts.without_flow
                + hosts.unsent,
            sent_bytes: session.sent_bytes,
            delivered_bytes: session.delivered_bytes,
            packets: session.sender.sources,
            repairs: session.sender.repairs,
            sent_again: session.sender.exact_repairs,
            receive_overflow: of.udp.overflow,
            held_up_s: of.held_up.as_secs_f64(),
        }
    }

    /// For a person: one fact per line.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |name: &str, value: String| {
            let _ = writeln!(out, "{name:<22}{value}");
        };
        line(
            "gateway",
            format!(
                "{}, version {}, up {}",
                self.role,
                self.version,
                duration(self.up_s)
            ),
        );
        line(
            "session",
            if self.connected {
                let over = self.carrier.as_deref();
                over.map_or("waits for the other gateway".into(), |over| {
                    format!("connected over {over}")
                })
            } else {
                let why = self.carrier_last_end.as_deref();
                format!(
                    "not connected{}",
                    why.map_or(String::new(), |why| format!(": {why}"))
                )
            },
        );
        let round_trip = self.round_trip_ms;
        line(
            "round trip",
            round_trip.map_or("not known yet".into(), |ms| format!("{ms:.1} ms")),
        );
        line("loss of the path", format!("{:.2} %", 100.0 * self.loss));
        line(
            "connections",
            format!(
                "{} open; {} opened here, {} by the other gateway, {} reset, {} not reached",
                self.open_connections,
                self.opened,
                self.accepted,
                self.resets,
                self.connect_failures
            ),
        );
        line(
            "UDP",
            format!(
                "{} associations open; {} datagrams from hosts, {} to hosts, {} refused, {} invalid, {} dropped",
                self.associations,
                self.datagrams_sent,
                self.datagrams_delivered,
                self.datagrams_refused,
                self.datagrams_invalid,
                self.datagrams_dropped
            ),
        );
        line("from hosts", bytes(self.sent_bytes));
        line("to hosts", bytes(self.delivered_bytes));
        let all = self.packets + self.repairs + self.sent_again;
        let extra = (self.repairs + self.sent_again) as f64 / (all.max(1) as f64);
        line(
            "packets sent",
            format!(
                "{all}, of them {:.1} % repairs ({} beforehand, {} on request)",
                100.0 * extra,
                self.repairs,
                self.sent_again
            ),
        );
        if self.receive_overflow > 0 {
            line(
                "lost in this machine",
                format!(
                    "{} packets: a larger net.core.rmem_max helps",
                    self.receive_overflow
                ),
            );
        }
        if self.held_up_s > 0.01 * self.up_s {
            line(
                "held up",
                format!(
                    "{:.1} s: this machine is too busy for the rate",
                    self.held_up_s
                ),
            );
        }
        out
    }

    /// Prometheus' text format, version 0.0.4.
    pub fn prometheus(&self) -> String {
        let mut out = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, value: f64| {
            let _ = writeln!(
                out,
                "# HELP bentpipe_gateway_{name} {help}\n# TYPE bentpipe_gateway_{name} {kind}\nbentpipe_gateway_{name}{{role=\"{}\"}} {value}",
                self.role
            );
        };
        metric(
            "up_seconds",
            "gauge",
            "Time since the gateway began.",
            self.up_s,
        );
        metric(
            "connected",
            "gauge",
            "1: there is a session with the other gateway.",
            f64::from(self.connected),
        );
        metric(
            "sessions_total",
            "counter",
            "Sessions that began.",
            self.sessions as f64,
        );
        metric(
            "carrier_refused_total",
            "counter",
            "Handshakes that failed or were refused.",
            self.carrier_refused as f64,
        );
        if let Some(ms) = self.round_trip_ms {
            metric(
                "round_trip_seconds",
                "gauge",
                "Round trip to the other gateway.",
                ms / 1e3,
            );
        }
        metric(
            "loss_ratio",
            "gauge",
            "Share of packets that the path loses.",
            self.loss,
        );
        metric(
            "open_connections",
            "gauge",
            "Hosts' connections that are open.",
            self.open_connections as f64,
        );
        metric(
            "opened_total",
            "counter",
            "Connections opened from here.",
            self.opened as f64,
        );
        metric(
            "accepted_total",
            "counter",
            "Connections opened by the other gateway.",
            self.accepted as f64,
        );
        metric(
            "resets_total",
            "counter",
            "Connections that were reset.",
            self.resets as f64,
        );
        metric(
            "connect_failures_total",
            "counter",
            "Destinations that could not be reached.",
            self.connect_failures as f64,
        );
        self.udp_metrics(&mut metric);
        metric(
            "sent_bytes_total",
            "counter",
            "Payload that hosts gave.",
            self.sent_bytes as f64,
        );
        metric(
            "delivered_bytes_total",
            "counter",
            "Payload that hosts were given.",
            self.delivered_bytes as f64,
        );
        metric(
            "packets_total",
            "counter",
            "New packets sent to the other gateway.",
            self.packets as f64,
        );
        metric(
            "repairs_total",
            "counter",
            "Repairs sent beforehand.",
            self.repairs as f64,
        );
        metric(
            "sent_again_total",
            "counter",
            "Packets sent again on request.",
            self.sent_again as f64,
        );
        metric(
            "receive_overflow_total",
            "counter",
            "Packets lost in this machine's receive buffer.",
            self.receive_overflow as f64,
        );
        metric(
            "held_up_seconds_total",
            "counter",
            "Time that the sender could not use.",
            self.held_up_s,
        );
        out
    }
}

impl Standing {
    fn udp_metrics(&self, metric: &mut impl FnMut(&str, &str, &str, f64)) {
        metric(
            "associations",
            "gauge",
            "Hosts' UDP associations that are open.",
            self.associations as f64,
        );
        for (name, help, value) in [
            (
                "associations_failed_total",
                "Associations that got no socket.",
                self.associations_failed,
            ),
            (
                "datagrams_sent_total",
                "Datagrams that hosts gave.",
                self.datagrams_sent,
            ),
            (
                "datagrams_delivered_total",
                "Datagrams that hosts were given.",
                self.datagrams_delivered,
            ),
            (
                "datagrams_refused_total",
                "Datagrams that the access list does not allow.",
                self.datagrams_refused,
            ),
            (
                "datagrams_invalid_total",
                "Datagrams of strangers, and requests of SOCKS that are not taken.",
                self.datagrams_invalid,
            ),
            (
                "datagrams_dropped_total",
                "Datagrams that waited for too long or had no room.",
                self.datagrams_dropped,
            ),
        ] {
            metric(name, "counter", help, value as f64);
        }
    }
}

fn duration(seconds: f64) -> String {
    let whole = seconds as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

fn bytes(count: u64) -> String {
    let value = count as f64;
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.2} GB", value / 1e9),
    }
}

/// The socket of `status`; it is removed when this is dropped.
#[derive(Debug)]
pub struct Served(Option<PathBuf>);

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Somebody may have removed it.
            let _ = fs::remove_file(path);
        }
    }
}

/// Answers at the socket and at the address that are configured, beside the gateway.
pub fn serve(status: &Status, role: Role, watch: Watch) -> Result<Served, String> {
    if let Some(at) = status.prometheus {
        serve_prometheus(at, role, watch.clone())?;
    }
    let Some(path) = &status.socket else {
        return Ok(Served(None));
    };
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
    let listener = UnixListener::bind(path).map_err(wrong)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(wrong)?;
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answered = stream.and_then(|mut stream| {
                stream.set_write_timeout(Some(PATIENCE))?;
                let report = watch.ask(PATIENCE);
                let report =
                    report.ok_or_else(|| io::Error::other("the gateway did not answer"))?;
                let text = serde_json::to_string(&Standing::new(role, &report))?;
                stream.write_all(text.as_bytes())
            });
            if let Err(error) = answered {
                warn!(%error, "a question for the status was not answered");
            }
        }
    });
    Ok(Served(Some(path.clone())))
}

fn serve_prometheus(at: SocketAddr, role: Role, watch: Watch) -> Result<(), String> {
    let server =
        tiny_http::Server::http(at).map_err(|error| format!("status.prometheus {at}: {error}"))?;
    thread::spawn(move || {
        for request in server.incoming_requests() {
            let report = (request.url() == "/metrics").then(|| watch.ask(PATIENCE));
            let answer = match report {
                None => tiny_http::Response::from_string("the figures are at /metrics\n")
                    .with_status_code(404),
                Some(None) => tiny_http::Response::from_string("the gateway did not answer\n")
                    .with_status_code(503),
                Some(Some(report)) => {
                    tiny_http::Response::from_string(Standing::new(role, &report).prometheus())
                }
            };
            // Who asked may have left.
            let _ = request.respond(answer);
        }
    });
    Ok(())
}

/// Asks the gateway whose socket this is.
pub fn ask(path: &Path) -> Result<Standing, String> {
    let name = path.display();
    let mut stream = UnixStream::connect(path).map_err(|error| {
        format!("{name}: no gateway answers there ({error}). Is it running, and is status.socket set in its configuration?")
    })?;
    let mut text = String::new();
    stream
        .set_read_timeout(Some(2 * PATIENCE))
        .and_then(|()| (&mut stream).take(LONGEST).read_to_string(&mut text))
        .map_err(|error| format!("{name}: the gateway did not answer: {error}"))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("{name}: what answers is no gateway of this version: {error}"))
}
