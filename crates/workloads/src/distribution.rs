//! Distributions of a size in bytes or a delay in nanoseconds: drawn by inversion, so that one draw takes one uniform
//! number (the mixture two) and a larger number never gives a smaller value.

use bentpipe_base::normal::quantile;
use bentpipe_base::random::unit;
use core::fmt;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "distribution", rename_all = "kebab-case")]
pub enum Distribution {
    Constant {
        value: u64,
    },
    /// ln(value) is normal around ln(median) with the standard deviation `sigma`.
    Lognormal {
        median: u64,
        sigma: f64,
    },
    /// Pareto's with the tail beyond `max` left out: P(X > x) is in proportion to x^-shape.
    BoundedPareto {
        shape: f64,
        min: u64,
        max: u64,
    },
    /// A lognormal body; with the probability `tail` a draw is from the bounded Pareto instead (as Barford and Crovella
    /// 1998 modelled the sizes of web files).
    #[serde(rename = "lognormal+pareto")]
    LognormalPareto {
        median: u64,
        sigma: f64,
        tail: f64,
        shape: f64,
        min: u64,
        max: u64,
    },
    /// One of these, each as likely as the others.
    File {
        values: Vec<u64>,
    },
}

bentpipe_reading::read_tagged!(Distribution, "distribution", Self::Constant { value: 0 }, {
    "constant" => Constant { value },
    "lognormal" => Lognormal { median, sigma },
    "bounded-pareto" => BoundedPareto { shape, min, max },
    "lognormal+pareto" => LognormalPareto { median, sigma, tail, shape, min, max },
    "file" => File { values },
});

/// A parameter that no distribution has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributionError {
    pub field: &'static str,
    pub wanted: &'static str,
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is wanted", self.field, self.wanted)
    }
}

impl core::error::Error for DistributionError {}

fn wanted(ok: bool, field: &'static str, wanted: &'static str) -> Result<(), DistributionError> {
    if ok {
        Ok(())
    } else {
        Err(DistributionError { field, wanted })
    }
}

impl Distribution {
    /// Whether draws can be made from it.
    pub fn check(&self) -> Result<(), DistributionError> {
        match self {
            Self::Constant { .. } => Ok(()),
            Self::Lognormal { median, sigma } => check_lognormal(*median, *sigma),
            Self::BoundedPareto { shape, min, max } => check_pareto(*shape, *min, *max),
            Self::LognormalPareto {
                median,
                sigma,
                tail,
                shape,
                min,
                max,
            } => {
                check_lognormal(*median, *sigma)?;
                check_pareto(*shape, *min, *max)?;
                wanted((0.0..=1.0).contains(tail), "tail", "a probability")
            }
            Self::File { values } => wanted(!values.is_empty(), "values", "at least one"),
        }
    }

    pub fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Self::Constant { value } => *value,
            Self::Lognormal { median, sigma } => lognormal(*median, *sigma, rng),
            Self::BoundedPareto { shape, min, max } => pareto(*shape, *min, *max, rng),
            Self::LognormalPareto {
                median,
                sigma,
                tail,
                shape,
                min,
                max,
            } => {
                if unit(rng) < *tail {
                    pareto(*shape, *min, *max, rng)
                } else {
                    lognormal(*median, *sigma, rng)
                }
            }
            Self::File { values } => values[(unit(rng) * values.len() as f64) as usize],
        }
    }
}

fn check_lognormal(median: u64, sigma: f64) -> Result<(), DistributionError> {
    wanted(median > 0, "median", "a value above 0")?;
    wanted((0.0..=20.0).contains(&sigma), "sigma", "0 to 20")
}

fn check_pareto(shape: f64, min: u64, max: u64) -> Result<(), DistributionError> {
    wanted(shape > 0.0 && shape <= 100.0, "shape", "above 0, to 100")?;
    wanted(0 < min && min < max, "min", "above 0 and below max")
}

fn lognormal(median: u64, sigma: f64, rng: &mut Xoshiro256PlusPlus) -> u64 {
    let deviation = quantile((unit(rng)).max(f64::EPSILON / 2.0));
    (median as f64 * libm::exp(sigma * deviation))
        .round()
        .max(1.0) as u64
}

fn pareto(shape: f64, min: u64, max: u64, rng: &mut Xoshiro256PlusPlus) -> u64 {
    let kept = 1.0 - libm::pow(min as f64 / max as f64, shape);
    let value = min as f64 * libm::pow(1.0 - unit(rng) * kept, -1.0 / shape);
    (value.round() as u64).clamp(min, max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_path::stream;

    const DRAWS: usize = 400_000;

    fn draws(distribution: &Distribution) -> Vec<u64> {
        distribution.check().expect("valid");
        let mut rng = stream(5, "test");
        (0..DRAWS).map(|_| distribution.draw(&mut rng)).collect()
    }

    fn mean(values: &[u64]) -> f64 {
        values.iter().sum::<u64>() as f64 / values.len() as f64
    }

    fn share(values: &[u64], below: u64) -> f64 {
        values.iter().filter(|&&value| value < below).count() as f64 / values.len() as f64
    }

    #[test]
    fn a_bounded_pareto_has_its_mean_its_tail_and_its_bounds() {
        let (shape, min, max) = (1.2, 1_500, 1_500_000);
        let values = draws(&Distribution::BoundedPareto { shape, min, max });
        assert!(values.iter().all(|value| (min..=max).contains(value)));
        let (low, high) = (min as f64, max as f64);
        let kept = 1.0 - (low / high).powf(shape);
        let expected = low.powf(shape) / kept * shape / (shape - 1.0)
            * (low.powf(1.0 - shape) - high.powf(1.0 - shape));
        assert!((mean(&values) / expected - 1.0).abs() < 0.03);
        let above_ten = (1.0 - (0.1_f64).powf(shape)) / kept;
        assert!((share(&values, 15_000) - above_ten).abs() < 0.003);
    }

    #[test]
    fn a_lognormal_has_its_median_and_its_mean() {
        let values = draws(&Distribution::Lognormal {
            median: 60_000_000,
            sigma: 0.8,
        });
        assert!((share(&values, 60_000_000) - 0.5).abs() < 0.003);
        let expected = 60e6 * (0.32_f64).exp();
        assert!((mean(&values) / expected - 1.0).abs() < 0.01);
        let one_sigma = (60e6 * (0.8_f64).exp()) as u64;
        assert!((share(&values, one_sigma) - 0.841_34).abs() < 0.003);
    }

    #[test]
    fn a_mixture_has_its_tail_in_proportion() {
        let values = draws(&Distribution::LognormalPareto {
            median: 2_000,
            sigma: 0.5,
            tail: 0.01,
            shape: 1.1,
            min: 1_000_000,
            max: 50_000_000,
        });
        assert!((share(&values, 1_000_000) - 0.99).abs() < 0.001);
        assert!((share(&values, 2_000) - 0.495).abs() < 0.003);
    }

    #[test]
    fn a_file_gives_its_values_in_proportion() {
        let values = draws(&Distribution::File {
            values: vec![100, 100, 700, 100],
        });
        assert!((share(&values, 700) - 0.75).abs() < 0.003);
        assert!((mean(&values) - 250.0).abs() < 2.0);
    }

    #[test]
    fn what_no_distribution_has_is_refused_by_name() {
        let field = |distribution: Distribution| distribution.check().expect_err("wrong").field;
        let pareto = |shape, min, max| Distribution::BoundedPareto { shape, min, max };
        assert_eq!(field(pareto(0.0, 1, 2)), "shape");
        assert_eq!(field(pareto(1.0, 2, 2)), "min");
        assert_eq!(field(Distribution::File { values: Vec::new() }), "values");
        let (median, sigma) = (0, 1.0);
        assert_eq!(field(Distribution::Lognormal { median, sigma }), "median");
    }
}
