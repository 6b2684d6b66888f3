//! A run's memory is what is under way, not what has been.

use bentpipe_path::config::{PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::{FlowOutcome, FlowRow};
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{ChannelsSpec, WorkloadSpec};
use bentpipe_workloads::Distribution;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Weighing;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it came; the sum is a thread's own and needs no allocation
// itself.
unsafe impl GlobalAlloc for Weighing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.with(|held| held.set(held.get().wrapping_add(layout.size())));
        // SAFETY: the caller's promises about `layout` are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.with(|held| held.set(held.get().wrapping_sub(layout.size())));
        // SAFETY: `memory` came from `alloc` above, hence from `System`, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Weighing = Weighing;

#[derive(Default)]
struct Count {
    finished: u64,
    held_at: Vec<usize>,
}

impl Sink for Count {
    fn flow(&mut self, row: &FlowRow) {
        self.finished += u64::from(row.outcome == FlowOutcome::Finished);
        if row.flow % 25_000 == 24_999 {
            self.held_at.push(HELD.with(Cell::get));
        }
    }
}

#[test]
fn a_hundred_thousand_flows_leave_no_memory_behind() {
    let mut path = PipeConfig {
        shaper: ShaperConfig::Fixed {
            rate_bit_s: 100_000_000,
        },
        ..PipeConfig::default()
    };
    path.queue.limit = QueueLimit::Bytes { bytes: 100_000 };
    path.propagation.delay_ns = Nanos::from_millis(5);
    let channels = ChannelsSpec {
        name: "clients".into(),
        start_ns: Time::ZERO,
        channels: 200,
        servers: 5,
        size: Distribution::Constant { value: 3_000 },
        terrestrial_delay: Distribution::Constant { value: 1_000_000 },
        terrestrial_jitter_ns: Nanos::from_micros(100),
        think_ns: Nanos::ZERO,
    };
    let spec = SimSpec {
        down: path.clone(),
        up: path,
        workloads: vec![WorkloadSpec::Channels(channels)],
        duration_ns: Some(Nanos::from_secs(40)),
        ..SimSpec::default()
    };
    let mut count = Count::default();
    Simulation::new(spec).expect("valid").run(&mut count);
    assert!(count.finished > 100_000, "{}", count.finished);
    let (first, last) = (count.held_at[0], count.held_at[count.held_at.len() - 1]);
    assert!(last < first + first / 4, "{:?}", count.held_at);
}
