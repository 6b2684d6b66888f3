//! One bulk transfer, its goodput and what the sender saw: `bulk RATE_MBIT RTT_MS QUEUE_BDP LOSS CC SECONDS [STREAMS]`.

use bentpipe_base::Direction;
use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Bin, Nanos, Time};
use bentpipe_sim::rows::{FlowRow, SocketRow};
use bentpipe_sim::seat::Side;
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::WorkloadSpec;

#[derive(Default)]
struct Print {
    verbose: bool,
    goodput: f64,
    retransmits: u64,
    queue: f64,
    bins: u32,
}

impl Sink for Print {
    fn flow(&mut self, row: &FlowRow) {
        let seconds = row
            .end
            .map_or(f64::NAN, |end| (end - row.start).as_secs_f64());
        self.goodput += row.bytes as f64 * 8e-6 / seconds;
        self.retransmits += row.retransmits;
    }
    fn bin(&mut self, to: Side, bin: &Bin) {
        if to == Side::Client {
            self.queue += bin.queue_bytes_mean;
            self.bins += 1;
        }
    }
    fn socket(&mut self, row: &SocketRow) {
        if self.verbose {
            let s = &row.sample;
            println!(
                "{:8.3} {:?} {} cwnd {} ssthresh {:?} out {} sacked {} lost {} retr {} srtt {:.1} rto {:.0} min {:?} snd_wnd {} rcv_ssthresh {} rcvbuf {} space {} sndbuf {} wmem {} notsent {} acked {} retx {} rcvd {} ooo {} busy {:.2} rwnd {:.2} snd {:.2} pace {:?}",
                row.time.as_secs_f64(),
                row.host,
                s.ca_state,
                s.cwnd_segments,
                s.ssthresh_segments,
                s.unacked_segments,
                s.sacked_segments,
                s.lost_segments,
                s.retrans_segments,
                s.srtt.as_secs_f64() * 1e3,
                s.rto.as_secs_f64() * 1e3,
                s.min_rtt.map(|m| m.0 / 1_000_000),
                s.snd_wnd_bytes,
                s.rcv_ssthresh_bytes,
                s.rcvbuf_bytes,
                s.rcv_space_bytes,
                s.sndbuf_bytes,
                s.wmem_queued_bytes,
                s.notsent_bytes,
                s.bytes_acked,
                s.retransmits,
                s.bytes_received,
                s.rcv_ooopack,
                s.busy.as_secs_f64(),
                s.rwnd_limited.as_secs_f64(),
                s.sndbuf_limited.as_secs_f64(),
                s.pacing_rate_bit_s
            );
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: f64| {
        arguments
            .get(place)
            .and_then(|text| text.parse().ok())
            .unwrap_or(default)
    };
    let rate = (number(0, 16.0) * 1e6) as u64;
    let rtt = (number(1, 100.0) * 1e6) as i64;
    let bdp = number(2, 1.0);
    let loss = number(3, 0.0);
    let control = arguments.get(4).cloned().unwrap_or_else(|| "cubic".into());
    let seconds = number(5, 30.0);
    let streams = number(6, 1.0) as u32;
    let set = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let queue = (rate as f64 / 8e9 * rtt as f64 * bdp) as u64;
    let mut down = PipeConfig::default();
    if rate > 0 {
        down.shaper = ShaperConfig::Fixed { rate_bit_s: rate };
        down.queue.limit = QueueLimit::Bytes { bytes: queue };
    }
    down.propagation.delay_ns = Nanos(rtt / 2);
    let up = down.clone();
    if loss > 0.0 {
        down.channel.loss = LossConfig::Bernoulli { p: loss };
    }
    let mut spec = SimSpec {
        down,
        up,
        seed: set("SEED").unwrap_or(1),
        workloads: vec![WorkloadSpec::Bulk {
            start_ns: Time::ZERO,
            direction: Direction::Down,
            streams,
            size_bytes: None,
            time_ns: Some(Nanos((seconds * 1e9) as i64)),
            omit_ns: Nanos::ZERO,
        }],
        ..SimSpec::default()
    };
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.congestion_control = control.as_str().into();
        host.tcp.sack = set("SACK").unwrap_or(1) == 1;
        if let Some(bytes) = set("RMEM") {
            host.tcp.tcp_rmem[2] = bytes;
        }
        if let Some(bytes) = set("WMEM") {
            host.tcp.tcp_wmem[2] = bytes;
        }
    }
    let mut print = Print {
        verbose: set("V").is_some(),
        ..Print::default()
    };
    if print.verbose {
        spec.sample_interval_ns = Some(Nanos(set("V").unwrap_or(100) as i64 * 1_000_000));
    }
    let simulation = Simulation::new(spec)?;
    let summary = simulation.run(&mut print);
    let packets = summary.totals[0].delivered.packets;
    println!(
        "{control} {rate} bit/s {} ms {bdp} bdp loss {loss}: {:.3} Mbit/s, {} retransmits, queue {:.0} B, {packets} packets, {} events",
        rtt / 1_000_000,
        print.goodput,
        print.retransmits,
        print.queue / f64::from(print.bins.max(1)),
        summary.events
    );
    Ok(())
}
