//! How many repairs a window needs, from the loss rate, the burst length and the residual that is accepted.

use bentpipe_base::normal;

/// Repairs per source packet such that a window of `window_packets` has more losses than repairs arrive with the probability
/// `residual`. Losses follow Gilbert's model with this rate and mean burst; their number and that of the repairs that arrive are
/// taken as normal. Repairs are apart from each other, so they are lost one by one.
///
/// It is a bound for blocks; a sliding window is a little better.
pub fn redundancy_for(
    loss_rate: f64,
    burst_packets: f64,
    window_packets: u32,
    residual: f64,
) -> f64 {
    let loss = loss_rate.clamp(0.0, 0.9);
    if loss == 0.0 || window_packets == 0 {
        return 0.0;
    }
    let window = f64::from(window_packets);
    let arriving = 1.0 - loss;
    let margin = normal::quantile(1.0 - residual.clamp(1e-9, 0.5));
    // A burst is never shorter than chance makes it.
    let leave = 1.0 / burst_packets.max(1.0 / arriving);
    let enter = (loss * leave / arriving).min(1.0);
    // The variance of a sum grows by the correlation of neighbours.
    let correlation = 1.0 - leave - enter;
    let growth = (1.0 + correlation) / (1.0 - correlation);
    let mut repairs = window * loss / arriving;
    for _ in 0..8 {
        let variance = loss * arriving * (window * growth + repairs);
        repairs = (window * loss + margin * variance.sqrt()) / arriving;
    }
    repairs / window
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
    fn longer_bursts_and_a_smaller_residual_need_more_and_no_loss_needs_nothing() {
        let ratio = redundancy_for(0.05, 1.0, 256, 0.01);
        assert!(ratio > 0.05 / 0.95);
        assert!(redundancy_for(0.05, 5.0, 256, 0.01) > ratio);
        assert!(redundancy_for(0.05, 1.0, 256, 0.001) > ratio);
        assert!(redundancy_for(0.05, 1.0, 1000, 0.01) < ratio);
        assert!(redundancy_for(0.0, 9.0, 256, 0.01).abs() < 1e-12);
    }
}
