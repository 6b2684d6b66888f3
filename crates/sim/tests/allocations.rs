//! Nothing is allocated per packet once a run is warm.

use bentpipe_base::Direction;
use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Bin, Nanos, Time};
use bentpipe_sim::seat::Side;
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::WorkloadSpec;
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

/// Counts packets and allocations from `warm` on.
struct Watch {
    warm: Time,
    at_warm: u64,
    packets: u64,
}

impl Sink for Watch {
    fn bin(&mut self, to: Side, bin: &Bin) {
        if bin.start < self.warm {
            self.at_warm = ALLOCATIONS.with(Cell::get);
        } else if to == Side::Client {
            self.packets += bin.throughput_packets;
        }
    }
}

fn per_packet(control: &str, loss: f64, sack: bool) -> f64 {
    let mut pipe = PipeConfig {
        shaper: ShaperConfig::Fixed {
            rate_bit_s: 50_000_000,
        },
        ..PipeConfig::default()
    };
    pipe.queue.limit = QueueLimit::Bytes { bytes: 250_000 };
    pipe.propagation.delay_ns = Nanos::from_millis(20);
    let mut down = pipe.clone();
    down.channel.loss = LossConfig::Bernoulli { p: loss };
    let mut spec = SimSpec {
        down,
        up: pipe,
        workloads: vec![WorkloadSpec::Bulk {
            start_ns: Time::ZERO,
            direction: Direction::Down,
            streams: 3,
            size_bytes: None,
            time_ns: Some(Nanos::from_secs(20)),
            omit_ns: Nanos::ZERO,
        }],
        sample_interval_ns: Some(Nanos::from_millis(100)),
        ..SimSpec::default()
    };
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.congestion_control = control.into();
        host.tcp.sack = sack;
    }
    let mut watch = Watch {
        warm: Time::ZERO + Nanos::from_secs(8),
        at_warm: 0,
        packets: 0,
    };
    Simulation::new(spec)
        .expect("a valid specification")
        .run(&mut watch);
    assert!(watch.packets > 5_000, "{} packets", watch.packets);
    (ALLOCATIONS.with(Cell::get) - watch.at_warm) as f64 / watch.packets as f64
}

#[test]
fn a_warm_run_allocates_nothing_per_packet() {
    for control in ["reno", "cubic", "bbr", "hybla"] {
        for (loss, sack) in [(0.0, true), (0.002, true), (0.002, false)] {
            // A ring may still grow now and then; a packet may not.
            let each = per_packet(control, loss, sack);
            assert!(
                each < 0.001,
                "{control}, loss {loss}, sack {sack}: {each} allocations per packet"
            );
        }
    }
}
