//! Control laws: how fast a gateway sends, and how much may be under way. A law is told what was sent and what reports say, and gives a
//! rate and a limit. No I/O, no clock: time is an argument.
//!
//! | law | rate | gives way to others |
//! |---|---|---|
//! | [`fixed`] | the one that was given, from the first packet on | up to a tenth, where a queue stands; what overflows, where that is more |
//! | [`fair`], with a cap | what the path delivers, at most the cap | yes |
//! | [`fair`] | what the path delivers | yes |

mod cubic;
mod delays;
mod extremes;
mod fair;
mod fixed;
mod flight;
mod losses;
mod overload;
#[cfg(test)]
mod tests;

use crate::config::Rate;
use bentpipe_base::{Nanos, Time};
use core::fmt;
use fair::Fair;
use fixed::Fixed;

/// A datagram that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    /// With all headers below it.
    pub bytes: u64,
    /// The number of the packet if it is sent for the first time, otherwise of the next one.
    pub number: u64,
}

/// What a report says. Counts are packets since the report before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// The newest packet that came as it was sent, and when the report would be here had it been sent at once.
    pub newest: u64,
    pub came: Time,
    /// Of the newest packet of which one is known; `is_new`: no report before this one named it.
    pub round_trip: Option<Nanos>,
    pub is_new: bool,
    pub decided: u64,
    pub lost: u64,
    /// Of the lost, those by a full queue, as the receiver's times tell, and where they tell nothing, round trips.
    pub overflow: u64,
    /// Of the lost, those by a full queue, as the receiver's times tell and nothing else.
    pub judged_overflow: u64,
    /// Nothing had been heard for longer than a round trip: an outage.
    pub after_silence: bool,
}

/// Without its state: the module for a browser then has no words for what nobody prints there.
impl fmt::Debug for dyn Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a law")
    }
}

pub(crate) trait Law: Send {
    fn on_sent(&mut self, now: Time, sending: Sending);

    fn on_report(&mut self, now: Time, heard: &Heard);

    /// There was room for a datagram, and nothing to send.
    fn on_nothing_to_send(&mut self);

    /// In IP packets.
    fn rate_bit_s(&self) -> u64;

    /// The same without what is left to others for a while.
    fn whole_bit_s(&self) -> u64 {
        self.rate_bit_s()
    }

    /// Whether new packets and repairs may leave. What was asked for may leave at any time, at the rate.
    fn has_room(&self) -> bool;
}

/// `report_every`: reports wait so long for each other.
pub(crate) fn law(rate: Rate, report_every: Nanos) -> Box<dyn Law> {
    match rate {
        Rate::Fixed(bit_s) => Box::new(Fixed::new(bit_s)),
        Rate::Capped(bit_s) => Box::new(Fair::new(Some(bit_s), report_every)),
        Rate::Fair => Box::new(Fair::new(None, report_every)),
    }
}
