//! A congestion controller that does not control: the session above has its own control law and its own pacer.
//!
//! It only stops what would use up memory. QUIC remembers each packet until it is acknowledged or lost, and during an outage neither
//! happens. So no more is sent while `most_bytes` are in flight. Loss probes and acknowledgements still leave then.
//!
//! noq-proto 1.4.0 paces by the window and the RTT, unless the window is over `u32::MAX` (`connection/pacing.rs`). The window in
//! `metrics` is always over it, also while nothing may be sent: otherwise the pacer would hold back the probes.

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// A window that no path fills.
const OPEN: u64 = 1 << 60;
/// A window that no packet fits in. Zero is not allowed.
const SHUT: u64 = 1;

/// Makes a controller for each path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unlimited {
    /// The most bytes that may be neither acknowledged nor lost.
    pub most_bytes: u64,
}

impl ControllerFactory for Unlimited {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Counter {
            most_bytes: self.most_bytes,
            in_flight: 0,
        })
    }
}

#[derive(Clone, Debug)]
struct Counter {
    most_bytes: u64,
    in_flight: u64,
}

impl Controller for Counter {
    fn on_packet_sent(&mut self, _now: Instant, bytes: u16, _number: u64) {
        self.in_flight += u64::from(bytes);
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        _sent: Instant,
        bytes: u64,
        _number: u64,
        _app_limited: bool,
        _rtt: &RttEstimator,
    ) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
    }

    fn on_end_acks(
        &mut self,
        _now: Instant,
        in_flight: u64,
        _app_limited: bool,
        _largest: Option<u64>,
    ) {
        self.in_flight = in_flight;
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, _number: u64, _now: Instant) {
        self.in_flight = self.in_flight.saturating_sub(lost_bytes.into());
    }

    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        _is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost: u64,
    ) {
    }

    fn on_mtu_update(&mut self, _new_mtu: u16) {}

    fn window(&self) -> u64 {
        if self.in_flight < self.most_bytes {
            OPEN
        } else {
            SHUT
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = OPEN;
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        OPEN
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_shut_only_while_too_much_is_in_flight_and_the_pacer_never_sees_it() {
        let now = Instant::now();
        let mut counter = Counter {
            most_bytes: 3000,
            in_flight: 0,
        };
        for number in 0..3 {
            assert_eq!(counter.window(), OPEN);
            counter.on_packet_sent(now, 1000, number);
        }
        assert_eq!(
            (counter.window(), counter.metrics().congestion_window),
            (SHUT, OPEN)
        );
        assert_eq!(counter.metrics().pacing_rate, None);
        counter.on_congestion_event(now, now, true, false, 1000, 0);
        counter.on_packet_lost(1000, 0, now);
        assert_eq!(counter.window(), OPEN);
        counter.on_packet_sent(now, 1000, 3);
        counter.on_end_acks(now, 0, false, Some(3));
        assert_eq!((counter.window(), counter.in_flight), (OPEN, 0));
    }
}
