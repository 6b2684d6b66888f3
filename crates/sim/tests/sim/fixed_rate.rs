//! A sender with a fixed rate, or with a bound of its pacing, in a whole connection.

use bentpipe_base::{Nanos, Time};
use bentpipe_path::config::{LossConfig, PipeConfig, QueueLimit, ShaperConfig};
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::Side;
use bentpipe_sim::spec::SimSpec;
use bentpipe_tcp::Config;
use bentpipe_tcp::congestion::{Choice, Value};

const SECONDS: i64 = 60;

/// Bytes per second that the server has got in the last half minute of an upload over 16 Mbit/s and 550 ms.
fn received_byte_s(rate_bit_s: f64, loss: f64) -> f64 {
    received_with(loss, |tcp| {
        tcp.congestion_control = Choice::from("fixed-rate").with("rate", Value::Number(rate_bit_s));
    })
}

fn received_with(loss: f64, set: impl FnOnce(&mut Config)) -> f64 {
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
    if loss > 0.0 {
        pipe.channel.loss = LossConfig::Bernoulli { p: loss };
    }
    spec.up = pipe;
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.tcp_wmem[2] = 33_554_432;
        host.tcp.tcp_rmem[2] = 33_554_432;
    }
    set(&mut spec.client.tcp);
    let mut pair = Pair::new(&spec, Vec::new()).expect("a sound specification");
    let connection = pair.connect();
    pair.write(connection, Side::Client, u64::MAX >> 8);
    let received_at = |pair: &mut Pair, second: i64| {
        pair.run_until(Time(second * 1_000_000_000));
        pair.received(Side::Server)
    };
    let before = received_at(&mut pair, SECONDS / 2);
    let after = received_at(&mut pair, SECONDS);
    (after - before) as f64 / (SECONDS / 2) as f64
}

#[test]
fn without_losses_the_rate_is_what_arrives() {
    for rate_bit_s in [1e6, 14e6] {
        let share = received_byte_s(rate_bit_s, 0.0) * 8.0 / rate_bit_s;
        assert!((share - 1.0).abs() < 0.01, "{share} of {rate_bit_s}");
    }
}

#[test]
fn losses_cost_what_is_sent_again_and_no_more() {
    for loss in [0.01, 0.05] {
        let share = received_byte_s(14e6, loss) * 8.0 / 14e6;
        println!("{share} of the rate at {loss}");
        assert!(
            (share / (1.0 - loss) - 1.0).abs() < 0.02,
            "{share} at {loss}"
        );
    }
}

#[test]
fn a_bound_of_pacing_is_kept_by_every_congestion_control_and_a_high_one_changes_little() {
    for control in ["cubic", "reno", "bbr", "bbr3"] {
        let bounded = |bound: Option<u64>| {
            received_with(0.0, |tcp| {
                tcp.congestion_control = control.into();
                tcp.max_pacing_rate_bit_s = bound;
            }) * 8.0
        };
        let share = bounded(Some(8_000_000)) / 8e6;
        // BBR looks for its round trip with few segments for 200 ms in each 5 or 10 s, and BBR v3 sends a tenth less after each probe.
        let least = if control.starts_with("bbr") {
            0.85
        } else {
            0.99
        };
        assert!((least..=1.01).contains(&share), "{share} with {control}");
        let free = bounded(Some(1_000_000_000)) / bounded(None);
        assert!((0.95..=1.05).contains(&free), "{free} with {control}");
    }
}
