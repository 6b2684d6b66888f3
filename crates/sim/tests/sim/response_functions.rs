//! Goodput under loss against the response functions: Mathis for Reno, RFC 9438 (section 5.1) for CUBIC. Both are derived for
//! losses at equal distances, so such losses judge the model; random losses are compared in `closed_forms.rs` and
//! `long_path_loss.rs`.

use bentpipe_base::Direction;
use bentpipe_path::config::{LossConfig, PipeConfig};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::rows::FlowRow;
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::WorkloadSpec;

#[derive(Default)]
struct Segments(f64);

impl Sink for Segments {
    fn flow(&mut self, row: &FlowRow) {
        if let Some(end) = row.end {
            self.0 = (row.bytes - row.omitted_bytes) as f64
                / 1448.0
                / (end - row.counted_from).as_secs_f64();
        }
    }
}

/// Segments per round trip where every `distance`-th packet is lost, the start left out.
fn window(control: &str, distance: usize, rtt_ms: i64, seconds: i64) -> f64 {
    let mut up = PipeConfig::default();
    up.propagation.delay_ns = Nanos::from_millis(rtt_ms / 2);
    let mut down = up.clone();
    let mut lost = vec![false; distance];
    lost[distance - 1] = true;
    down.channel.loss = LossConfig::Trace { lost };
    let mut spec = SimSpec {
        down,
        up,
        workloads: vec![WorkloadSpec::Bulk {
            start_ns: Time::ZERO,
            direction: Direction::Down,
            streams: 1,
            size_bytes: None,
            time_ns: Some(Nanos::from_secs(seconds)),
            omit_ns: Nanos::from_secs(seconds / 5),
        }],
        ..SimSpec::default()
    };
    for host in [&mut spec.client, &mut spec.server] {
        host.tcp.congestion_control = control.into();
        host.tcp.tcp_wmem[2] = 33_554_432;
    }
    let mut rate = Segments::default();
    match Simulation::new(spec) {
        Ok(simulation) => simulation.run(&mut rate),
        Err(error) => panic!("{error}"),
    };
    rate.0 * rtt_ms as f64 / 1e3
}

#[test]
fn reno_follows_mathis_where_losses_are_equally_spaced() {
    for distance in [1000, 10_000] {
        let formula = (1.5 * distance as f64).sqrt();
        for rtt_ms in [50, 200, 550] {
            let seconds = (formula as i64 * 40 * rtt_ms / 1000).max(60);
            let ratio = window("reno", distance, rtt_ms, seconds) / formula;
            assert!(
                (0.9..1.1).contains(&ratio),
                "1 in {distance}, {rtt_ms} ms: {ratio}"
            );
        }
    }
}

#[test]
fn of_a_small_window_the_round_of_recovery_takes_a_tenth_or_two() {
    // A cycle is W/2 rounds of growth, and with recovery two more: 100 = 3/8 W^2 + W, so W = 15 and 100 / 9.5 a round.
    let formula = 100.0 / 9.5;
    for rtt_ms in [200, 550] {
        let ratio = window("reno", 100, rtt_ms, 60 * rtt_ms / 50) / formula;
        assert!((0.9..1.1).contains(&ratio), "{rtt_ms} ms: {ratio}");
    }
}

#[test]
fn cubic_follows_rfc_9438_where_losses_are_equally_spaced() {
    for distance in [1000, 10_000] {
        for rtt_ms in [200, 550] {
            let cubic = 1.054 * (rtt_ms as f64 / 1e3 * distance as f64).powf(0.75);
            // Near the Reno-friendly region (section 4.3) the larger of two curves counts, at each instant.
            if cubic < 2.0 * (1.5 * distance as f64).sqrt() {
                continue;
            }
            let ratio = window("cubic", distance, rtt_ms, 400 + 2 * cubic as i64) / cubic;
            assert!(
                (0.9..1.1).contains(&ratio),
                "1 in {distance}, {rtt_ms} ms: {ratio}"
            );
        }
    }
}

#[test]
fn of_two_reno_flows_with_the_same_losses_the_one_with_four_times_the_rtt_gets_a_quarter() {
    let rate = |rtt_ms: i64| window("reno", 1000, rtt_ms, 60 * rtt_ms / 50) / rtt_ms as f64;
    let ratio = rate(50) / rate(200);
    assert!((3.6..4.4).contains(&ratio), "{ratio}");
}
