//! The paths of the bench.

use super::MBIT_S;
use bentpipe_base::{Nanos, Time};
use bentpipe_gateway::Rate;
use bentpipe_path::config::{
    ChannelConfig, JitterConfig, JitterDistribution, LossConfig, PipeConfig, PropagationConfig,
    QueueConfig, QueueLimit, RateStep, ShaperConfig,
};
use bentpipe_sim::gateway::{GatewayConfig, GatewayRedundancy};
use bentpipe_sim::node::config::HostConfig;
use bentpipe_sim::spec::SimSpec;

/// Of 1500 bytes: IP and UDP 28, the carrier 31, the plane 1, a packet's number 4, and room for a repair's longer header 6.
pub const PAYLOAD: f64 = 1430.0 / 1500.0;

#[derive(Clone, Copy, Debug)]
pub struct Path {
    round_trip_ms: i64,
    queue_kb: u64,
    loss: f64,
    mbit_s: f64,
    jitter: Nanos,
}

impl Path {
    pub fn new(round_trip_ms: i64, queue_kb: u64, loss: f64) -> Self {
        Self {
            round_trip_ms,
            queue_kb,
            loss,
            mbit_s: MBIT_S,
            jitter: Nanos::ZERO,
        }
    }

    /// The delay of each way varies by so much up and down, evenly. No packet overtakes another.
    pub fn varying_by(self, jitter: Nanos) -> Self {
        Self { jitter, ..self }
    }

    pub fn at(self, mbit_s: f64) -> Self {
        Self { mbit_s, ..self }
    }

    /// The workload in the second place crosses beside the gateways.
    pub fn spec(self, seed: u64, has_gateway: bool) -> SimSpec {
        let mut spec = self.with_rates(&[(0.0, 1.0)], seed);
        if !has_gateway {
            spec.gateway = None;
        }
        spec
    }

    /// From each time in s on, so much of the rate.
    pub fn with_rates(self, rates: &[(f64, f64)], seed: u64) -> SimSpec {
        let steps = || {
            let step = |&(at_s, share): &(f64, f64)| RateStep {
                at_ns: Time((at_s * 1e9) as i64),
                rate_bit_s: Some((self.mbit_s * 1e6 * share) as u64),
            };
            rates.iter().map(step).collect()
        };
        let pipe = || PipeConfig {
            shaper: ShaperConfig::Steps { steps: steps() },
            queue: QueueConfig {
                limit: QueueLimit::Bytes {
                    bytes: self.queue_kb * 1000,
                },
                ..QueueConfig::default()
            },
            propagation: PropagationConfig {
                delay_ns: Nanos(self.round_trip_ms * 500_000),
                jitter: (self.jitter > Nanos::ZERO).then_some(JitterConfig {
                    spread_ns: self.jitter,
                    distribution: JitterDistribution::Uniform,
                    correlation: 0.0,
                    reorder: false,
                }),
                ..PropagationConfig::default()
            },
            channel: ChannelConfig {
                loss: LossConfig::Bernoulli { p: self.loss },
                ..ChannelConfig::default()
            },
            ..PipeConfig::default()
        };
        SimSpec {
            seed,
            down: pipe(),
            up: pipe(),
            gateway: Some(GatewayConfig {
                near: HostConfig::default(),
                far: HostConfig::default(),
                down_rate: Rate::Fair,
                up_rate: Rate::Fair,
                redundancy: GatewayRedundancy::Adaptive,
            }),
            beside_tunnel: vec![1],
            ..SimSpec::default()
        }
    }
}
