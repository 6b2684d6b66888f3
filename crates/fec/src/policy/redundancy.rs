//! How many repairs packets need, from the loss rate, the burst length and the residual that is accepted.
//!
//! Of `n` packets L are lost, and of `r` repairs that cover them R arrive. The packets are recovered if L <= R. L has the mean
//! `n p` and the variance `n p (1 - p) g`: `g` is 1 for losses one by one, and grows with the length of bursts. R has the mean
//! `r (1 - p)` and the variance `r p (1 - p)`: repairs are apart from each other, so they are lost one by one. By the central
//! limit theorem L - R is taken as normal, so P(L > R) is the residual if, with `z` its quantile,
//!
//! ```text
//! r (1 - p) = n p + z sqrt(p (1 - p) (n g + r))
//! ```
//!
//! Squared, this is a quadratic equation in `r`. The smaller `n`, the more repairs per packet are needed.

use super::gilbert::Gilbert;
use bentpipe_base::normal;

/// The repairs for a channel and a residual, for any number of packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Redundancy {
    loss: f64,
    variance_growth: f64,
    /// The residual's quantile.
    margin: f64,
}

impl Redundancy {
    pub fn new(channel: Gilbert, residual: f64) -> Self {
        Self {
            loss: channel.loss,
            variance_growth: channel.variance_growth(),
            margin: normal::quantile(1.0 - residual.clamp(1e-9, 0.5)),
        }
    }

    /// Repairs per packet, so that `packets` have more losses than repairs arrive with the probability of the residual.
    pub fn ratio(&self, packets: u32) -> f64 {
        if self.loss == 0.0 || packets == 0 {
            return 0.0;
        }
        let packets = f64::from(packets);
        let arriving = 1.0 - self.loss;
        let lost = packets * self.loss;
        let spread = self.margin * self.margin * self.loss * arriving;
        // arriving^2 r^2 - 2 half r + constant = 0; the larger root is that of the equation before it was squared.
        let half = arriving * lost + spread / 2.0;
        let constant = lost * lost - spread * packets * self.variance_growth;
        let repairs = (half
            + (half * half - arriving * arriving * constant)
                .max(0.0)
                .sqrt())
            / (arriving * arriving);
        repairs / packets
    }
}

/// Repairs per packet such that `packets` have more losses than repairs arrive with the probability `residual`. Losses follow
/// Gilbert's model with this rate and mean burst.
///
/// It is a bound for blocks; a sliding window is a little better.
pub fn redundancy_for(loss_rate: f64, burst_packets: f64, packets: u32, residual: f64) -> f64 {
    Redundancy::new(Gilbert::new(loss_rate, burst_packets), residual).ratio(packets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_base::SplitMix64;

    /// The share of windows with more losses than repairs that arrive.
    fn residual_by_trial(loss: f64, burst: f64, window: u32, ratio: f64) -> f64 {
        let mut random = SplitMix64(7);
        let mut chance = |probability: f64| {
            f64::from(random.draw_below(1 << 30)) < probability * f64::from(1 << 30)
        };
        let leave = 1.0 / burst;
        let enter = loss * leave / (1.0 - loss);
        let mut bad = false;
        let windows = 20_000;
        let mut failed = 0;
        for _ in 0..windows {
            let mut lost = 0_u32;
            for _ in 0..window {
                bad = if bad { !chance(leave) } else { chance(enter) };
                lost += u32::from(bad);
            }
            let repairs = (ratio * f64::from(window)).round() as u32;
            let arrived = (0..repairs).filter(|_| !chance(loss)).count() as u32;
            failed += u32::from(lost > arrived);
        }
        f64::from(failed) / f64::from(windows)
    }

    #[test]
    fn the_residual_is_reached_without_waste_for_single_losses_and_for_bursts() {
        for (loss, burst) in [(0.01, 1.0 / 0.99), (0.05, 1.0 / 0.95), (0.05, 5.0)] {
            let ratio = redundancy_for(loss, burst, 500, 0.05);
            let residual = residual_by_trial(loss, burst, 500, ratio);
            assert!(
                (0.02..0.09).contains(&residual),
                "{loss} {burst}: {residual}"
            );
        }
    }

    #[test]
    fn fewer_packets_need_more_repairs_each() {
        // The figures of docs/coding.md.
        for (packets, right) in [(183, 0.094), (10, 0.241)] {
            let ratio = redundancy_for(0.05, 1.0, packets, 0.01);
            assert!((ratio - right).abs() < 0.001, "{packets}: {ratio}");
        }
    }

    #[test]
    fn longer_bursts_and_a_smaller_residual_need_more_and_no_loss_needs_nothing() {
        let ratio = redundancy_for(0.05, 1.0, 256, 0.01);
        assert!(ratio > 0.05 / 0.95);
        assert!(redundancy_for(0.05, 5.0, 256, 0.01) > ratio);
        assert!(redundancy_for(0.05, 1.0, 256, 0.001) > ratio);
        assert!(redundancy_for(0.05, 1.0, 1000, 0.01) < ratio);
        assert!(redundancy_for(0.0, 9.0, 256, 0.01).abs() < 1e-12);
    }
}
