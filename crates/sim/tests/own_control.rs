//! A congestion control written from nothing, as docs/congestion-control.md shows it, in a connection over a path.

use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::Side;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::spec_error::SpecError;
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

/// Bytes that the server has read after a minute's upload over a lossy GEO path.
fn bytes(control: Choice) -> Result<u64, SpecError> {
    let mut pipe = PipeConfig {
        shaper: ShaperConfig::Fixed {
            rate_bit_s: 16_000_000,
        },
        ..PipeConfig::default()
    };
    pipe.queue.limit = QueueLimit::Bytes { bytes: 1_100_000 };
    pipe.propagation.delay_ns = Nanos::from_millis(275);
    let mut spec = SimSpec {
        down: pipe.clone(),
        ..SimSpec::default()
    };
    pipe.channel.loss = LossConfig::Bernoulli { p: 0.001 };
    spec.up = pipe;
    spec.client.tcp.congestion_control = control;
    let controls = Registry::default().with("additive", additive);
    let mut pair = Pair::with_controls(&spec, Vec::new(), &controls)?;
    let connection = pair.connect();
    pair.write(connection, Side::Client, u64::MAX >> 8);
    pair.run_until(Time(60_000_000_000));
    Ok(pair.received(Side::Server))
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
    let mut spec = SimSpec::default();
    spec.client.tcp.congestion_control = "additive".into();
    let refused = Pair::new(&spec, Vec::new()).err();
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
    let end = file.find("/// Bytes that the server").unwrap();
    assert!(page.contains(file[begin..end].trim_end()));
}
