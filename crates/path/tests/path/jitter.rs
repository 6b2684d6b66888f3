//! The delay's variation, as netem's tables and correlation give it.

use crate::common::{MS, Parcel, pipe};
use bentpipe_path::config::{JitterConfig, JitterDistribution};
use bentpipe_path::{Nanos, PipeConfig, Time};

const PACKETS: u64 = 100_000;
const DELAY_MS: f64 = 100.0;

/// Delays in units of the spread, less the base delay, in order of arrival.
fn deviations(distribution: JitterDistribution, correlation: f64) -> Vec<f64> {
    let mut config = PipeConfig::default();
    config.propagation.delay_ns = Nanos(100 * MS);
    config.propagation.jitter = Some(JitterConfig {
        spread_ns: Nanos(10 * MS),
        distribution,
        correlation,
        reorder: true,
    });
    let mut pipe = pipe(&config);
    let mut found = vec![0.0; PACKETS as usize];
    for id in 0..PACKETS {
        pipe.push(Time::ZERO, Parcel::new(id, 1));
    }
    while let Some((at, parcel)) = pipe.pop(Time::NEVER) {
        found[parcel.id as usize] = (at.0 as f64 / MS as f64 - DELAY_MS) / 10.0;
    }
    found
}

struct Moments {
    mean: f64,
    deviation: f64,
    /// Of each with the one before.
    correlation: f64,
}

fn moments(of: &[f64]) -> Moments {
    let n = of.len() as f64;
    let mean = of.iter().sum::<f64>() / n;
    let variance = of.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    let covariance = of
        .windows(2)
        .map(|two| (two[0] - mean) * (two[1] - mean))
        .sum::<f64>()
        / n;
    Moments {
        mean,
        deviation: variance.sqrt(),
        correlation: covariance / variance,
    }
}

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.02
}

#[test]
fn normal_jitter_has_the_spread_as_its_standard_deviation() {
    let found = deviations(JitterDistribution::Normal, 0.0);
    let it = moments(&found);
    assert!(near(it.mean, 0.0) && near(it.deviation, 1.0) && near(it.correlation, 0.0));
    let within = found.iter().filter(|x| x.abs() < 1.0).count() as f64 / PACKETS as f64;
    assert!(near(within, 0.6827), "{within}");
    assert!(found.iter().all(|x| x.abs() <= 4.0));
}

#[test]
fn uniform_jitter_has_the_spread_as_half_its_width() {
    let found = deviations(JitterDistribution::Uniform, 0.0);
    let it = moments(&found);
    assert!(near(it.mean, 0.0) && near(it.deviation, 1.0 / 3_f64.sqrt()));
    assert!(found.iter().all(|x| (-1.0..=1.0).contains(x)));
}

#[test]
fn pareto_jitter_has_the_quantiles_of_netems_table() {
    let mut found = deviations(JitterDistribution::Pareto, 0.0);
    found.sort_by(f64::total_cmp);
    // (u^(-1/3) - 3/2) 4/3, cut at 4.
    for part in [0.1, 0.5, 0.9, 0.98] {
        let quantile = found[(part * PACKETS as f64) as usize];
        let expected = ((1.0_f64 - part).powf(-1.0 / 3.0) - 1.5) * 4.0 / 3.0;
        assert!(
            (quantile - expected).abs() < 0.1,
            "{part}: {quantile} {expected}"
        );
    }
    assert!(near(found[0], -2.0 / 3.0));
    assert!(found.iter().all(|&x| x <= 4.0));
}

#[test]
fn correlation_ties_each_draw_to_the_one_before_and_narrows_the_spread() {
    let rho = 0.5_f64;
    let it = moments(&deviations(JitterDistribution::Uniform, rho));
    assert!(near(it.correlation, rho), "{}", it.correlation);
    // x' = (1 - rho) u + rho x has the variance (1 - rho) / (1 + rho) of u's.
    let expected = ((1.0 - rho) / (1.0 + rho)).sqrt() / 3_f64.sqrt();
    assert!(near(it.deviation, expected), "{}", it.deviation);
}

#[test]
fn jitter_beyond_the_delay_never_lets_a_packet_leave_before_it_came() {
    let mut config = PipeConfig::default();
    config.propagation.delay_ns = Nanos(MS);
    config.propagation.jitter = Some(JitterConfig {
        spread_ns: Nanos(50 * MS),
        distribution: JitterDistribution::Normal,
        correlation: 0.0,
        reorder: true,
    });
    let mut pipe = pipe(&config);
    for id in 0..1_000 {
        pipe.push(Time(7), Parcel::new(id, 1));
    }
    let times: Vec<_> = std::iter::from_fn(|| pipe.pop(Time::NEVER))
        .map(|it| it.0)
        .collect();
    assert_eq!(times.iter().min(), Some(&Time(7)));
}
