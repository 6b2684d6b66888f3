//! The workloads `http`, `channels`, `interactive` and `call` against closed forms, and what they promise: the same rows for the same seed, every
//! flow a row, a thousand channels at a gigabit.

mod call;
mod channels;
mod http;
mod interactive;
mod iperf3;
mod near;
mod rivals;
mod sampling;

use bentpipe_path::Nanos;
use bentpipe_path::config::{PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_sim::rows::FlowRow;
use bentpipe_sim::simulation::{Simulation, Summary};
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::WorkloadSpec;

const MSS: u64 = 1448;

#[derive(Default)]
struct Flows(Vec<FlowRow>);

impl Sink for Flows {
    fn flow(&mut self, row: &FlowRow) {
        self.0.push(row.clone());
    }
}

fn pipe(rate_bit_s: u64, delay_ms: i64, queue: u64) -> PipeConfig {
    let mut pipe = PipeConfig::default();
    if rate_bit_s > 0 {
        pipe.shaper = ShaperConfig::Fixed { rate_bit_s };
        pipe.queue.limit = QueueLimit::Bytes { bytes: queue };
    }
    pipe.propagation.delay_ns = Nanos::from_millis(delay_ms);
    pipe
}

fn spec(pipe: PipeConfig, work: WorkloadSpec, seconds: Option<i64>) -> SimSpec {
    let mut spec = SimSpec {
        down: pipe.clone(),
        up: pipe,
        workloads: vec![work],
        duration_ns: seconds.map(Nanos::from_secs),
        ..SimSpec::default()
    };
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.congestion_control = "reno".into();
        // Closed forms know nothing of a host's own timing.
        host.tcp.wakeup_ns = Nanos::ZERO;
    }
    spec
}

fn run(spec: SimSpec) -> (Vec<FlowRow>, Summary) {
    let mut flows = Flows::default();
    let summary = Simulation::new(spec).expect("valid").run(&mut flows);
    (flows.0, summary)
}

fn end_s(row: &FlowRow) -> f64 {
    row.end.expect("finished").as_secs_f64()
}

/// Within a delayed acknowledgement of what the closed form says.
fn assert_near(found_s: f64, expected_s: f64, what: &str) {
    let over = found_s - expected_s;
    assert!(
        (-1e-3..0.045).contains(&over),
        "{what}: {found_s} s, not {expected_s}"
    );
}
