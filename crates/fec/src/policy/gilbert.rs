//! The channel as the policies see it: Gilbert's model with a loss rate and a mean length of bursts (Gilbert, "Capacity of a
//! burst-noise channel", Bell System Technical Journal 39, 1960, with a bad state that loses everything).

/// The highest loss rate that is planned for. Above it a tunnel does not help.
const MOST_LOSS: f64 = 0.9;

/// A channel is good or bad for each frame. A bad one loses it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gilbert {
    /// The share of frames that are lost.
    pub loss: f64,
    /// The probability that the channel is bad for the next frame, if it is good for this one.
    pub enter: f64,
    /// The probability that it is good for the next frame, if it is bad for this one.
    pub leave: f64,
}

impl Gilbert {
    pub fn new(loss_rate: f64, burst_packets: f64) -> Self {
        let loss = loss_rate.clamp(0.0, MOST_LOSS);
        let arriving = 1.0 - loss;
        // A burst is never shorter than chance makes it.
        let leave = 1.0 / burst_packets.max(1.0 / arriving);
        Self {
            loss,
            enter: (loss * leave / arriving).min(1.0),
            leave,
        }
    }

    /// How many times the variance of the number of losses is that of losses one by one: it grows by the correlation of
    /// neighbours.
    pub fn variance_growth(&self) -> f64 {
        let correlation = 1.0 - self.leave - self.enter;
        (1.0 + correlation) / (1.0 - correlation)
    }
}
