//! Titration: repairs wait in a place of their own and enter when the queue behind the tunnel has room.
//!
//! The queue is modelled: it drains at its rate, and what the tunnel sends fills it. Whoever can see the real queue says what it
//! holds, and the model goes on from there. A repair that waits is a promise: it is made when it enters, so it covers the newest
//! packets and never comes too late.

use bentpipe_base::{Nanos, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TitrationConfig {
    /// What drains the queue.
    pub rate_bit_s: u64,
    /// A repair enters while the queue holds at most so much.
    pub room_bytes: u64,
    /// Headers below the tunnel's: IP and UDP, 28 bytes over IPv4.
    pub outer_bytes: u32,
    /// More repairs than this do not wait; they are not sent.
    pub max_waiting: u32,
}

#[derive(Clone, Copy, Debug)]
pub struct Titration {
    config: TitrationConfig,
    /// When the queue is empty if nothing more is sent.
    empty_at: Time,
}

impl Titration {
    pub fn new(config: TitrationConfig) -> Self {
        Self {
            config,
            empty_at: Time(i64::MIN / 2),
        }
    }

    pub fn max_waiting(&self) -> u32 {
        self.config.max_waiting
    }

    fn service(&self, bytes: u64) -> Nanos {
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(self.config.rate_bit_s.max(1));
        // A queue that takes longer than a day to drain never has room.
        Nanos(nanos.min(86_400_000_000_000) as i64)
    }

    /// The queue holds so much now.
    pub fn set_queue(&mut self, now: Time, bytes: u64) {
        self.empty_at = now + self.service(bytes);
    }

    pub fn on_sent(&mut self, now: Time, bytes: u32) {
        let bytes = u64::from(bytes) + u64::from(self.config.outer_bytes);
        self.empty_at = self.empty_at.max(now) + self.service(bytes);
    }

    /// When a repair may enter: an instant that has passed, or one to come if nothing more is sent.
    pub fn room_at(&self) -> Time {
        self.empty_at - self.service(self.config.room_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repair_enters_when_the_queue_has_drained_to_its_room() {
        let mut titration = Titration::new(TitrationConfig {
            rate_bit_s: 8_000_000, // 1 us per byte
            room_bytes: 2000,
            outer_bytes: 28,
            max_waiting: 10,
        });
        let now = Time(5_000_000);
        assert!(titration.room_at() <= now);
        titration.on_sent(now, 1972);
        assert_eq!(titration.room_at(), now);
        titration.on_sent(now, 972);
        assert_eq!(titration.room_at(), now + Nanos::from_millis(1));
        // The real queue held less than the model had thought.
        titration.set_queue(now, 100);
        assert!(titration.room_at() < now);
    }
}
