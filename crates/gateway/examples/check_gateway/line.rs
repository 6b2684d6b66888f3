//! One direction of the path.

use crate::scenario::Pipe;
use bentpipe_base::{Nanos, Time};

pub struct Line {
    pub pipe: Pipe,
    /// When it has sent all that it took.
    pub free_at: Time,
    in_burst: bool,
    pub closed_until: Time,
}

impl Line {
    pub fn new(pipe: &Pipe) -> Self {
        Self {
            pipe: pipe.clone(),
            free_at: Time::ZERO,
            in_burst: false,
            closed_until: Time::ZERO,
        }
    }

    /// What becomes of a packet of so many bytes: "sent", or why it is lost. `draw`: 0 to 1, by chance.
    pub fn fate(&mut self, now: Time, bytes: u64, draw: f64) -> &'static str {
        let pipe = &self.pipe;
        let waiting = (self.free_at - now).0.max(0) as u128 * u128::from(pipe.rate);
        let waiting = (waiting / 8_000_000_000) as u64;
        if now < self.closed_until {
            "lost: the path is down"
        } else if waiting + bytes > pipe.queue {
            "lost: the queue is full"
        } else {
            let span = Nanos((bytes * 8_000_000_000 / pipe.rate) as i64);
            self.free_at = self.free_at.max(now) + span;
            let probability = if self.in_burst {
                pipe.burst.max(pipe.loss)
            } else {
                pipe.loss
            };
            self.in_burst = draw < probability;
            if self.in_burst { "lost" } else { "sent" }
        }
    }
}
