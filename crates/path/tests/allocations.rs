//! Nothing is allocated per packet once a pipe is warm.

mod common;

use bentpipe_path::config::{
    Discipline, JitterConfig, JitterDistribution, LossConfig, QueueLimit, RateStep, ShaperConfig,
};
use bentpipe_path::{Nanos, PipeConfig, SequenceRange, Time};
use common::{MS, Parcel, RATE, fixed, pipe, shaped_by};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came; the counter is a thread's own and needs no
// allocation itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises about `layout` are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from `alloc` above, hence from `System`, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn disciplines() -> Vec<Discipline> {
    vec![
        Discipline::Fifo,
        Discipline::HeadDrop,
        Discipline::Red {
            min_bytes: Some(3_000),
            max_bytes: Some(20_000),
            max_probability: None,
            weight: None,
        },
        Discipline::Codel {
            target_ns: Some(Nanos(2 * MS)),
            interval_ns: Some(Nanos(10 * MS)),
        },
        Discipline::FqCodel {
            target_ns: Some(Nanos(2 * MS)),
            interval_ns: Some(Nanos(10 * MS)),
            flows: None,
            quantum_bytes: None,
        },
        Discipline::Pie {
            target_ns: Some(Nanos(2 * MS)),
            update_ns: None,
            alpha: None,
            beta: None,
            max_burst_ns: Some(Nanos(0)),
        },
    ]
}

fn shapers() -> Vec<ShaperConfig> {
    vec![
        ShaperConfig::Unlimited,
        ShaperConfig::TokenBucket {
            rate_bit_s: RATE,
            burst_bytes: 3_000,
            peak_bit_s: Some(2 * RATE),
        },
        ShaperConfig::Trace {
            opportunities_ns: (1..=100).map(|n| Nanos(n * MS)).collect(),
        },
        ShaperConfig::Steps {
            steps: (0..100)
                .map(|n| RateStep {
                    at_ns: Time(n * 100 * MS),
                    rate_bit_s: Some(RATE),
                })
                .collect(),
        },
    ]
}

/// Bursts of several flows with gaps in what they carry, then a pause: the queue fills, overflows and empties.
fn allocations_once_warm(config: &PipeConfig) -> u64 {
    let mut pipe = pipe(config);
    let mut now = Time(1_000 * MS);
    let mut send = |bursts: u64| {
        for burst in 0..bursts {
            for n in 0..20_u32 {
                let mut parcel = Parcel::new(burst, 1500).of_flow(u64::from(n % 5)).capable();
                // Segments arrive out of order; the first and last of a burst send again what was lost of late.
                let behind = if (5..15).contains(&n) { 0 } else { 30_000 };
                parcel.segment = Some(SequenceRange {
                    seq: (now.0 / MS) as u32 * 100 + n * 100 - behind,
                    payload_bytes: behind + 100,
                    syn: false,
                });
                pipe.push(now, parcel);
            }
            now += Nanos(18 * MS);
            while pipe.pop(now).is_some() {}
            pipe.take_bins();
        }
    };
    send(400);
    let before = ALLOCATIONS.get();
    send(400);
    ALLOCATIONS.get() - before
}

#[test]
fn no_discipline_allocates_per_packet_once_warm() {
    for discipline in disciplines() {
        let mut config = fixed(QueueLimit::Packets { packets: 15 }, 30);
        config.queue.discipline = discipline;
        config.queue.ecn = true;
        assert_eq!(allocations_once_warm(&config), 0, "{discipline:?}");
    }
}

#[test]
fn no_shaper_allocates_per_packet_once_warm() {
    for shaper in shapers() {
        let mut config = shaped_by(shaper);
        config.queue.limit = QueueLimit::Packets { packets: 15 };
        assert_eq!(allocations_once_warm(&config), 0, "{:?}", config.shaper);
    }
}

#[test]
fn neither_the_line_nor_the_channel_allocates_per_packet_once_warm() {
    for reorder in [false, true] {
        let mut config = fixed(QueueLimit::Packets { packets: 15 }, 30);
        config.propagation.jitter = Some(JitterConfig {
            spread_ns: Nanos(5 * MS),
            distribution: JitterDistribution::Normal,
            correlation: 0.25,
            reorder,
        });
        config.channel.loss = LossConfig::Bernoulli { p: 0.05 };
        config.channel.duplicate = 0.05;
        config.channel.corrupt = 0.05;
        assert_eq!(allocations_once_warm(&config), 0, "reorder: {reorder}");
    }
}
