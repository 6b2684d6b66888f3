//! Over any path that loses, reorders, duplicates and corrupts, every byte arrives once and in order, and the sender's
//! counts end at nothing.

use bentpipe_base::Direction;
use bentpipe_path::config::{
    JitterConfig, JitterDistribution, LossConfig, PipeConfig, QueueLimit, ShaperConfig,
};
use bentpipe_path::{Nanos, Time};
use bentpipe_sim::near::NearConfig;
use bentpipe_sim::rows::{FlowOutcome, FlowRow};
use bentpipe_sim::simulation::Simulation;
use bentpipe_sim::sink::Sink;
use bentpipe_sim::spec::SimSpec;
use bentpipe_sim::workload::{HttpSpec, WorkloadSpec};
use proptest::prelude::*;

#[derive(Default)]
struct Flows(Vec<FlowRow>);
impl Sink for Flows {
    fn flow(&mut self, row: &FlowRow) {
        self.0.push(row.clone());
    }
}

fn pipe() -> impl Strategy<Value = PipeConfig> {
    (
        0_u64..3,
        0_i64..300,
        0_u64..40,
        0.0..0.08_f64,
        0.0..0.05_f64,
        0.0..0.02_f64,
        any::<bool>(),
        0_i64..20,
    )
        .prop_map(
            |(rate, delay, queue, loss, duplicate, corrupt, reorder, spread)| {
                let mut pipe = PipeConfig::default();
                if rate > 0 {
                    pipe.shaper = ShaperConfig::Fixed {
                        rate_bit_s: rate * rate * 4_000_000,
                    };
                    pipe.queue.limit = QueueLimit::Packets { packets: 2 + queue };
                }
                pipe.propagation.delay_ns = Nanos::from_millis(delay);
                if spread > 0 {
                    pipe.propagation.jitter = Some(JitterConfig {
                        spread_ns: Nanos::from_millis(spread),
                        distribution: JitterDistribution::Normal,
                        correlation: 0.25,
                        reorder,
                    });
                }
                pipe.channel.loss = LossConfig::Bernoulli { p: loss };
                pipe.channel.duplicate = duplicate;
                pipe.channel.corrupt = corrupt;
                pipe
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_over_any_path(
        down in pipe(),
        up in pipe(),
        seed in 0_u64..1000,
        size in 1_u64..600_000,
        streams in 1_u32..4,
        control in prop::sample::select(vec!["reno", "cubic", "bbr", "bbr3", "hybla", "slow-start"]),
        sack in any::<bool>(),
        timestamps in any::<bool>(),
        window_scaling in any::<bool>(),
        ecn in any::<bool>(),
        slow_reader in prop::option::of(1_000_000_u64..20_000_000),
        coalesce in prop::sample::select(vec![0_i64, 50_000]),
    ) {
        let mut spec = SimSpec {
            down,
            up,
            seed,
            workloads: vec![WorkloadSpec::Bulk {
                start_ns: Time::ZERO,
                direction: Direction::Down,
                streams,
                size_bytes: Some(size),
                time_ns: None,
                omit_ns: Nanos::ZERO,
            }],
            ..SimSpec::default()
        };
        for host in [&mut spec.client, &mut spec.server] {
            host.tcp.congestion_control = control.into();
            host.tcp.sack = sack;
            host.tcp.timestamps = timestamps;
            host.tcp.window_scaling = window_scaling;
            host.tcp.ecn = ecn;
            host.coalesce_ns = Nanos(coalesce);
        }
        spec.client.tcp.read_rate_bit_s = slow_reader;
        let mut flows = Flows::default();
        let simulation = Simulation::new(spec).expect("a valid specification");
        simulation.run(&mut flows);
        let bytes: u64 = flows.0.iter().map(|row| row.bytes).sum();
        prop_assert!(flows.0.iter().all(|row| row.outcome == FlowOutcome::Finished), "{:?}", flows.0);
        prop_assert_eq!(bytes, size);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_of_a_web_client_arrives_once_over_any_path(
        mut down in pipe(),
        up in pipe(),
        seed in 0_u64..1000,
        size in 1_u64..4_000_000,
        page in any::<bool>(),
        fetches in 1_u32..3,
        connections in 1_u32..6,
        keep_alive in any::<bool>(),
        lan in pipe(),
        near in any::<bool>(),
        cache in prop::option::of(0_u64..6_000_000),
    ) {
        // Long enough with what the other test loses.
        down.channel.loss = LossConfig::Bernoulli { p: 0.01 };
        let objects = vec![size / 40 + 1, size / 80 + 1, 1, size / 40 + 1, size / 20 + 1];
        let expected = if page { objects.iter().sum() } else { size };
        let spec = SimSpec {
            down,
            up,
            seed,
            near: near.then(|| NearConfig {
                host: bentpipe_sim::node::config::HostConfig::default(),
                down: lan.clone(),
                up: lan,
                cache_bytes: cache,
            }),
            workloads: vec![WorkloadSpec::Http(HttpSpec {
                name: "fetch".into(),
                start_ns: Time::ZERO,
                direction: Direction::Down,
                size_bytes: (!page).then_some(size),
                objects_bytes: page.then_some(objects),
                popularity: None,
                fetches,
                connections,
                keep_alive,
                think_ns: Nanos::ZERO,
            })],
            ..SimSpec::default()
        };
        let mut flows = Flows::default();
        Simulation::new(spec).expect("a valid specification").run(&mut flows);
        prop_assert!(flows.0.iter().all(|row| row.outcome == FlowOutcome::Finished), "{:?}", flows.0);
        let bytes: u64 = flows.0.iter().map(|row| row.bytes).sum();
        prop_assert_eq!(bytes, expected * u64::from(fetches));
    }
}
