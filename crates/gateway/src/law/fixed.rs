//! A known rate, which is used from the first packet on, whatever the channel loses. Where a queue stands, a little less; where it
//! overflows, what passes it.

use super::overload::Overload;
use super::{Heard, Law, Sending};
use crate::standing::StandingQueue;
use bentpipe_base::Time;

#[derive(Clone, Copy, Debug)]
pub(super) struct Fixed {
    bit_s: u64,
    present_bit_s: u64,
    standing: StandingQueue,
    overload: Overload,
}

impl Fixed {
    pub fn new(bit_s: u64) -> Self {
        Self {
            bit_s,
            present_bit_s: bit_s,
            standing: StandingQueue::default(),
            overload: Overload::default(),
        }
    }
}

impl Law for Fixed {
    fn on_sent(&mut self, _: Time, _: Sending) {}

    fn on_report(&mut self, now: Time, heard: &Heard) {
        if let Some(round_trip) = heard.round_trip {
            if heard.after_silence {
                self.overload.forget_span(now);
            }
            let share =
                self.overload
                    .on_report(now, round_trip, heard.decided, heard.judged_overflow);
            let passes = (self.bit_s as f64 * share) as u64;
            self.present_bit_s = self.standing.on_round_trip(now, round_trip, passes);
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
