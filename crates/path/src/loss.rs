//! Which packets are lost at random: each on its own, in bursts, or as written down.
//!
//! Gilbert-Elliott (Gilbert 1960, Elliott 1963): two states with a loss probability each. As in netem's `loss
//! gemodel`, a packet is judged by the state it finds and then moves the chain. The chain begins good.

use crate::chance::Chance;
use crate::config::LossConfig;
use crate::error::{ConfigError, probability};
use bentpipe_base::stream;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug)]
pub(crate) struct Loss {
    model: Model,
    rng: Xoshiro256PlusPlus,
}

#[derive(Debug)]
enum Model {
    None,
    Bernoulli(Chance),
    GilbertElliott {
        to_bad: Chance,
        to_good: Chance,
        lost_in_good: Chance,
        lost_in_bad: Chance,
        bad: bool,
    },
    Trace {
        lost: Vec<bool>,
        next: usize,
    },
}

impl Loss {
    /// `field` is the dotted name under which an error is reported; `place` names the generator.
    pub fn new(
        config: &LossConfig,
        field: &str,
        seed: u64,
        place: &str,
    ) -> Result<Self, ConfigError> {
        let chance =
            |name: &str, p: f64| probability(format!("{field}.{name}"), p).map(Chance::new);
        let model = match config {
            LossConfig::None => Model::None,
            LossConfig::Bernoulli { p } => Model::Bernoulli(chance("p", *p)?),
            LossConfig::GilbertElliott { p, r, good, bad } => Model::GilbertElliott {
                to_bad: chance("p", *p)?,
                to_good: chance("r", *r)?,
                lost_in_good: chance("good", *good)?,
                lost_in_bad: chance("bad", *bad)?,
                bad: false,
            },
            LossConfig::Trace { lost } if lost.is_empty() => {
                let field = format!("{field}.lost");
                return Err(ConfigError::new(field, "[]", "at least one entry"));
            }
            LossConfig::Trace { lost } => Model::Trace {
                lost: lost.clone(),
                next: 0,
            },
        };
        Ok(Self {
            model,
            rng: stream(seed, place),
        })
    }

    /// Whether the next packet is lost.
    pub fn strikes(&mut self) -> bool {
        let rng = &mut self.rng;
        match &mut self.model {
            Model::None => false,
            Model::Bernoulli(chance) => chance.draw(rng),
            Model::GilbertElliott {
                to_bad,
                to_good,
                lost_in_good,
                lost_in_bad,
                bad,
            } => {
                let (lost, leaves) = if *bad {
                    (*lost_in_bad, *to_good)
                } else {
                    (*lost_in_good, *to_bad)
                };
                let struck = lost.draw(rng);
                *bad ^= leaves.draw(rng);
                struck
            }
            Model::Trace { lost, next } => {
                let struck = lost[*next];
                *next = (*next + 1) % lost.len();
                struck
            }
        }
    }
}
