//! A pipe's description in plain numbers: nanoseconds, bytes, bits per second. Units, presets and defaults are
//! settled by whoever reads the lab file; nothing here has one.

use crate::time::{Nanos, Time};
use serde::{Deserialize, Serialize};

/// One direction of the path. The parts stand in the order in which a packet meets them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PipeConfig {
    pub ingress: IngressConfig,
    pub queue: QueueConfig,
    pub shaper: ShaperConfig,
    pub propagation: PropagationConfig,
    pub channel: ChannelConfig,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IngressConfig {
    pub policer: Option<PolicerConfig>,
    pub loss: LossConfig,
}

/// A token bucket that drops what does not conform (RFC 2697's single rate, without colours).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicerConfig {
    pub rate_bit_s: u64,
    pub burst_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueConfig {
    pub limit: QueueLimit,
    pub discipline: Discipline,
    /// Mark instead of dropping where the discipline can and the packet is ECN-capable.
    pub ecn: bool,
    /// Repairs of a coded tunnel wait before the queue until it has room. Without it they are packets like others.
    pub titration: Option<TitrationConfig>,
}

/// When repairs of a coded tunnel enter the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TitrationConfig {
    /// A repair enters if the queue then holds at most so much. As much may wait to enter.
    pub room_bytes: u64,
    /// A repair that has waited longer is dropped.
    pub max_age_ns: Nanos,
}

/// How much may wait. The packet in service is not in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "unit", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueLimit {
    #[default]
    Unlimited,
    Bytes {
        bytes: u64,
    },
    Packets {
        packets: u64,
    },
    /// An arrival finds no place if with it what waits would take longer than this to send at the shaper's present
    /// rate.
    Delay {
        delay_ns: Nanos,
    },
    /// A multiple of rate x base RTT, in bytes; where the rate steps, at the highest of its rates.
    Bdp {
        multiple: f64,
        base_rtt_ns: Nanos,
    },
}

/// The queue discipline. Parameters that are `None` take the default that the discipline's source names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
pub enum Discipline {
    #[default]
    Fifo,
    HeadDrop,
    Red {
        min_bytes: Option<u64>,
        max_bytes: Option<u64>,
        max_probability: Option<f64>,
        weight: Option<f64>,
    },
    Codel {
        target_ns: Option<Nanos>,
        interval_ns: Option<Nanos>,
    },
    FqCodel {
        target_ns: Option<Nanos>,
        interval_ns: Option<Nanos>,
        flows: Option<u32>,
        quantum_bytes: Option<u32>,
    },
    Pie {
        target_ns: Option<Nanos>,
        update_ns: Option<Nanos>,
        alpha: Option<f64>,
        beta: Option<f64>,
        max_burst_ns: Option<Nanos>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ShaperConfig {
    #[default]
    Unlimited,
    /// One packet at a time, each for its serialisation time.
    Fixed { rate_bit_s: u64 },
    TokenBucket {
        rate_bit_s: u64,
        burst_bytes: u64,
        peak_bit_s: Option<u64>,
    },
    /// Delivery opportunities of 1500 bytes each, at these times after time zero; repeats with the last one's
    /// period, as mahimahi's traces do.
    Trace { opportunities_ns: Vec<Nanos> },
    /// The rate from each instant on; `None` is unlimited. The first step's rate holds before it too.
    Steps { steps: Vec<RateStep> },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    pub at_ns: Time,
    pub rate_bit_s: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PropagationConfig {
    pub delay_ns: Nanos,
    pub jitter: Option<JitterConfig>,
    /// What the delay line holds; an arrival beyond it is dropped (netem's `limit`).
    pub limit: LineLimit,
    pub handover: Option<HandoverConfig>,
}

/// Reassignments to another satellite, at every multiple of `every_ns` after time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverConfig {
    pub every_ns: Nanos,
    /// From each on the delay differs from the pipe's own by a draw between this and minus this, the same in both pipes.
    pub step_ns: Nanos,
    /// From each on so long nothing passes.
    pub outage_ns: Nanos,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "unit", rename_all = "snake_case", deny_unknown_fields)]
pub enum LineLimit {
    #[default]
    Unlimited,
    Packets {
        packets: u64,
    },
    Bytes {
        bytes: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterConfig {
    /// netem's second delay argument: the standard deviation for `normal`, half the width for `uniform`; `pareto` is
    /// scaled as netem's table, whose standard deviation is 0.82 of it.
    pub spread_ns: Nanos,
    pub distribution: JitterDistribution,
    /// Of each draw with the one before, 0 to 1.
    pub correlation: f64,
    /// Whether a packet may overtake an earlier one.
    pub reorder: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterDistribution {
    #[default]
    Normal,
    Uniform,
    Pareto,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelConfig {
    pub loss: LossConfig,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that one bit of a packet is flipped.
    pub corrupt: f64,
    pub outages: Vec<Outage>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossConfig {
    #[default]
    None,
    Bernoulli {
        p: f64,
    },
    /// Two states; `p` good to bad and `r` bad to good per packet; `good` and `bad` are the loss probabilities in
    /// each state (Gilbert 1960, Elliott 1963; netem's `loss gemodel` takes 1-h and 1-k for them).
    GilbertElliott {
        p: f64,
        r: f64,
        good: f64,
        bad: f64,
    },
    /// The n-th packet is lost where the n-th entry is true; repeats.
    Trace {
        lost: Vec<bool>,
    },
}

/// Nothing passes from `start_ns` for `length_ns`: what would leave the pipe in that time is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    pub start_ns: Time,
    pub length_ns: Nanos,
}
