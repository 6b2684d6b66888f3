//! A pipe's description in plain numbers: nanoseconds, bytes, bits per second. Units, presets and defaults are
//! settled by whoever reads the lab file; nothing here has one.

use crate::time::{Nanos, Time};
use serde::Serialize;

/// One direction of the path. The parts stand in the order in which a packet meets them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PipeConfig {
    pub ingress: IngressConfig,
    pub queue: QueueConfig,
    pub shaper: ShaperConfig,
    pub propagation: PropagationConfig,
    pub channel: ChannelConfig,
}

bentpipe_reading::read_struct!(PipeConfig default {
    ingress,
    queue,
    shaper,
    propagation,
    channel,
});

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IngressConfig {
    pub policer: Option<PolicerConfig>,
    pub loss: LossConfig,
}

bentpipe_reading::read_struct!(IngressConfig default { policer, loss });

/// A token bucket that drops what does not conform (RFC 2697's single rate, without colours).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PolicerConfig {
    pub rate_bit_s: u64,
    pub burst_bytes: u64,
}

bentpipe_reading::read_struct!(PolicerConfig {
    rate_bit_s,
    burst_bytes
});

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueConfig {
    pub limit: QueueLimit,
    pub discipline: Discipline,
    /// Mark instead of dropping where the discipline can and the packet is ECN-capable.
    pub ecn: bool,
    /// Repairs of a coded tunnel wait before the queue until it has room. Without it they are packets like others.
    pub titration: Option<TitrationConfig>,
}

bentpipe_reading::read_struct!(QueueConfig default { limit, discipline, ecn, titration });

/// When repairs of a coded tunnel enter the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TitrationConfig {
    /// A repair enters if the queue then holds at most so much. As much may wait to enter.
    pub room_bytes: u64,
    /// A repair that has waited longer is dropped.
    pub max_age_ns: Nanos,
}

bentpipe_reading::read_struct!(TitrationConfig {
    room_bytes,
    max_age_ns
});

/// How much may wait. The packet in service is not in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "unit", rename_all = "snake_case")]
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

bentpipe_reading::read_tagged!(QueueLimit, "unit", Self::Unlimited, {
    "unlimited" => Unlimited {},
    "bytes" => Bytes { bytes },
    "packets" => Packets { packets },
    "delay" => Delay { delay_ns },
    "bdp" => Bdp { multiple, base_rtt_ns },
});

/// The queue discipline. Parameters that are `None` take the default that the discipline's source names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "name", rename_all = "snake_case")]
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

bentpipe_reading::read_tagged!(Discipline, "name", Self::Fifo, {
    "fifo" => Fifo {},
    "head_drop" => HeadDrop {},
    "red" => Red { min_bytes, max_bytes, max_probability, weight },
    "codel" => Codel { target_ns, interval_ns },
    "fq_codel" => FqCodel { target_ns, interval_ns, flows, quantum_bytes },
    "pie" => Pie { target_ns, update_ns, alpha, beta, max_burst_ns },
});

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
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

bentpipe_reading::read_tagged!(ShaperConfig, "kind", Self::Unlimited, {
    "unlimited" => Unlimited {},
    "fixed" => Fixed { rate_bit_s },
    "token_bucket" => TokenBucket { rate_bit_s, burst_bytes, peak_bit_s },
    "trace" => Trace { opportunities_ns },
    "steps" => Steps { steps },
});

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateStep {
    pub at_ns: Time,
    pub rate_bit_s: Option<u64>,
}

bentpipe_reading::read_struct!(RateStep { at_ns, rate_bit_s });

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PropagationConfig {
    pub delay_ns: Nanos,
    pub jitter: Option<JitterConfig>,
    /// What the delay line holds; an arrival beyond it is dropped (netem's `limit`).
    pub limit: LineLimit,
    pub handover: Option<HandoverConfig>,
}

bentpipe_reading::read_struct!(PropagationConfig default { delay_ns, jitter, limit, handover });

/// Reassignments to another satellite, at every multiple of `every_ns` after time zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HandoverConfig {
    pub every_ns: Nanos,
    /// From each on the delay differs from the pipe's own by a draw between this and minus this, the same in both pipes.
    pub step_ns: Nanos,
    /// From each on so long nothing passes.
    pub outage_ns: Nanos,
}

bentpipe_reading::read_struct!(HandoverConfig {
    every_ns,
    step_ns,
    outage_ns
});

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "unit", rename_all = "snake_case")]
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

bentpipe_reading::read_tagged!(LineLimit, "unit", Self::Unlimited, {
    "unlimited" => Unlimited {},
    "packets" => Packets { packets },
    "bytes" => Bytes { bytes },
});

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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

bentpipe_reading::read_struct!(JitterConfig {
    spread_ns,
    distribution,
    correlation,
    reorder
});

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JitterDistribution {
    #[default]
    Normal,
    Uniform,
    Pareto,
}

bentpipe_reading::read_words!(JitterDistribution {
    "normal" => Normal,
    "uniform" => Uniform,
    "pareto" => Pareto,
});

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChannelConfig {
    pub loss: LossConfig,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that one bit of a packet is flipped.
    pub corrupt: f64,
    pub outages: Vec<Outage>,
}

bentpipe_reading::read_struct!(ChannelConfig default { loss, duplicate, corrupt, outages });

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(tag = "model", rename_all = "kebab-case")]
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

bentpipe_reading::read_tagged!(LossConfig, "model", Self::None, {
    "none" => None {},
    "bernoulli" => Bernoulli { p },
    "gilbert-elliott" => GilbertElliott { p, r, good, bad },
    "trace" => Trace { lost },
});

/// Nothing passes from `start_ns` for `length_ns`: what would leave the pipe in that time is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Outage {
    pub start_ns: Time,
    pub length_ns: Nanos,
}

bentpipe_reading::read_struct!(Outage {
    start_ns,
    length_ns
});
