//! What the live datapath carries and how late it is, on this machine: `make bench-live`.
//!
//! Each figure comes from real programs (iperf3, ping) in two namespaces made for it; 5 seconds each. Needs root
//! or `unshare --user --map-root-user --net` around it.

mod bed;
mod plain;
mod tunnel;

use bed::{Bed, VNET_BYTES};
use bentpipe_base::topology::Link;
use bentpipe_live::datapath::{
    self, Capture, Datapath, DatapathReport, DatapathSpec, PipeError, TunnelSetup,
};
use bentpipe_path::config::{PipeConfig, PropagationConfig, QueueConfig, QueueLimit, ShaperConfig};
use bentpipe_path::time::Nanos;
use std::io;
use std::time::Duration;

type Error = Box<dyn std::error::Error>;

/// Seconds of iperf3 for each figure.
const SECONDS: u32 = 5;
const PINGS: usize = 15;

fn main() -> Result<(), Error> {
    machine()?;
    let only: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |section: &str| only.is_empty() || only.iter().any(|it| it == section);
    if wanted("throughput") {
        throughput()?;
    }
    if wanted("tunnel") {
        tunnel::throughput()?;
    }
    if wanted("lateness") {
        lateness()?;
    }
    if wanted("ping") {
        pings()?;
    }
    Ok(())
}

/// What the figures were taken on, and what else was running.
fn machine() -> Result<(), Error> {
    let read = std::fs::read_to_string::<&str>;
    let cpus = read("/proc/cpuinfo")?;
    let models: Vec<&str> = cpus
        .lines()
        .filter_map(|line| line.strip_prefix("model name\t: "))
        .collect();
    println!(
        "Linux {}, {} x {}, load average {}\n",
        read("/proc/sys/kernel/osrelease")?.trim(),
        models.len(),
        models.first().unwrap_or(&"unknown"),
        read("/proc/loadavg")?.trim()
    );
    Ok(())
}

fn pipe(delay: Nanos, rate_bit_s: Option<u64>) -> PipeConfig {
    PipeConfig {
        shaper: rate_bit_s.map_or(ShaperConfig::Unlimited, |rate_bit_s| ShaperConfig::Fixed {
            rate_bit_s,
        }),
        queue: QueueConfig {
            // Room for 40 ms.
            limit: rate_bit_s.map_or(QueueLimit::Unlimited, |rate| QueueLimit::Bytes {
                bytes: (rate / 8 / 25).max(30_000),
            }),
            ..QueueConfig::default()
        },
        propagation: PropagationConfig {
            delay_ns: delay,
            ..PropagationConfig::default()
        },
        ..PipeConfig::default()
    }
}

fn start(bed: &Bed, rtt: Nanos, rate_bit_s: Option<u64>) -> io::Result<Datapath> {
    start_pipe(bed, pipe(Nanos(rtt.0 / 2), rate_bit_s), None)
}

/// Both directions are alike.
fn start_pipe(bed: &Bed, pipe: PipeConfig, tunnel: Option<TunnelSetup>) -> io::Result<Datapath> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    datapath::start(DatapathSpec {
        link: Link::Path,
        client: bed.client.device.try_clone()?,
        server: bed.server.device.try_clone()?,
        vnet_header_bytes: VNET_BYTES,
        down: pipe.clone(),
        up: pipe,
        tunnel,
        decoded: None,
        servers: Vec::new(),
        mtu: 1500,
        seed: 1,
        bin: Nanos::from_millis(100),
        zero_monotonic_ns: now.tv_sec * 1_000_000_000 + now.tv_nsec,
        link_csv: Some(std::env::var_os("LINK_CSV").map_or("/dev/null".into(), Into::into)),
        client_pcap: std::env::var_os("PCAP").map(|file| Capture {
            host: "client",
            file: file.into(),
        }),
        server_pcap: None,
    })
}

/// One stream from the client to the server.
struct Iperf {
    received_bit_s: f64,
    retransmits: u64,
    cpu_s_per_gbit: f64,
    dropped: u64,
}

fn iperf(bed: &Bed) -> Result<Iperf, Error> {
    let before = cpu_s();
    let mut server = bed.server.spawn("iperf3 -s -1")?;
    std::thread::sleep(Duration::from_millis(300));
    let text = bed
        .client
        .output(&format!("iperf3 -c 10.77.0.2 -J -t {SECONDS}"))?;
    let _ = server.kill();
    server.wait()?;
    let report: serde_json::Value = serde_json::from_str(&text)?;
    if let Some(error) = report["error"].as_str() {
        return Err(format!("iperf3: {error}").into());
    }
    let received = &report["end"]["sum_received"];
    let bits = received["bytes"].as_f64().unwrap_or_default() * 8.0;
    Ok(Iperf {
        received_bit_s: received["bits_per_second"].as_f64().unwrap_or_default(),
        retransmits: report["end"]["sum_sent"]["retransmits"]
            .as_u64()
            .unwrap_or_default(),
        cpu_s_per_gbit: (cpu_s() - before) / (bits / 1e9),
        dropped: bed.client.dropped()? + bed.server.dropped()?,
    })
}

/// Processor time of this process and of the programs that it has waited for.
fn cpu_s() -> f64 {
    [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN]
        .map(|who| {
            // SAFETY: an rusage of zeros is valid, and getrusage fills it.
            let usage = unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                libc::getrusage(who, &raw mut usage);
                usage
            };
            [usage.ru_utime, usage.ru_stime]
                .map(|it| it.tv_sec as f64 + it.tv_usec as f64 / 1e6)
                .iter()
                .sum::<f64>()
        })
        .iter()
        .sum()
}

fn throughput() -> Result<(), Error> {
    println!(
        "one iperf3 stream, {SECONDS} s          Gbit/s  CPU s/Gbit  retransmits  lost outside the model"
    );
    let show = |name: &str, iperf: &Iperf, lost: u64| {
        println!(
            "{name:<30} {:>8.2} {:>11.3} {:>12} {:>23}",
            iperf.received_bit_s / 1e9,
            iperf.cpu_s_per_gbit,
            iperf.retransmits,
            lost + iperf.dropped
        );
    };
    let bed = Bed::new()?;
    let copier = plain::start(&bed)?;
    let plain = iperf(&bed)?;
    copier.stop()?;
    show("plain copy loop", &plain, 0);
    for rtt_ms in [0, 20] {
        let bed = Bed::new()?;
        let path = start(&bed, Nanos::from_millis(rtt_ms), None)?;
        let iperf = iperf(&bed)?;
        let report = finish(path)?;
        let all = report.engine_error().all;
        show(
            &format!("bentpipe, {rtt_ms} ms of RTT"),
            &iperf,
            all.unintended_loss,
        );
        println!(
            "{:>30} headroom {:.2}; lateness p50 {:.0} p99 {:.0} max {:.0} us; {:.1} segments/write; {:.0} % of the plain loop",
            "",
            all.cpu_headroom,
            all.lateness_us_p50,
            all.lateness_us_p99,
            all.lateness_us_max,
            report.up.totals.delivered.packets as f64 / report.up.writes.max(1) as f64,
            100.0 * iperf.received_bit_s / plain.received_bit_s
        );
    }
    println!();
    Ok(())
}

fn finish(path: Datapath) -> Result<DatapathReport, Error> {
    if let Some(trouble) = path.trouble() {
        return Err(trouble.into());
    }
    Ok(path.stop()?)
}

fn lateness() -> Result<(), Error> {
    println!(
        "departures, RTT 20 ms   lateness us p50     p99      max   rate error  lost  headroom  goodput Mbit/s"
    );
    for mbit in [1, 16, 100, 1000] {
        let bed = Bed::new()?;
        let path = start(&bed, Nanos::from_millis(20), Some(mbit * 1_000_000))?;
        let iperf = iperf(&bed)?;
        let report = finish(path)?;
        let PipeError {
            lateness_us_p50,
            lateness_us_p99,
            lateness_us_max,
            rate_error,
            unintended_loss,
            cpu_headroom,
            ..
        } = report.up.error();
        println!(
            "{:>12} Mbit/s {lateness_us_p50:>20.0} {lateness_us_p99:>7.0} {lateness_us_max:>8.0} {:>11} {:>5} {cpu_headroom:>9.2} {:>15.2}",
            mbit,
            rate_error.map_or("-".to_owned(), |error| format!("{:.4} %", error * 100.0)),
            unintended_loss + iperf.dropped,
            iperf.received_bit_s / 1e6
        );
    }
    println!();
    Ok(())
}

/// Each ping alone, with its summary's three decimals: the line of a reply shows three digits and no more.
fn pings() -> Result<(), Error> {
    println!("{PINGS} pings, error of the RTT in us      min  median     max");
    let bed = Bed::new()?;
    let copier = plain::start(&bed)?;
    ping(&bed, "plain loop", 0)?;
    copier.stop()?;
    for rtt_us in [0, 11_000, 30_000, 150_000, 550_000] {
        let bed = Bed::new()?;
        let path = start(&bed, Nanos::from_micros(rtt_us), None)?;
        ping(&bed, &format!("{} ms", rtt_us as f64 / 1e3), rtt_us)?;
        finish(path)?;
    }
    Ok(())
}

fn ping(bed: &Bed, name: &str, rtt_us: i64) -> Result<(), Error> {
    let mut errors = Vec::new();
    for _ in 0..PINGS {
        let text = bed.client.output("ping -q -c 1 10.77.0.2")?;
        let shortest = text
            .split("mdev = ")
            .nth(1)
            .and_then(|it| it.split('/').next());
        let Some(ms) = shortest.and_then(|it| it.parse::<f64>().ok()) else {
            return Err(format!("ping gave no time:\n{text}").into());
        };
        errors.push(ms * 1e3 - rtt_us as f64);
        std::thread::sleep(Duration::from_millis(100));
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "{name:>27} {:>14.0} {:>7.0} {:>7.0}",
        errors[0],
        errors[errors.len() / 2],
        errors[errors.len() - 1]
    );
    Ok(())
}
