//! `HyStart`, the end of CUBIC's slow start before loss (Ha and Rhee, "Taming the elephants", 2011), as in Linux 6.14
//! and later (`hystart_update` in `net/ipv4/tcp_cubic.c`).
//!
//! Two signs end slow start, each by setting ssthresh to the present cwnd: a train of closely spaced ACKs that is
//! as long as half the round trip, and a round whose smallest RTT has risen above the smallest ever.
//!
//! 1. The largest burst (`sk_gso_max_size`) is a constant, that of a device with 64 kB of segmentation offload.
//! 2. A connection is taken as not paced (`SK_PACING_NONE`), but for one that Careful Resume has paced or whose application bounds
//!    its pacing: then, as with the fq queueing discipline, Linux waits for a train of a whole RTT.

use super::Window;
use bentpipe_base::time::{Nanos, Time};

const LOW_WINDOW: u32 = 16;
const MIN_SAMPLES: u32 = 8;
const ACK_SPACING: Nanos = Nanos::from_millis(2);
const DELAY_MIN: Nanos = Nanos::from_millis(4);
const DELAY_MAX: Nanos = Nanos::from_millis(16);
const BURST_BYTES: u64 = 65_536 - 321;

#[derive(Debug)]
pub struct HyStart {
    found: bool,
    /// What the ACKs answer left paced, so they are a train of a whole round trip at best.
    paced: bool,
    round_start: Time,
    round_end: u64,
    last_ack: Time,
    round_rtt: Nanos,
    samples: u32,
}

impl HyStart {
    /// Before the connection: the first round begins with [`restart`](Self::restart).
    pub const fn new() -> Self {
        Self {
            found: false,
            paced: false,
            round_start: Time::ZERO,
            round_end: 0,
            last_ack: Time::ZERO,
            round_rtt: Nanos(i64::MAX),
            samples: 0,
        }
    }

    /// Slow start begins: search again.
    pub fn restart(&mut self, window: &Window) {
        self.found = false;
        self.begin_round(window);
    }

    /// From now on the sender's segments leave paced.
    pub fn expect_pacing(&mut self) {
        self.paced = true;
    }

    fn begin_round(&mut self, window: &Window) {
        self.round_start = window.now;
        self.last_ack = window.now;
        self.round_end = window.snd_nxt;
        self.round_rtt = Nanos(i64::MAX);
        self.samples = 0;
    }

    /// An ACK in slow start with this RTT; `delay_min` is the smallest RTT of the connection.
    pub fn on_ack(&mut self, window: &mut Window, rtt: Nanos, delay_min: Nanos) {
        if self.found {
            return;
        }
        if window.snd_una > self.round_end {
            self.begin_round(window);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        if window.now - self.last_ack <= ACK_SPACING {
            self.last_ack = window.now;
            let whole = delay_min.0 + burst_time(window.pacing_rate).0;
            let paced = self.paced || window.max_pacing_rate != u64::MAX;
            let longest = Nanos(if paced { whole } else { whole / 2 });
            if window.now - self.round_start > longest {
                self.exit(window);
            }
        }
        self.round_rtt = self.round_rtt.min(rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
        } else if self.round_rtt > delay_min + Nanos(delay_min.0 / 8).clamp(DELAY_MIN, DELAY_MAX) {
            self.exit(window);
        }
    }

    fn exit(&mut self, window: &mut Window) {
        self.found = true;
        window.ssthresh = window.cwnd;
    }
}

/// Four bursts' time at the pacing rate, at most 1 ms: what offload may add to an ACK train (`hystart_ack_delay`).
fn burst_time(pacing_rate: Option<u64>) -> Nanos {
    pacing_rate
        .filter(|&rate| rate > 0)
        .map_or(Nanos::ZERO, |rate| {
            Nanos::from_micros((BURST_BYTES * 4 * 1_000_000 / rate).min(1000) as i64)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{INFINITE_SSTHRESH, testing};

    const DELAY: Nanos = Nanos::from_millis(500);

    /// A round of `rtts`, one ACK each, 5 ms apart so that no train forms.
    fn round(hystart: &mut HyStart, window: &mut Window, rtts: impl Iterator<Item = Nanos>) {
        window.view.snd_una = window.snd_nxt + 1;
        window.view.snd_nxt = window.snd_una + 100;
        for rtt in rtts {
            window.view.now += Nanos::from_millis(5);
            hystart.on_ack(window, rtt, DELAY);
        }
    }

    fn started(cwnd: u32) -> (HyStart, Window) {
        let mut hystart = HyStart::new();
        let window = testing::window(cwnd, DELAY);
        hystart.restart(&window);
        (hystart, window)
    }

    #[test]
    fn a_round_that_is_slower_by_more_than_16_ms_on_a_long_path_ends_slow_start() {
        for (extra_ms, exits) in [(15, false), (16, false), (17, true)] {
            let (mut hystart, mut window) = started(40);
            let slow = DELAY + Nanos::from_millis(extra_ms);
            round(&mut hystart, &mut window, (0..9).map(|_| slow));
            assert_eq!(window.ssthresh == 40, exits, "{extra_ms} ms");
        }
    }

    #[test]
    fn eight_samples_are_not_enough_and_one_fast_sample_excuses_the_round() {
        let (mut hystart, mut window) = started(40);
        let slow = DELAY + Nanos::from_millis(50);
        round(&mut hystart, &mut window, (0..8).map(|_| slow));
        round(
            &mut hystart,
            &mut window,
            (0..40).map(|n| if n == 3 { DELAY } else { slow }),
        );
        assert_eq!(window.ssthresh, INFINITE_SSTHRESH);
        round(&mut hystart, &mut window, (0..9).map(|_| slow));
        assert_eq!(window.ssthresh, 40);
    }

    #[test]
    fn an_ack_train_as_long_as_half_the_round_trip_ends_slow_start() {
        let (mut hystart, mut window) = started(40);
        let start = window.now;
        while window.ssthresh == INFINITE_SSTHRESH {
            window.view.now += Nanos::from_millis(1);
            hystart.on_ack(&mut window, DELAY, DELAY);
        }
        assert_eq!(window.now - start, Nanos::from_millis(251));
    }

    #[test]
    fn a_gap_above_two_milliseconds_breaks_the_train_for_the_rest_of_the_round() {
        let (mut hystart, mut window) = started(40);
        window.view.now += Nanos::from_micros(2001);
        for _ in 0..400 {
            hystart.on_ack(&mut window, DELAY, DELAY);
            window.view.now += Nanos::from_millis(1);
        }
        assert_eq!(window.ssthresh, INFINITE_SSTHRESH);
    }

    #[test]
    fn a_window_below_16_is_left_alone() {
        let (mut hystart, mut window) = started(15);
        let slow = DELAY + Nanos::from_millis(100);
        round(&mut hystart, &mut window, (0..100).map(|_| slow));
        assert_eq!(window.ssthresh, INFINITE_SSTHRESH);
    }
}
