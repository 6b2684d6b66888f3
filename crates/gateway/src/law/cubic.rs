//! CUBIC's window (RFC 9438), for the time in which others fill the queue. Its signal is overflow, not loss.

use bentpipe_base::{Nanos, Time};

const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// A full packet on the path.
pub(super) const PACKET: f64 = 1500.0;
const LEAST: f64 = 4.0;

/// Packets where nothing else is said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cubic {
    window: f64,
    most: f64,
    begun: Option<(Time, f64)>,
    /// What Reno would have (section 4.3).
    reno: f64,
    before: f64,
}

impl Cubic {
    /// What is left of the window after an overflow.
    pub const AFTER_OVERFLOW: f64 = BETA;

    /// Of a flow that has so much under way. `makes_room`: it had the path alone, and meets the first newcomer (section 4.7).
    pub fn new(bytes: f64, makes_room: bool) -> Self {
        let window = (bytes / PACKET).max(LEAST);
        Self {
            window,
            most: if makes_room { f64::INFINITY } else { window },
            begun: None,
            reno: window,
            before: window,
        }
    }

    pub fn bytes(&self) -> f64 {
        self.window * PACKET
    }

    /// Of a flow that has no more than this under way, though its window may allow it.
    pub fn with_at_most(mut self, bytes: f64) -> Self {
        self.window = self.window.min(bytes / PACKET).max(LEAST);
        self.begun = None;
        self
    }

    /// Section 4.6 and, for fast convergence, 4.7.
    pub fn on_overflow(&mut self) {
        self.most = if self.window < self.most {
            self.window * f64::midpoint(1.0, BETA)
        } else {
            self.window
        };
        self.before = self.window;
        self.window = (self.window * BETA).max(LEAST);
        self.begun = None;
    }

    /// So many bytes have left the path while the window was the limit (sections 4.2 to 4.5).
    pub fn on_passed(&mut self, now: Time, bytes: u64, round_trip: Nanos) {
        let packets = bytes as f64 / PACKET;
        let (begun, k) = *self.begun.get_or_insert_with(|| {
            self.reno = self.window;
            let short = (self.most - self.window).max(0.0);
            (now, libm::cbrt(short / C))
        });
        let at = |time: f64| C * (time - k).powi(3) + self.most;
        let time = (now - begun).as_secs_f64();
        let target = at(time + round_trip.as_secs_f64());
        let target = target.max(self.window).min(1.5 * self.window);
        let alpha = if self.reno >= self.before {
            1.0
        } else {
            3.0 * (1.0 - BETA) / (1.0 + BETA)
        };
        self.reno += alpha * packets / self.window;
        if at(time) < self.reno {
            self.window = self.window.max(self.reno);
        } else {
            self.window += (target - self.window) / self.window * packets;
        }
    }

    /// The time that has passed without sending does not count.
    pub fn pause(&mut self, span: Nanos) {
        if let Some((begun, _)) = &mut self.begun {
            *begun += span;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_had_the_path_aims_below_what_it_had_and_others_at_it() {
        let aims = [true, false].map(|makes_room| {
            let mut cubic = Cubic::new(100.0 * PACKET, makes_room);
            cubic.on_overflow();
            assert!((cubic.bytes() - 70.0 * PACKET).abs() < 1.0);
            cubic.most
        });
        assert!((aims[0] - 85.0).abs() < 1e-6 && (aims[1] - 100.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_not_under_way_is_not_given_back() {
        let cubic = Cubic::new(100.0 * PACKET, false);
        assert!((cubic.with_at_most(60.0 * PACKET).bytes() - 60.0 * PACKET).abs() < 1.0);
        assert!((cubic.with_at_most(160.0 * PACKET).bytes() - 100.0 * PACKET).abs() < 1.0);
    }
}
