//! Many channels over a satellite link, what they carried and what it cost: `channels CHANNELS RATE_MBIT RTT_MS QUEUE_KB
//! SECONDS [SEED]`.

use bentpipe_path::config::{PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Bin, Nanos, Time};
use bentpipe_sim::rows::{FlowOutcome, FlowRow};
use bentpipe_sim::seat::Side;
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{ChannelsSpec, WorkloadSpec};
use bentpipe_workloads::Distribution;

#[derive(Default)]
struct Sums {
    finished: u64,
    failed: u64,
    unfinished: u64,
    bytes: u64,
    retransmits: u64,
    queue: f64,
    bins: u32,
}

impl Sink for Sums {
    fn flow(&mut self, row: &FlowRow) {
        match row.outcome {
            FlowOutcome::Finished => self.finished += 1,
            FlowOutcome::Failed => self.failed += 1,
            FlowOutcome::Unfinished => self.unfinished += 1,
        }
        self.bytes += row.bytes;
        self.retransmits += row.retransmits;
    }
    fn bin(&mut self, to: Side, bin: &Bin) {
        if to == Side::Client {
            self.queue += bin.queue_bytes_mean;
            self.bins += 1;
        }
    }
}

fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: f64| {
        arguments
            .get(place)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let channels = number(0, 100.0) as u32;
    let rate_bit_s = (number(1, 16.0) * 1e6) as u64;
    let seconds = number(4, 600.0);
    let mut pipe = PipeConfig {
        shaper: ShaperConfig::Fixed { rate_bit_s },
        ..PipeConfig::default()
    };
    pipe.queue.limit = QueueLimit::Bytes {
        bytes: (number(3, 100.0) * 1e3) as u64,
    };
    pipe.propagation.delay_ns = Nanos((number(2, 550.0) * 5e5) as i64);
    let spec = SimSpec {
        down: pipe.clone(),
        up: pipe,
        seed: number(5, 1.0) as u64,
        workloads: vec![WorkloadSpec::Channels(ChannelsSpec {
            name: "clients".into(),
            start_ns: Time::ZERO,
            channels,
            servers: 23,
            size: Distribution::BoundedPareto {
                shape: 1.2,
                min: 1_500,
                max: 50_000_000,
            },
            terrestrial_delay: Distribution::Lognormal {
                median: 60_000_000,
                sigma: 0.8,
            },
            terrestrial_jitter_ns: Nanos::from_millis(5),
            think_ns: Nanos::ZERO,
        })],
        duration_ns: Some(Nanos((seconds * 1e9) as i64)),
        until_done: false,
        ..SimSpec::default()
    };
    let mut sums = Sums::default();
    let simulation = Simulation::new(spec)?;
    let summary = simulation.run(&mut sums);
    let down = &summary.totals[0];
    println!(
        "{channels} channels, {seconds} s: {} flows finished, {} failed, {} unfinished; throughput {:.2} Mbit/s, carried {:.2} Mbit/s, {} retransmits, {} dropped, queue {:.0} B; {} events, {} kB at most",
        sums.finished,
        sums.failed,
        sums.unfinished,
        down.delivered.bytes as f64 * 8e-6 / seconds,
        sums.bytes as f64 * 8e-6 / seconds,
        sums.retransmits,
        down.offered.packets - down.delivered.packets,
        sums.queue / f64::from(sums.bins.max(1)),
        summary.events,
        peak_memory_kb().unwrap_or(0),
    );
    Ok(())
}
