//! When repairs are made, how many, and when they may enter: small state machines that know no packets.

mod adaptive;
mod debt;
mod deficit;
mod gilbert;
mod loss_estimate;
mod plan;
mod queueing;
mod recent;
mod redundancy;
mod titration;

pub use loss_estimate::LossEstimate;
pub(crate) use plan::RepairPlan;
pub use queueing::QueueingDetector;
pub use redundancy::redundancy_for;
pub use titration::{Titration, TitrationConfig};

/// How many repairs are sent beside the source packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// None.
    Off,
    /// So many repairs per source packet.
    Fixed { ratio: f64 },
    /// As many as the losses on the channel ask for.
    Adaptive {
        /// The probability that the packets within the hold (`SenderConfig::recover_within`) have more losses than their repairs
        /// can recover.
        residual: f64,
        /// The loss rate that is assumed before anything was reported.
        initial_loss: f64,
        /// Never more repairs per source packet than this.
        max_ratio: f64,
    },
}
