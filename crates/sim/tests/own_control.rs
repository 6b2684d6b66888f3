//! A congestion control written from nothing, as docs/congestion-control.md shows it, in a simulation.

use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::simulation::{SimSpec, Simulation, SpecError};
use bentpipe_sim::sink::{FlowRow, Sink};
use bentpipe_sim::workload::WorkloadSpec;
use bentpipe_tcp::congestion::{
    Choice, CongestionControl, ControlError, Parameters, Registry, Value, Window,
};

/// Adds `increase` segments to the window each round trip; a loss halves it.
#[derive(Debug)]
struct Additive {
    increase: u32,
}

fn additive(parameters: &mut Parameters) -> Result<Box<dyn CongestionControl>, ControlError> {
    let increase = parameters.number("increase", 1.0..=64.0, 1.0)? as u32;
    Ok(Box::new(Additive { increase }))
}

impl CongestionControl for Additive {
    fn name(&self) -> &'static str {
        "additive"
    }

    fn ssthresh(&mut self, window: &mut Window) -> u32 {
        (window.cwnd / 2).max(2)
    }

    fn cong_avoid(&mut self, window: &mut Window, acked: u32) {
        if !window.is_cwnd_limited() {
            return;
        }
        let left = if window.in_slow_start() {
            window.slow_start(acked)
        } else {
            acked
        };
        if left > 0 {
            window.additive_increase(window.cwnd / self.increase, left);
        }
    }
}

#[derive(Default)]
struct Bytes(u64);

impl Sink for Bytes {
    fn flow(&mut self, row: &FlowRow) {
        self.0 += row.bytes;
    }
}

/// A minute down a lossy GEO path.
fn lab(control: Choice) -> SimSpec {
    let mut pipe = PipeConfig {
        shaper: ShaperConfig::Fixed {
            rate_bit_s: 16_000_000,
        },
        ..PipeConfig::default()
    };
    pipe.queue.limit = QueueLimit::Bytes { bytes: 1_100_000 };
    pipe.propagation.delay_ns = Nanos::from_millis(275);
    let mut spec = SimSpec {
        up: pipe.clone(),
        workloads: vec![WorkloadSpec::Bulk {
            start_ns: Time::ZERO,
            down: true,
            streams: 1,
            size_bytes: None,
            time_ns: Some(Nanos::from_secs(60)),
            omit_ns: Nanos::ZERO,
        }],
        duration_ns: Some(Nanos::from_secs(60)),
        ..SimSpec::default()
    };
    pipe.channel.loss = LossConfig::Bernoulli { p: 0.001 };
    spec.down = pipe;
    spec.server.tcp.congestion_control = control;
    spec
}

fn bytes(control: Choice) -> Result<u64, SpecError> {
    let controls = Registry::default().with("additive", additive);
    let mut sink = Bytes::default();
    Simulation::with_controls(lab(control), &controls)?.run(&mut sink);
    Ok(sink.0)
}

#[test]
fn one_segment_per_round_trip_is_reno_to_the_byte() {
    let own = bytes("additive".into()).unwrap();
    assert!(own > 0);
    assert_eq!(own, bytes("reno".into()).unwrap());
}

#[test]
fn its_parameter_reaches_it_from_the_choice() {
    let fast = Choice::from("additive").with("increase", Value::Number(16.0));
    let (slow, fast) = (bytes("additive".into()).unwrap(), bytes(fast).unwrap());
    assert!(fast > 2 * slow, "{fast} and {slow}");
}

#[test]
fn it_is_there_only_where_it_was_given() {
    let refused = Simulation::new(lab("additive".into())).err();
    assert!(matches!(
        refused,
        Some(SpecError::CongestionControl(ControlError::UnknownName { name, .. })) if name == "additive"
    ));
}

#[test]
fn the_page_shows_this_file() {
    let page = include_str!("../../../docs/congestion-control.md");
    let file = include_str!("own_control.rs");
    let begin = file.find("/// Adds `increase`").unwrap();
    let end = file.find("#[derive(Default)]").unwrap();
    assert!(page.contains(file[begin..end].trim_end()));
}
