//! A known rate, which is used from the first packet on, whatever is lost. Where a queue stands, a little less.

use super::{Heard, Law, Sending};
use crate::standing::StandingQueue;
use bentpipe_base::Time;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    bit_s: u64,
    present_bit_s: u64,
    standing: StandingQueue,
}

impl Fixed {
    pub fn new(bit_s: u64) -> Self {
        Self {
            bit_s,
            present_bit_s: bit_s,
            standing: StandingQueue::default(),
        }
    }
}

impl Law for Fixed {
    fn on_sent(&mut self, _: Time, _: Sending) {}

    fn on_report(&mut self, now: Time, heard: &Heard) {
        if let Some(round_trip) = heard.round_trip {
            self.present_bit_s = self.standing.on_round_trip(now, round_trip, self.bit_s);
        }
    }

    fn on_nothing_to_send(&mut self) {}

    fn rate_bit_s(&self) -> u64 {
        self.present_bit_s
    }

    fn whole_bit_s(&self) -> u64 {
        self.bit_s
    }

    fn has_room(&self) -> bool {
        true
    }
}
