//! Packets per second through a plain pipe, and through one with each discipline.
//!
//! `cargo bench -p bentpipe-path`. Each iteration sends packets through a pipe that is warm: two arrive per time of
//! service for a while, then none until the queue is short again, so that queueing, dropping and idling all take part.

use bentpipe_path::config::{
    Discipline, JitterConfig, JitterDistribution, LossConfig, QueueLimit, ShaperConfig,
};
use bentpipe_path::{FlowKey, Nanos, Packet, Pipe, PipeConfig, SequenceRange, Time};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const PACKETS: u64 = 10_000;
const FLOWS: u64 = 16;
/// 1500 bytes in 12 us.
const RATE: u64 = 1_000_000_000;
const SERVICE: i64 = 12_000;

#[derive(Clone, Copy)]
struct Parcel {
    flow: u64,
    seq: u32,
    payload_bytes: u32,
}

impl Packet for Parcel {
    fn wire_bytes(&self) -> u32 {
        1500
    }
    fn flow(&self) -> FlowKey {
        FlowKey(self.flow)
    }
    fn segment(&self) -> Option<SequenceRange> {
        Some(SequenceRange {
            seq: self.seq,
            payload_bytes: self.payload_bytes,
            syn: false,
        })
    }
}

/// A pipe and where its traffic has come to.
struct Traffic {
    pipe: Pipe<Parcel>,
    now: Time,
    sent: u64,
}

impl Traffic {
    fn through(config: &PipeConfig) -> Self {
        let pipe = Pipe::new(config, 1500, 1, "down", Nanos::from_millis(100));
        Self {
            pipe: pipe.expect("the configuration is valid"),
            now: Time::ZERO,
            sent: 0,
        }
    }

    fn send(&mut self, packets: u64) {
        for _ in 0..packets {
            // 64 packets at twice the rate, then a pause as long.
            let pause = if self.sent.is_multiple_of(64) { 32 } else { 0 };
            self.now += Nanos(SERVICE / 2 + pause * SERVICE);
            // Every eighth segment of a flow covers the 64 before it, as retransmissions do in time.
            let segment = (self.sent / FLOWS) as u32;
            let covered = if segment.is_multiple_of(8) { 64 } else { 0 };
            let parcel = Parcel {
                flow: self.sent % FLOWS,
                seq: segment.wrapping_sub(covered).wrapping_mul(1448),
                payload_bytes: (covered + 1) * 1448,
            };
            self.sent += 1;
            self.pipe.push(self.now, parcel);
            while let Some(departure) = self.pipe.pop(self.now) {
                black_box(departure);
            }
        }
        self.pipe.take_bins();
    }
}

fn shaped(discipline: Discipline) -> PipeConfig {
    let mut config = PipeConfig {
        shaper: ShaperConfig::Fixed { rate_bit_s: RATE },
        ..PipeConfig::default()
    };
    config.queue.limit = QueueLimit::Packets { packets: 30 };
    config.queue.discipline = discipline;
    config.propagation.delay_ns = Nanos::from_millis(10);
    config
}

fn cases() -> Vec<(&'static str, PipeConfig)> {
    let mut delay_only = PipeConfig::default();
    delay_only.propagation.delay_ns = Nanos::from_millis(10);
    let mut lossy = shaped(Discipline::Fifo);
    lossy.channel.loss = LossConfig::GilbertElliott {
        p: 0.01,
        r: 0.25,
        good: 0.0,
        bad: 1.0,
    };
    let mut reordering = shaped(Discipline::Fifo);
    reordering.propagation.jitter = Some(JitterConfig {
        spread_ns: Nanos::from_millis(1),
        distribution: JitterDistribution::Normal,
        correlation: 0.25,
        reorder: true,
    });
    let mut bucket = shaped(Discipline::Fifo);
    bucket.shaper = ShaperConfig::TokenBucket {
        rate_bit_s: RATE,
        burst_bytes: 10_000,
        peak_bit_s: Some(2 * RATE),
    };
    let mut trace = shaped(Discipline::Fifo);
    trace.shaper = ShaperConfig::Trace {
        opportunities_ns: (1..=1000).map(|n| Nanos(n * SERVICE)).collect(),
    };
    vec![
        ("delay only", delay_only),
        ("fifo", shaped(Discipline::Fifo)),
        ("head drop", shaped(Discipline::HeadDrop)),
        (
            "red",
            shaped(Discipline::Red {
                min_bytes: None,
                max_bytes: None,
                max_probability: None,
                weight: None,
            }),
        ),
        (
            "codel",
            shaped(Discipline::Codel {
                target_ns: Some(Nanos::from_micros(100)),
                interval_ns: Some(Nanos::from_millis(1)),
            }),
        ),
        (
            "fq_codel",
            shaped(Discipline::FqCodel {
                target_ns: Some(Nanos::from_micros(100)),
                interval_ns: Some(Nanos::from_millis(1)),
                flows: None,
                quantum_bytes: None,
            }),
        ),
        (
            "pie",
            shaped(Discipline::Pie {
                target_ns: Some(Nanos::from_micros(100)),
                update_ns: None,
                alpha: None,
                beta: None,
                max_burst_ns: None,
            }),
        ),
        ("token bucket with a peak", bucket),
        ("trace", trace),
        ("burst loss", lossy),
        ("reordering jitter", reordering),
    ]
}

fn packets_through_a_pipe(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pipe");
    group.throughput(Throughput::Elements(PACKETS));
    for (name, config) in cases() {
        let mut traffic = Traffic::through(&config);
        traffic.send(PACKETS);
        group.bench_function(name, |bencher| bencher.iter(|| traffic.send(PACKETS)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1))
        .sample_size(20);
    targets = packets_through_a_pipe
}
criterion_main!(benches);
