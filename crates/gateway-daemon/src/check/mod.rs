//! `bentpipe-gateway check`: the configuration, what the daemon needs of this machine, and the path to far.

mod machine;
mod path;

use crate::config::{Loaded, Role};
use crate::quantity;
use crate::setup::{carrier, check_memory, header_bytes, session};
use bentpipe_gateway_host::probe::Direction;
use machine::machine;
use path::path;
use serde::Serialize;
use std::fs;
use std::net::{IpAddr, Ipv6Addr};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// capabilities(7)
const CAP_NET_ADMIN: u32 = 12;
/// 1 January 2024: a clock that is before it was never set.
const CLOCK_LEAST: Duration = Duration::from_hours(473_352);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Right,
    /// It works, but should be looked at; or it could not be found out.
    Warning,
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    pub what: &'static str,
    pub verdict: Verdict,
    pub detail: String,
}

/// One direction of the path.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Measured {
    pub packets_sent: u64,
    pub packets_came: u64,
    pub loss: f64,
    /// Of IP packets, as they came.
    pub bit_s: f64,
}

impl From<Direction> for Measured {
    fn from(of: Direction) -> Self {
        Self {
            packets_sent: of.sent,
            packets_came: of.came,
            loss: 1.0 - (of.came as f64 / of.sent.max(1) as f64).min(1.0),
            bit_s: of.bit_s,
        }
    }
}

/// What was measured of the path.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Path {
    pub round_trip_ms_least: Option<f64>,
    pub round_trip_ms_median: Option<f64>,
    pub round_trip_ms_most: Option<f64>,
    pub udp_payload_bytes: u16,
    pub clock_difference_s: Option<f64>,
    pub to_far: Option<Measured>,
    pub from_far: Option<Measured>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub findings: Vec<Finding>,
    pub path: Option<Path>,
}

/// What is asked of a check.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Without: only if far answers. `None`: never.
    pub path: Option<bool>,
    /// Where the configuration names no rate.
    pub rate_bit_s: Option<u64>,
}

impl Report {
    fn add(&mut self, what: &'static str, verdict: Verdict, detail: impl Into<String>) {
        self.findings.push(Finding {
            what,
            verdict,
            detail: detail.into(),
        });
    }

    pub fn is_wrong(&self) -> bool {
        self.findings.iter().any(|it| it.verdict == Verdict::Wrong)
    }

    /// For a person.
    pub fn text(&self) -> String {
        let line = |it: &Finding| {
            let mark = match it.verdict {
                Verdict::Right => "",
                Verdict::Warning => "warning: ",
                Verdict::Wrong => "wrong: ",
            };
            format!("{:<14}{mark}{}\n", it.what, it.detail)
        };
        self.findings.iter().map(line).collect()
    }
}

/// Looks at all of it. `say` hears beforehand what will be sent.
pub fn check(loaded: &Loaded, wanted: Wanted, mut say: impl FnMut(&str)) -> Report {
    let mut report = Report {
        findings: Vec::new(),
        path: None,
    };
    let file = &loaded.file;
    let whole = session(loaded, header_bytes(IpAddr::V6(Ipv6Addr::UNSPECIFIED)));
    report.add("configuration", Verdict::Right, "it is right");
    report.add("role", Verdict::Right, file.role.to_string());
    let key = loaded.identity.public().to_string();
    report.add("public key", Verdict::Right, key);
    for warning in &loaded.warnings {
        report.add("key", Verdict::Warning, warning);
    }
    let memory = whole.memory_bytes(carrier(file).certain_datagram() as u32);
    match check_memory(loaded, &whole) {
        Ok(()) => report.add(
            "memory",
            Verdict::Right,
            format!("up to {} MB for the session", memory.div_ceil(1_000_000)),
        ),
        Err(error) => report.add("memory", Verdict::Wrong, error),
    }
    clock(&mut report);
    privileges(loaded, &mut report);
    machine(loaded, &mut report);
    match (file.role, wanted.path) {
        (Role::Near, Some(required)) => path(loaded, required, wanted, &mut report, &mut say),
        (Role::Far, Some(true)) => report.add(
            "path",
            Verdict::Warning,
            "near measures it: run `bentpipe-gateway check --path` there, while far runs here and near does not",
        ),
        _ => {}
    }
    report
}

fn clock(report: &mut Report) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    if now.is_ok_and(|now| now > CLOCK_LEAST) {
        report.add("clock", Verdict::Right, "it is set");
    } else {
        let detail = "it was never set: logs will have wrong times. Sessions do not need it";
        report.add("clock", Verdict::Warning, detail);
    }
}

/// Whether this process has a capability.
fn has_capability(number: u32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> number & 1 == 1)
}

fn runs(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    let command = command.arg(argument).stdout(Stdio::null());
    command
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success())
}

fn privileges(loaded: &Loaded, report: &mut Report) {
    let file = &loaded.file;
    if file.router.is_none() && file.listen.tproxy.is_empty() && file.tun.is_none() {
        return report.add("privileges", Verdict::Right, "none are needed");
    }
    if has_capability(CAP_NET_ADMIN) {
        report.add("privileges", Verdict::Right, "CAP_NET_ADMIN is here");
    } else {
        let detail = "CAP_NET_ADMIN is missing here, and listen.tproxy, [router] and [tun] need it: run the check as root. Near's systemd unit grants it to the service";
        report.add("privileges", Verdict::Wrong, detail);
    }
    if file.tun.is_some() {
        tun(file.role, report);
    }
    if file.router.is_some() || file.tun.is_some() {
        for (program, argument, package) in
            [("nft", "--version", "nftables"), ("ip", "-V", "iproute2")]
        {
            if !runs(program, argument) {
                let detail = format!("{program} is missing: install the package {package}");
                report.add("programs", Verdict::Wrong, detail);
            }
        }
    }
}

/// What `[tun]` needs beside privileges.
fn tun(role: Role, report: &mut Report) {
    if !std::path::Path::new("/dev/net/tun").exists() {
        let detail = "/dev/net/tun is missing: `modprobe tun`";
        report.add("tun", Verdict::Wrong, detail);
    }
    let filter = fs::read_to_string("/proc/sys/net/ipv4/conf/all/rp_filter");
    if role == Role::Near && filter.is_ok_and(|it| it.trim() == "1") {
        let detail = "net.ipv4.conf.all.rp_filter is 1: answers that come in at the device are dropped. Set it to 2 or 0";
        report.add("tun", Verdict::Warning, detail);
    }
}

/// The value of `--rate`.
pub fn rate(text: &str) -> Result<u64, String> {
    quantity::rate(text).map_err(|error| error.to_string())
}

/// The command. 1: something is wrong; 2: the configuration is.
pub fn run(config: &std::path::Path, wanted: Wanted, json: bool) -> Result<(), (String, u8)> {
    let loaded = Loaded::read(config).map_err(|error| (error.to_string(), 2))?;
    let report = check(&loaded, wanted, |what| eprintln!("{what}"));
    if json {
        let text = serde_json::to_string(&report).map_err(|error| (error.to_string(), 1))?;
        println!("{text}");
    } else {
        print!("{}", report.text());
    }
    if report.is_wrong() {
        return Err((
            format!("{}: something is wrong; see above", config.display()),
            1,
        ));
    }
    Ok(())
}
