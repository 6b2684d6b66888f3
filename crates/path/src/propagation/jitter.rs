//! Variation of the delay, as netem defines it (`get_crandom` and `tabledist` in `net/sched/sch_netem.c`).
//!
//! A 32-bit uniform number is mixed with the one before by the correlation, then mapped to the distribution: so a
//! correlation narrows what is drawn, as it does in netem. The tables are iproute2's (`netem/normal.c`, `netem/pareto.c`):
//! normal cut at 4 standard deviations; Pareto with shape 3, shifted to mean 0, scaled by 4/3 and cut at 4. Departures:
//! 1. The tables are built here from the distributions' inverses, 4096 entries, each at the middle of its part.
//! 2. A delay below zero is zero here; netem sends at once too, but with order kept it would not overtake.
//! 3. The generator is the pipe's own.

use crate::config::{JitterConfig, JitterDistribution};
use crate::error::{ConfigError, probability, span};
use crate::time::Nanos;
use bentpipe_base::normal;
use bentpipe_base::stream;
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::LazyLock;

/// Entries in a table and what stands for one spread in it (`NETEM_DIST_SCALE`).
const ENTRIES: usize = 4096;
const SCALE: f64 = 8192.0;

#[derive(Debug)]
pub(crate) struct Jitter {
    spread: i64,
    /// Out of 2^32.
    correlation: u64,
    last: u32,
    /// In units of 1/8192 of the spread, rising; empty for the uniform distribution.
    table: &'static [i16],
    rng: Xoshiro256PlusPlus,
}

impl Jitter {
    pub fn new(config: &JitterConfig, seed: u64, place: &str) -> Result<Self, ConfigError> {
        let spread = span("propagation.jitter.spread_ns", config.spread_ns)?;
        let correlation = probability("propagation.jitter.correlation", config.correlation)?;
        let table = match config.distribution {
            JitterDistribution::Uniform => &[],
            JitterDistribution::Normal => NORMAL.as_slice(),
            JitterDistribution::Pareto => PARETO.as_slice(),
        };
        let mut rng = stream(seed, place);
        let last = upper(&mut rng);
        Ok(Self {
            spread: spread.0,
            correlation: (correlation * 4_294_967_296.0) as u64,
            last,
            table,
            rng,
        })
    }

    /// No draw is below this.
    pub fn least(&self) -> Nanos {
        match self.table.first() {
            None => Nanos(-self.spread),
            Some(&entry) => self.scaled(entry),
        }
    }

    fn scaled(&self, entry: i16) -> Nanos {
        Nanos(((i128::from(entry) * i128::from(self.spread)) >> 13) as i64)
    }

    /// What to add to the delay.
    pub fn draw(&mut self) -> Nanos {
        let fresh = u64::from(upper(&mut self.rng));
        let mixed = u128::from(fresh) * u128::from((1 << 32) - self.correlation)
            + u128::from(self.last) * u128::from(self.correlation);
        self.last = (mixed >> 32) as u32;
        if self.table.is_empty() {
            let width = 2 * i128::from(self.spread);
            Nanos(((i128::from(self.last) * width) >> 32) as i64 - self.spread)
        } else {
            self.scaled(self.table[(self.last >> 20) as usize])
        }
    }
}

/// Made once, by `libm`'s functions, which give the same bits on every platform: with a server's line each, many jitters share one.
static NORMAL: LazyLock<Vec<i16>> = LazyLock::new(|| table(normal::quantile));
static PARETO: LazyLock<Vec<i16>> = LazyLock::new(|| table(inverse_pareto));

fn upper(rng: &mut Xoshiro256PlusPlus) -> u32 {
    (rng.next_u64() >> 32) as u32
}

fn table(inverse: fn(f64) -> f64) -> Vec<i16> {
    (0..ENTRIES)
        .map(|i| {
            let value = inverse((i as f64 + 0.5) / ENTRIES as f64) * SCALE;
            value.round().clamp(-32767.0, 32767.0) as i16
        })
        .collect()
}

fn inverse_pareto(u: f64) -> f64 {
    (libm::cbrt(1.0 - u).recip() - 1.5) * 4.0 / 3.0
}
