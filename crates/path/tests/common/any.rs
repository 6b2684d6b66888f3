//! Any pipe and any arrivals, for property tests.

use super::{MS, Parcel};
use bentpipe_path::config::{
    ChannelConfig, Discipline, HandoverConfig, IngressConfig, JitterConfig, JitterDistribution,
    LineLimit, LossConfig, Outage, PolicerConfig, PropagationConfig, QueueConfig, QueueLimit,
    RateStep, ShaperConfig, TitrationConfig,
};
use bentpipe_path::{Nanos, PipeConfig, Time};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        Just(QueueLimit::Unlimited),
        (0..20_000_u64).prop_map(|bytes| QueueLimit::Bytes { bytes }),
        (0..20_u64).prop_map(|packets| QueueLimit::Packets { packets }),
        (0..30 * MS).prop_map(|ns| QueueLimit::Delay {
            delay_ns: Nanos(ns)
        }),
        (0.0..3.0, 0..30 * MS).prop_map(|(multiple, ns)| QueueLimit::Bdp {
            multiple,
            base_rtt_ns: Nanos(ns)
        }),
    ]
}

pub fn discipline() -> impl Strategy<Value = Discipline> {
    let target = || option::of((MS / 10..5 * MS).prop_map(Nanos));
    let interval = || option::of((MS..50 * MS).prop_map(Nanos));
    prop_oneof![
        Just(Discipline::Fifo),
        Just(Discipline::HeadDrop),
        (1000..5000_u64, 1..10_000_u64, 0.01..1.0).prop_map(|(min, more, weight)| {
            Discipline::Red {
                min_bytes: Some(min),
                max_bytes: Some(min + more),
                max_probability: Some(0.1),
                weight: Some(weight),
            }
        }),
        (target(), interval()).prop_map(|(target_ns, interval_ns)| Discipline::Codel {
            target_ns,
            interval_ns
        }),
        (
            target(),
            interval(),
            option::of(1..8_u32),
            option::of(100..3000_u32)
        )
            .prop_map(|(target_ns, interval_ns, flows, quantum_bytes)| {
                Discipline::FqCodel {
                    target_ns,
                    interval_ns,
                    flows,
                    quantum_bytes,
                }
            }),
        (target(), interval()).prop_map(|(target_ns, update_ns)| Discipline::Pie {
            target_ns,
            update_ns,
            alpha: None,
            beta: None,
            max_burst_ns: Some(Nanos(MS)),
        }),
    ]
}

pub fn shaper() -> impl Strategy<Value = ShaperConfig> {
    let rate = || 1_000_000..100_000_000_u64;
    prop_oneof![
        Just(ShaperConfig::Unlimited),
        rate().prop_map(|rate_bit_s| ShaperConfig::Fixed { rate_bit_s }),
        (rate(), 1500..10_000_u64, option::of(0..10_000_000_u64)).prop_map(
            |(rate_bit_s, burst_bytes, above)| ShaperConfig::TokenBucket {
                rate_bit_s,
                burst_bytes,
                peak_bit_s: above.map(|above| rate_bit_s + above),
            }
        ),
        vec(0..50 * MS, 1..20).prop_map(|mut at| {
            at.sort_unstable();
            at.push(50 * MS);
            ShaperConfig::Trace {
                opportunities_ns: at.into_iter().map(Nanos).collect(),
            }
        }),
        vec((1..20 * MS, option::weighted(0.9, rate())), 1..6).prop_map(|steps| {
            let mut at = Time(-10 * MS);
            let steps = steps.into_iter().map(|(gap, rate_bit_s)| {
                at += Nanos(gap);
                RateStep {
                    at_ns: at,
                    rate_bit_s,
                }
            });
            ShaperConfig::Steps {
                steps: steps.collect(),
            }
        }),
    ]
}

pub fn loss() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        Just(LossConfig::None),
        (0.0..0.5).prop_map(|p| LossConfig::Bernoulli { p }),
        (0.0..1.0, 0.0..1.0, 0.0..0.2, 0.0..1.0)
            .prop_map(|(p, r, good, bad)| LossConfig::GilbertElliott { p, r, good, bad }),
        vec(any::<bool>(), 1..10).prop_map(|lost| LossConfig::Trace { lost }),
    ]
}

fn jitter() -> impl Strategy<Value = JitterConfig> {
    let distribution = prop_oneof![
        Just(JitterDistribution::Normal),
        Just(JitterDistribution::Uniform),
        Just(JitterDistribution::Pareto),
    ];
    (0..20 * MS, distribution, 0.0..1.0, any::<bool>()).prop_map(
        |(spread, distribution, correlation, reorder)| JitterConfig {
            spread_ns: Nanos(spread),
            distribution,
            correlation,
            reorder,
        },
    )
}

pub fn propagation() -> impl Strategy<Value = PropagationConfig> {
    let limit = prop_oneof![
        Just(LineLimit::Unlimited),
        (0..20_u64).prop_map(|packets| LineLimit::Packets { packets }),
        (0..20_000_u64).prop_map(|bytes| LineLimit::Bytes { bytes }),
    ];
    let handover =
        (MS..50 * MS, 0..20 * MS, 0..20 * MS).prop_map(|(every, step, outage)| HandoverConfig {
            every_ns: Nanos(every),
            step_ns: Nanos(step),
            outage_ns: Nanos(outage),
        });
    (
        0..30 * MS,
        option::of(jitter()),
        limit,
        option::weighted(0.2, handover),
    )
        .prop_map(|(delay, jitter, limit, handover)| PropagationConfig {
            delay_ns: Nanos(delay),
            jitter,
            limit,
            handover,
        })
}

fn channel() -> impl Strategy<Value = ChannelConfig> {
    let outage = (-20 * MS..200 * MS, 0..20 * MS).prop_map(|(start, length)| Outage {
        start_ns: Time(start),
        length_ns: Nanos(length),
    });
    (loss(), 0.0..0.3, 0.0..0.3, vec(outage, 0..3)).prop_map(
        |(loss, duplicate, corrupt, outages)| ChannelConfig {
            loss,
            duplicate,
            corrupt,
            outages,
        },
    )
}

fn ingress() -> impl Strategy<Value = IngressConfig> {
    let policer =
        (100_000..50_000_000_u64, 1500..20_000_u64).prop_map(|(rate, burst)| PolicerConfig {
            rate_bit_s: rate,
            burst_bytes: burst,
        });
    (option::of(policer), loss()).prop_map(|(policer, loss)| IngressConfig { policer, loss })
}

pub fn config() -> impl Strategy<Value = PipeConfig> {
    let titration = (0..10_000_u64, 0..20 * MS).prop_map(|(room_bytes, ns)| TitrationConfig {
        room_bytes,
        max_age_ns: Nanos(ns),
    });
    let queue = (limit(), discipline(), any::<bool>(), option::of(titration)).prop_map(
        |(limit, discipline, ecn, titration)| QueueConfig {
            limit,
            discipline,
            ecn,
            titration,
        },
    );
    (ingress(), queue, shaper(), propagation(), channel()).prop_map(
        |(ingress, queue, shaper, propagation, channel)| PipeConfig {
            ingress,
            queue,
            shaper,
            propagation,
            channel,
        },
    )
}

/// In order of time, numbered; of up to 1500 bytes and several flows, in bursts and apart; some are repairs.
pub fn arrivals() -> impl Strategy<Value = Vec<(Time, Parcel)>> {
    let gap = prop_oneof![3 => Just(0), 3 => 0..MS, 1 => 0..20 * MS];
    let repair = prop::bool::weighted(0.2);
    vec((gap, 0..=1500_u32, 0..5_u64, any::<bool>(), repair), 1..100).prop_map(|parcels| {
        let mut now = Time(-5 * MS);
        let numbered = (0..).zip(parcels);
        let arrivals = numbered.map(|(id, (gap, bytes, flow, capable, repair))| {
            now += Nanos(gap);
            let parcel = Parcel {
                repair,
                ..Parcel::new(id, bytes).of_flow(flow)
            };
            (now, if capable { parcel.capable() } else { parcel })
        });
        arrivals.collect()
    })
}
