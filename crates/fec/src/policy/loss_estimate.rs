//! The channel's loss rate and the mean length of its bursts, each estimated by its own ratio of counts.

use super::gilbert::Gilbert;

/// Packets after which an observation has lost 63 % of its weight: about 200 losses at 5 %.
const HORIZON_PACKETS: f64 = 4000.0;
/// How many packets the assumption before the first report is worth.
const PRIOR_PACKETS: f64 = 200.0;

/// Packets, losses and runs of losses, older ones with less weight.
#[derive(Clone, Copy, Debug)]
pub struct LossEstimate {
    packets: f64,
    lost: f64,
    runs: f64,
    /// What the assumption still is of `packets` and `lost`.
    assumed_packets: f64,
    assumed_lost: f64,
}

impl LossEstimate {
    /// Assumes losses one by one at this rate, until there are reports.
    pub fn new(initial_loss: f64) -> Self {
        let lost = initial_loss.clamp(0.0, 0.5) * PRIOR_PACKETS;
        Self {
            packets: PRIOR_PACKETS,
            lost,
            runs: lost,
            assumed_packets: PRIOR_PACKETS,
            assumed_lost: lost,
        }
    }

    /// Of `packets`, `lost` were lost, in `runs` unbroken runs.
    pub fn on_report(&mut self, packets: u32, lost: u32, runs: u32) {
        let lost = lost.min(packets);
        let runs = runs.min(lost);
        let kept = HORIZON_PACKETS / (HORIZON_PACKETS + f64::from(packets));
        self.packets = self.packets * kept + f64::from(packets);
        self.lost = self.lost * kept + f64::from(lost);
        self.runs = self.runs * kept + f64::from(runs);
        self.assumed_packets *= kept;
        self.assumed_lost *= kept;
    }

    pub(crate) fn channel(&self) -> Gilbert {
        Gilbert::new(self.loss_rate(), self.burst_packets())
    }

    /// The share of packets that are lost.
    pub fn loss_rate(&self) -> f64 {
        (self.lost / self.packets).clamp(0.0, 1.0)
    }

    /// The share of packets that are lost, by reports alone. `None`: they told of fewer packets than the assumption is worth.
    pub fn reported_loss_rate(&self) -> Option<f64> {
        let packets = self.packets - self.assumed_packets;
        let lost = self.lost - self.assumed_lost;
        (packets >= PRIOR_PACKETS).then(|| (lost / packets).clamp(0.0, 1.0))
    }

    /// The mean length of a run of losses, in packets. 1 where none was seen.
    pub fn burst_packets(&self) -> f64 {
        if self.runs > 0.0 {
            (self.lost / self.runs).max(1.0)
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_assumption_fades_and_the_rates_reported_remain() {
        let mut estimate = LossEstimate::new(0.05);
        assert!((estimate.loss_rate() - 0.05).abs() < 1e-12);
        assert!((estimate.burst_packets() - 1.0).abs() < 1e-12);
        for _ in 0..400 {
            estimate.on_report(100, 2, 1);
        }
        assert!((estimate.loss_rate() - 0.02).abs() < 1e-4);
        assert!((estimate.burst_packets() - 2.0).abs() < 1e-2);
    }

    #[test]
    fn what_is_assumed_is_not_called_reported() {
        let mut estimate = LossEstimate::new(0.02);
        assert_eq!(estimate.reported_loss_rate(), None);
        estimate.on_report(100, 0, 0);
        assert_eq!(estimate.reported_loss_rate(), None);
        estimate.on_report(200, 0, 0);
        assert!(estimate.reported_loss_rate().unwrap() < 1e-12);
        assert!(estimate.loss_rate() > 0.005);
        for _ in 0..100 {
            estimate.on_report(100, 5, 5);
        }
        assert!((estimate.reported_loss_rate().unwrap() - 0.05).abs() < 0.003);
    }

    #[test]
    fn impossible_counts_leave_rates_that_are_possible() {
        let mut estimate = LossEstimate::new(7.0);
        estimate.on_report(1, u32::MAX, u32::MAX);
        estimate.on_report(0, 5, 9);
        assert!((0.0..=1.0).contains(&estimate.loss_rate()));
        assert!(estimate.burst_packets() >= 1.0);
    }
}
