//! How fast the simulator is on this machine: `make bench-sim`. Each case runs in a process of its own, so that its peak
//! memory is its own; CPU time is that of the simulation alone. Results go nowhere; what the tables cost is said at the
//! end (`tables` as argument: only that).

use bentpipe_base::Direction;
use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::record::Question;
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Discard;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{ChannelsSpec, WorkloadSpec};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::fs::File;
use std::ops::ControlFlow;
use std::process::Command;

/// One path and the downloads over it.
#[derive(Clone, Copy, Debug)]
struct Case {
    rate_mbit_s: u64,
    rtt_ms: i64,
    flows: u32,
    /// In all, else as long as `seconds`.
    size_bytes: Option<u64>,
    seconds: i64,
    loss: f64,
    control: &'static str,
    /// `flows` clients with one connection after another, as in the published satellite link.
    channels: bool,
}

const PLAIN: Case = Case {
    rate_mbit_s: 100,
    rtt_ms: 100,
    flows: 1,
    size_bytes: None,
    seconds: 30,
    loss: 0.0,
    control: "cubic",
    channels: false,
};

/// How often a case is done alone and with its tables.
const PAIRS: usize = 5;

fn cases() -> Vec<(String, Case)> {
    let mut found = vec![
        (
            "40 MB at 16 Mbit/s, 500 ms".into(),
            Case {
                rate_mbit_s: 16,
                rtt_ms: 500,
                size_bytes: Some(40_000_000),
                seconds: 600,
                ..PLAIN
            },
        ),
        (
            "100 channels at 16 Mbit/s, 500 ms, 600 s".into(),
            Case {
                rate_mbit_s: 16,
                rtt_ms: 500,
                flows: 100,
                seconds: 600,
                channels: true,
                ..PLAIN
            },
        ),
        (
            "one flow, 1 Gbit/s, 100 ms, 60 s".into(),
            Case {
                rate_mbit_s: 1000,
                seconds: 60,
                ..PLAIN
            },
        ),
        (
            "one flow, 10 Gbit/s, 100 ms, 10 s".into(),
            Case {
                rate_mbit_s: 10_000,
                seconds: 10,
                ..PLAIN
            },
        ),
        (
            "1000 flows, 1 Gbit/s, 100 ms, 10 s".into(),
            Case {
                rate_mbit_s: 1000,
                flows: 1000,
                seconds: 10,
                ..PLAIN
            },
        ),
    ];
    for (rate_mbit_s, seconds) in [(1, 300), (10, 100), (100, 30), (1000, 10), (10_000, 5)] {
        let case = Case {
            rate_mbit_s,
            seconds,
            ..PLAIN
        };
        found.push((format!("rate {rate_mbit_s} Mbit/s"), case));
    }
    for (rate_mbit_s, seconds) in [(1, 300), (10, 100), (100, 30), (1000, 10), (10_000, 5)] {
        let case = Case {
            rate_mbit_s,
            seconds,
            loss: 1e-3,
            control: "bbr",
            ..PLAIN
        };
        found.push((format!("rate {rate_mbit_s} Mbit/s, bbr, loss 1e-3"), case));
    }
    for rtt_ms in [1, 10, 100, 1000] {
        found.push((format!("RTT {rtt_ms} ms"), Case { rtt_ms, ..PLAIN }));
    }
    for flows in [1, 10, 100, 1000] {
        found.push((format!("{flows} flows"), Case { flows, ..PLAIN }));
    }
    found
}

/// The lab file's own example of channels.
fn channels(count: u32) -> serde_json::Result<ChannelsSpec> {
    serde_json::from_value(json!({
        "name": "clients",
        "start_ns": 0,
        "channels": count,
        "servers": 23,
        "size": {"distribution": "bounded-pareto", "shape": 1.2, "min": 1500, "max": 50_000_000},
        "terrestrial_delay": {"distribution": "lognormal", "median": 60_000_000, "sigma": 0.8},
        "terrestrial_jitter_ns": 5_000_000,
        "think_ns": 0,
    }))
}

fn spec(case: &Case) -> serde_json::Result<SimSpec> {
    let rate_bit_s = case.rate_mbit_s * 1_000_000;
    let bdp_bytes = rate_bit_s / 8 * case.rtt_ms as u64 / 1000;
    let mut down = PipeConfig {
        shaper: ShaperConfig::Fixed { rate_bit_s },
        ..PipeConfig::default()
    };
    down.queue.limit = QueueLimit::Bytes {
        bytes: bdp_bytes.max(15_000),
    };
    down.propagation.delay_ns = Nanos::from_micros(case.rtt_ms * 500);
    let up = down.clone();
    if case.loss > 0.0 {
        down.channel.loss = LossConfig::Bernoulli { p: case.loss };
    }
    let mut spec = SimSpec {
        down,
        up,
        workloads: vec![WorkloadSpec::Bulk {
            start_ns: Time::ZERO,
            direction: Direction::Down,
            streams: case.flows,
            size_bytes: case.size_bytes,
            time_ns: case
                .size_bytes
                .is_none()
                .then_some(Nanos::from_secs(case.seconds)),
            omit_ns: Nanos::ZERO,
        }],
        duration_ns: Some(Nanos::from_secs(case.seconds)),
        ..SimSpec::default()
    };
    // The path is to limit, not the buffers.
    let buffer = (bdp_bytes * 8).max(33_554_432);
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.congestion_control = case.control.into();
        host.tcp.tcp_rmem[2] = buffer;
        host.tcp.tcp_wmem[2] = buffer;
    }
    if case.channels {
        spec.workloads = vec![WorkloadSpec::Channels(channels(case.flows)?)];
    }
    Ok(spec)
}

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// `VmHWM` of /proc/self/status, in MB.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}

fn run(name: &str, case: &Case) -> Result<(), Box<dyn std::error::Error>> {
    let simulation = Simulation::new(spec(case)?)?;
    let (began, memory) = (cpu_s(), peak_mb());
    let summary = simulation.run(&mut Discard);
    let cpu = cpu_s() - began;
    let packets = summary.totals[0].delivered.packets;
    let simulated = summary.ended.as_secs_f64();
    println!(
        "{name:45} {packets:>10} {:>12.0} {cpu:>8.2} {:>10.0} {:>8.1} {:>6.2}",
        packets as f64 / cpu,
        simulated / cpu,
        peak_mb().unwrap_or(f64::NAN) - memory.unwrap_or(f64::NAN),
        summary.events as f64 / packets as f64,
    );
    Ok(())
}

/// What the tables cost, at the usual 100 ms between samples: the simulation alone and with all its tables in files, in
/// turn, medians.
fn with_tables(name: &str, case: &Case) -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("bentpipe-bench-sim-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let mut sampled = spec(case)?;
    sampled.sample_interval_ns = Some(Nanos::from_millis(100));
    let names = ["download".into()];
    let (mut alone, mut with) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let simulation = Simulation::new(spec(case)?)?;
        let began = cpu_s();
        simulation.run(&mut Discard);
        alone.push(cpu_s() - began);
        let began = cpu_s();
        bentpipe_sim::record::run(
            &sampled,
            &names,
            &Question::default(),
            |file| File::create(folder.join(file)),
            &mut |_| ControlFlow::Continue(()),
        )?;
        with.push(cpu_s() - began);
    }
    let bytes = std::fs::metadata(folder.join("sockets.parquet"))?.len();
    std::fs::remove_dir_all(&folder)?;
    let [alone, with] = [alone, with].map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[PAIRS / 2]
    });
    println!(
        "{name:45} {alone:>10.3} {with:>12.3} {:>8.2} {:>10.1}",
        with / alone,
        bytes as f64 / 1e6
    );
    Ok(())
}

/// Each case in a process of its own.
fn each(cases: &[(String, Case)]) -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "{:45} {:>10} {:>12} {:>8} {:>10} {:>8} {:>6}",
        "", "packets", "packets/CPU s", "CPU s", "sim/CPU", "peak MB", "events/packet"
    );
    for (number, (name, _)) in cases.iter().enumerate() {
        let ended = Command::new(std::env::current_exe()?)
            .arg(number.to_string())
            .status()?;
        if !ended.success() {
            return Err(format!("{name}: {ended}").into());
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cases = cases();
    let only_tables = std::env::args().nth(1).is_some_and(|it| it == "tables");
    if let Some(number) = std::env::args().nth(1).filter(|_| !only_tables) {
        let (name, case) = &cases[number.parse::<usize>()?];
        return run(name, case);
    }
    if !only_tables {
        each(&cases)?;
    }
    println!(
        "\n{:45} {:>10} {:>12} {:>8} {:>10}",
        "CPU s, median of 5", "alone", "all tables", "times", "sockets MB"
    );
    for (name, case) in &cases[..2] {
        with_tables(name, case)?;
    }
    println!("The aim is 1.3 times.");
    Ok(())
}
