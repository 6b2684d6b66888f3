//! Before the queue: random loss, then a policer.
//!
//! The policer is a token bucket that drops what does not conform (RFC 2697's single rate, without colours and
//! without a second bucket). It begins full. What is lost at random takes no tokens.

use crate::config::{IngressConfig, PolicerConfig};
use crate::error::{ConfigError, positive};
use crate::loss::Loss;
use crate::shaper::Bucket;
use crate::time::Time;
use crate::totals::DropCause;

#[derive(Debug)]
pub(crate) struct Ingress {
    loss: Loss,
    policer: Option<Bucket>,
}

impl Ingress {
    pub fn new(
        config: &IngressConfig,
        mtu: u32,
        seed: u64,
        place: &str,
    ) -> Result<Self, ConfigError> {
        let loss = Loss::new(
            &config.loss,
            "ingress.loss",
            seed,
            &format!("{place}/ingress/loss"),
        )?;
        let policer = config.policer.map(|it| policer(it, mtu)).transpose()?;
        Ok(Self { loss, policer })
    }

    /// Why a packet that arrives now goes no further, if it does not.
    pub fn refuses(&mut self, now: Time, bytes: u32) -> Option<DropCause> {
        if self.loss.strikes() {
            return Some(DropCause::Ingress);
        }
        let conforms = self
            .policer
            .as_mut()
            .is_none_or(|bucket| bucket.take_if_ready(now, bytes));
        (!conforms).then_some(DropCause::Policer)
    }
}

fn policer(config: PolicerConfig, mtu: u32) -> Result<Bucket, ConfigError> {
    let rate = positive("ingress.policer.rate_bit_s", config.rate_bit_s)?;
    if config.burst_bytes < u64::from(mtu) {
        return Err(ConfigError::new(
            "ingress.policer.burst_bytes",
            config.burst_bytes,
            "at least the MTU, or a full-sized packet never conforms",
        ));
    }
    Ok(Bucket::full(rate, config.burst_bytes))
}
