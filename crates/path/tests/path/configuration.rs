//! The JSON that describes a pipe, and what is said of one that cannot be.

use bentpipe_path::{Nanos, Packet, Pipe, PipeConfig};
use serde_json::{Value, json};

#[derive(Clone)]
struct Nothing;

impl Packet for Nothing {
    fn wire_bytes(&self) -> u32 {
        0
    }
}

fn built(config: Value) -> Result<Pipe<Nothing>, bentpipe_path::ConfigError> {
    let config: PipeConfig = serde_json::from_value(config).expect("the JSON has the shape");
    Pipe::new(&config, 1500, 1, "down", Nanos::from_millis(100))
}

#[test]
fn every_part_can_be_written_in_json() {
    let config = json!({
        "ingress": {
            "policer": {"rate_bit_s": 1_000_000, "burst_bytes": 3000},
            "loss": {"model": "bernoulli", "p": 0.1},
        },
        "queue": {
            "limit": {"unit": "bdp", "multiple": 1.0, "base_rtt_ns": 550_000_000},
            "discipline": {"name": "fq_codel", "target_ns": 5_000_000, "interval_ns": null, "flows": null, "quantum_bytes": null},
            "ecn": true,
            "titration": {"room_bytes": 50_000, "max_age_ns": 137_500_000},
        },
        "shaper": {"kind": "token_bucket", "rate_bit_s": 16_000_000, "burst_bytes": 10_000, "peak_bit_s": 20_000_000},
        "propagation": {
            "delay_ns": 275_000_000,
            "jitter": {"spread_ns": 5_000_000, "distribution": "pareto", "correlation": 0.25, "reorder": true},
            "limit": {"unit": "packets", "packets": 1000},
            "handover": {"every_ns": 15_000_000_000_i64, "step_ns": 5_000_000, "outage_ns": 50_000_000},
        },
        "channel": {
            "loss": {"model": "gilbert-elliott", "p": 0.01, "r": 0.2, "good": 0.0, "bad": 1.0},
            "duplicate": 0.01, "corrupt": 0.01,
            "outages": [{"start_ns": 30_000_000_000_i64, "length_ns": 2_000_000_000}],
        },
    });
    built(config.clone()).expect("it describes a pipe");
    let read: PipeConfig = serde_json::from_value(config.clone()).expect("it is read");
    assert_eq!(serde_json::to_value(&read).expect("it is written"), config);
}

#[test]
fn an_empty_description_is_a_wire() {
    assert!(built(json!({})).is_ok());
}

#[test]
fn a_misspelt_key_is_refused() {
    let wrong = json!({"queue": {"limits": {"unit": "unlimited"}}});
    let error = serde_json::from_value::<PipeConfig>(wrong).expect_err("it is refused");
    assert!(error.to_string().contains("limits"), "{error}");
}

#[test]
fn an_impossible_pipe_is_refused_by_the_name_of_the_field_at_fault() {
    let red = |min: u64, max: u64| json!({"queue": {"discipline": {"name": "red", "min_bytes": min, "max_bytes": max, "weight": null, "max_probability": null}}});
    let jitter = |spread: i64, correlation: f64| json!({"propagation": {"jitter": {"spread_ns": spread, "distribution": "normal", "correlation": correlation, "reorder": false}}});
    let codel = |target: i64, interval: i64| json!({"queue": {"discipline": {"name": "codel", "target_ns": target, "interval_ns": interval}}});
    let fq_codel = |flows: u32, quantum: u32| json!({"queue": {"discipline": {"name": "fq_codel", "target_ns": null, "interval_ns": null, "flows": flows, "quantum_bytes": quantum}}});
    let pie = |update: i64, alpha: f64, burst: i64| json!({"queue": {"discipline": {"name": "pie", "target_ns": null, "update_ns": update, "alpha": alpha, "beta": null, "max_burst_ns": burst}}});
    let bucket = |rate: u64, burst: u64, peak: u64| json!({"shaper": {"kind": "token_bucket", "rate_bit_s": rate, "burst_bytes": burst, "peak_bit_s": peak}});
    let trace = |at: &[i64]| json!({"shaper": {"kind": "trace", "opportunities_ns": at}});
    let limit = |limit: Value| json!({"queue": {"limit": limit}});
    let policer = |rate: u64, burst: u64| json!({"ingress": {"policer": {"rate_bit_s": rate, "burst_bytes": burst}}});
    let steps = |at: &[i64]| {
        let steps: Vec<_> = at
            .iter()
            .map(|at| json!({"at_ns": at, "rate_bit_s": 1}))
            .collect();
        json!({"shaper": {"kind": "steps", "steps": steps}})
    };
    let handover = |every: i64, step: i64| json!({"propagation": {"handover": {"every_ns": every, "step_ns": step, "outage_ns": 0}}});
    let cases = [
        (handover(0, 1), "propagation.handover.every_ns"),
        (handover(1, -1), "propagation.handover.step_ns"),
        (
            json!({"shaper": {"kind": "fixed", "rate_bit_s": 0}}),
            "shaper.rate_bit_s",
        ),
        (bucket(0, 3000, 10), "shaper.rate_bit_s"),
        (bucket(10, 1499, 10), "shaper.burst_bytes"),
        (bucket(10, 1500, 9), "shaper.peak_bit_s"),
        (trace(&[]), "shaper.opportunities_ns"),
        (trace(&[0, 0]), "shaper.opportunities_ns"),
        (trace(&[-1, 5]), "shaper.opportunities_ns[0]"),
        (trace(&[1, 3, 2]), "shaper.opportunities_ns[2]"),
        (steps(&[]), "shaper.steps"),
        (steps(&[0, i64::MAX]), "shaper.steps[1].at_ns"),
        (trace(&[i64::MAX]), "shaper.opportunities_ns[0]"),
        (steps(&[0, 5, 5]), "shaper.steps[2].at_ns"),
        (policer(0, 3000), "ingress.policer.rate_bit_s"),
        (policer(10, 1499), "ingress.policer.burst_bytes"),
        (
            json!({"ingress": {"loss": {"model": "bernoulli", "p": 1.5}}}),
            "ingress.loss.p",
        ),
        (
            json!({"channel": {"loss": {"model": "gilbert-elliott", "p": 0.0, "r": -0.1, "good": 0.0, "bad": 1.0}}}),
            "channel.loss.r",
        ),
        (
            json!({"channel": {"loss": {"model": "trace", "lost": []}}}),
            "channel.loss.lost",
        ),
        (json!({"channel": {"duplicate": 2.0}}), "channel.duplicate"),
        (json!({"channel": {"corrupt": -1.0}}), "channel.corrupt"),
        (
            json!({"channel": {"outages": [{"start_ns": 0, "length_ns": -1}]}}),
            "channel.outages[0].length_ns",
        ),
        (
            json!({"propagation": {"delay_ns": -1}}),
            "propagation.delay_ns",
        ),
        (
            json!({"propagation": {"delay_ns": i64::MAX}}),
            "propagation.delay_ns",
        ),
        (jitter(-1, 0.0), "propagation.jitter.spread_ns"),
        (jitter(1, 1.1), "propagation.jitter.correlation"),
        (
            limit(json!({"unit": "delay", "delay_ns": -1})),
            "queue.limit.delay_ns",
        ),
        (
            limit(json!({"unit": "bdp", "multiple": -1.0, "base_rtt_ns": 1})),
            "queue.limit.multiple",
        ),
        (
            limit(json!({"unit": "bdp", "multiple": 1.0, "base_rtt_ns": -1})),
            "queue.limit.base_rtt_ns",
        ),
        (red(0, 10), "queue.discipline.min_bytes"),
        (red(10, 10), "queue.discipline.max_bytes"),
        (codel(0, 1), "queue.discipline.target_ns"),
        (codel(1, 0), "queue.discipline.interval_ns"),
        (fq_codel(0, 1), "queue.discipline.flows"),
        (fq_codel(65_537, 1), "queue.discipline.flows"),
        (fq_codel(1, 0), "queue.discipline.quantum_bytes"),
        (pie(999, 1.0, 0), "queue.discipline.update_ns"),
        (pie(1000, -1.0, 0), "queue.discipline.alpha"),
        (pie(1000, 1.0, -1), "queue.discipline.max_burst_ns"),
    ];
    for (config, field) in cases {
        let error = built(config.clone())
            .err()
            .unwrap_or_else(|| panic!("{config} was built"));
        assert_eq!(error.field, field);
        assert!(error.to_string().starts_with(field), "{error}");
    }
}

#[test]
fn a_mtu_or_bin_of_nothing_is_refused() {
    let config = PipeConfig::default();
    let mtu = Pipe::<Nothing>::new(&config, 0, 1, "down", Nanos(1)).err();
    assert_eq!(mtu.map(|error| error.field).as_deref(), Some("mtu"));
    let bin = Pipe::<Nothing>::new(&config, 1500, 1, "down", Nanos(0)).err();
    assert_eq!(bin.map(|error| error.field).as_deref(), Some("bin"));
}
