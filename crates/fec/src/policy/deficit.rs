//! What a sender knows of its receiver's deficit before any report: packets that were lost, less repairs that came for them.

use super::gilbert::Gilbert;

/// Deficits from here on count as this one.
const MOST: usize = 256;
/// A tail of less probability than this counts as the deficit before it.
const NEGLIGIBLE: f64 = 1e-12;

/// The probability of each deficit, given the frames that were sent.
///
/// The channel is a Markov chain of two states (Gilbert), and the deficit one on top of it: a packet that is sent while the channel
/// is bad adds one, a repair that is sent while it is good takes one, and below zero there is nothing to take. Each frame multiplies
/// the distribution by the matrix of its transitions. For losses one by one and packets before repairs this is the
/// binomial tail. It is exact for a code whose repairs each recover any one of the packets that were sent
/// before them. Of ours one in 255 does not. Packets that left the window are not taken out.
#[derive(Clone, Debug)]
pub(crate) struct DeficitDistribution {
    channel: Gilbert,
    /// By deficit: the probability of it together with the channel's state at the last frame.
    good: Vec<f64>,
    bad: Vec<f64>,
}

impl DeficitDistribution {
    pub fn new(channel: Gilbert) -> Self {
        let mut none = Self {
            channel,
            good: Vec::new(),
            bad: Vec::new(),
        };
        none.clear();
        none
    }

    /// From the next frame on.
    pub fn set_channel(&mut self, channel: Gilbert) {
        self.channel = channel;
    }

    /// The receiver has all that was sent.
    pub fn clear(&mut self) {
        self.good.clear();
        self.bad.clear();
        self.good.push(1.0 - self.channel.loss);
        self.bad.push(self.channel.loss);
    }

    /// The probability that packets are missing.
    pub fn is_positive(&self) -> f64 {
        (1.0 - self.good[0] - self.bad[0]).max(0.0)
    }

    /// The channel's state for the next frame.
    fn step(&mut self) {
        let Gilbert { enter, leave, .. } = self.channel;
        for (good, bad) in self.good.iter_mut().zip(&mut self.bad) {
            let (was_good, was_bad) = (*good, *bad);
            *good = was_good * (1.0 - enter) + was_bad * leave;
            *bad = was_good * enter + was_bad * (1.0 - leave);
        }
    }

    pub fn on_packet(&mut self) {
        self.step();
        self.bad.insert(0, 0.0);
        self.good.push(0.0);
        self.shorten();
    }

    pub fn on_repair(&mut self) {
        self.step();
        if self.good.len() > 1 {
            let first = self.good.remove(0);
            self.good[0] += first;
            self.good.push(0.0);
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        while let (Some(good), Some(bad)) = (self.good.last(), self.bad.last())
            && self.good.len() > 1
            && (self.good.len() > MOST || good + bad < NEGLIGIBLE)
        {
            let (good, bad) = (*good, *bad);
            self.good.pop();
            self.bad.pop();
            if let (Some(last_good), Some(last_bad)) = (self.good.last_mut(), self.bad.last_mut()) {
                *last_good += good;
                *last_bad += bad;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P(X = k) for k from 0 to n, of n trials that succeed with this probability.
    fn binomial(n: u32, probability: f64) -> Vec<f64> {
        let mut found = vec![0.0; n as usize + 1];
        found[0] = 1.0;
        for _ in 0..n {
            for k in (0..found.len()).rev() {
                let fewer = if k > 0 { found[k - 1] } else { 0.0 };
                found[k] = found[k] * (1.0 - probability) + fewer * probability;
            }
        }
        found
    }

    proptest! {
        #[test]
        fn after_packets_and_then_repairs_it_is_the_binomial_tail(
            loss in 0.0..0.5_f64, packets in 0..60_u32, repairs in 0..30_u32,
        ) {
            let mut deficit = DeficitDistribution::new(Gilbert::new(loss, 1.0));
            (0..packets).for_each(|_| deficit.on_packet());
            (0..repairs).for_each(|_| deficit.on_repair());
            let arrived = binomial(repairs, 1.0 - loss);
            let more_lost: f64 = binomial(packets, loss)
                .iter()
                .enumerate()
                .map(|(lost, probability)| probability * arrived.iter().take(lost).sum::<f64>())
                .sum();
            prop_assert!((deficit.is_positive() - more_lost).abs() < 1e-9);
        }

        #[test]
        fn whatever_is_sent_it_stays_a_distribution_of_bounded_length(
            loss in 0.0..2.0_f64, burst in 0.0..50.0_f64, repairs in prop::collection::vec(any::<bool>(), 0..600),
        ) {
            let mut deficit = DeficitDistribution::new(Gilbert::new(loss, burst));
            for is_repair in repairs {
                if is_repair { deficit.on_repair() } else { deficit.on_packet() }
                let sum: f64 = deficit.good.iter().chain(&deficit.bad).sum();
                prop_assert!((sum - 1.0).abs() < 1e-9);
                prop_assert!(deficit.good.len() == deficit.bad.len() && deficit.good.len() <= MOST);
                prop_assert!(deficit.good.iter().chain(&deficit.bad).all(|&it| it >= 0.0));
            }
        }
    }

    #[test]
    fn a_burst_takes_the_repairs_behind_it_with_it() {
        let after = |burst| {
            let mut deficit = DeficitDistribution::new(Gilbert::new(0.05, burst));
            (0..10).for_each(|_| deficit.on_packet());
            (0..3).for_each(|_| deficit.on_repair());
            deficit.is_positive()
        };
        assert!(
            after(1.0) < 0.01 && after(10.0) > 0.03,
            "{} {}",
            after(1.0),
            after(10.0)
        );
    }
}
