//! `HyStart++` (RFC 9406): a round whose smallest RTT has risen above that of the round before turns slow start into
//! conservative slow start, which grows at a quarter of the rate. If the RTT falls again the rise was noise, and slow
//! start goes on; if not, congestion avoidance begins after five rounds.
//!
//! 1. Counts segments where the RFC counts bytes.
//! 2. The ACK that passes a round's end is the first sample of the next round.
//! 3. The limit of 8 segments per ACK (L) always holds: it is that of a sender that does not pace.

use super::Window;
use bentpipe_base::time::Nanos;

const MIN_RTT_THRESHOLD: Nanos = Nanos::from_millis(4);
const MAX_RTT_THRESHOLD: Nanos = Nanos::from_millis(16);
const MIN_RTT_DIVISOR: i64 = 8;
const SAMPLES: u32 = 8;
const GROWTH_DIVISOR: u32 = 4;
const CONSERVATIVE_ROUNDS: u32 = 5;
/// L: the most segments that one ACK counts for.
const MAX_PER_ACK: u32 = 8;

/// Conservative slow start.
#[derive(Debug)]
struct Conservative {
    /// The smallest RTT of the round that led here.
    baseline: Nanos,
    rounds_left: u32,
    /// Acknowledged segments that have not yet made one segment of growth.
    credit: u32,
}

#[derive(Debug, Default)]
pub struct HyStartPlus {
    round_end: u64,
    last_round_rtt: Option<Nanos>,
    round_rtt: Option<Nanos>,
    samples: u32,
    conservative: Option<Conservative>,
}

impl HyStartPlus {
    pub fn restart(&mut self, window: &Window) {
        *self = Self {
            round_end: window.snd_nxt,
            ..Self::default()
        };
    }

    /// An ACK in slow start with this RTT. Only the initial slow start is watched: a later one has an ssthresh to end at.
    pub fn on_ack(&mut self, window: &mut Window, rtt: Nanos) {
        if !window.in_initial_slow_start() {
            return;
        }
        if window.snd_una > self.round_end {
            self.begin_round(window);
        }
        let smallest = self.round_rtt.map_or(rtt, |smallest| smallest.min(rtt));
        self.round_rtt = Some(smallest);
        self.samples += 1;
        if self.samples < SAMPLES {
            return;
        }
        match &self.conservative {
            Some(conservative) if smallest < conservative.baseline => self.conservative = None,
            None if self.has_risen(smallest) => {
                self.conservative = Some(Conservative {
                    baseline: smallest,
                    rounds_left: CONSERVATIVE_ROUNDS,
                    credit: 0,
                });
            }
            _ => {}
        }
    }

    pub fn grow(&mut self, window: &mut Window, acked: u32) -> u32 {
        if !window.in_initial_slow_start() {
            return window.slow_start(acked);
        }
        let counted = acked.min(MAX_PER_ACK);
        let growth = match &mut self.conservative {
            None => counted,
            Some(conservative) => {
                conservative.credit += counted;
                let growth = conservative.credit / GROWTH_DIVISOR;
                conservative.credit %= GROWTH_DIVISOR;
                growth
            }
        };
        window.slow_start(growth)
    }

    fn begin_round(&mut self, window: &mut Window) {
        self.round_end = window.snd_nxt;
        self.last_round_rtt = self.round_rtt.take();
        self.samples = 0;
        if let Some(conservative) = &mut self.conservative {
            conservative.rounds_left -= 1;
            if conservative.rounds_left == 0 {
                window.ssthresh = window.cwnd;
                self.conservative = None;
            }
        }
    }

    fn has_risen(&self, smallest: Nanos) -> bool {
        self.last_round_rtt.is_some_and(|last| {
            let threshold =
                Nanos(last.0 / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
            smallest >= last + threshold
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{INFINITE_SSTHRESH, testing};

    const RTT: Nanos = Nanos::from_millis(500);

    fn started() -> (HyStartPlus, Window) {
        let mut hystart = HyStartPlus::default();
        let window = testing::window(100, RTT);
        hystart.restart(&window);
        (hystart, window)
    }

    /// A round of eight ACKs for eight segments each, all with this RTT.
    fn round(hystart: &mut HyStartPlus, window: &mut Window, rtt: Nanos) {
        window.view.snd_una = window.snd_nxt + 1;
        window.view.snd_nxt = window.snd_una + 100;
        for _ in 0..8 {
            hystart.on_ack(window, rtt);
            if window.in_slow_start() {
                hystart.grow(window, 8);
            }
        }
    }

    fn growth(hystart: &mut HyStartPlus, window: &mut Window, rtt: Nanos) -> u32 {
        let before = window.cwnd;
        round(hystart, window, rtt);
        window.cwnd - before
    }

    #[test]
    fn a_round_slower_by_an_eighth_and_4_to_16_ms_grows_at_a_quarter_from_the_next_ack() {
        for (rtt_ms, extra_ms, slows) in [
            (500, 15, false),
            (500, 16, true),
            (80, 9, false),
            (80, 10, true),
            (8, 3, false),
            (8, 4, true),
        ] {
            let (mut hystart, mut w) = started();
            let rtt = Nanos::from_millis(rtt_ms);
            assert_eq!(growth(&mut hystart, &mut w, rtt), 64);
            let slow = rtt + Nanos::from_millis(extra_ms);
            round(&mut hystart, &mut w, slow);
            let expected = if slows { 16 } else { 64 };
            let grown = growth(&mut hystart, &mut w, slow);
            assert_eq!(grown, expected, "{rtt_ms} ms and {extra_ms} ms");
        }
    }

    #[test]
    fn congestion_avoidance_begins_after_five_rounds_the_one_of_entry_counted() {
        let (mut hystart, mut w) = started();
        round(&mut hystart, &mut w, RTT);
        let slow = RTT + Nanos::from_millis(20);
        for _ in 0..5 {
            round(&mut hystart, &mut w, slow);
            assert_eq!(w.ssthresh, INFINITE_SSTHRESH);
        }
        round(&mut hystart, &mut w, slow);
        assert_eq!(w.ssthresh, w.cwnd);
    }

    #[test]
    fn an_rtt_that_falls_below_the_baseline_brings_slow_start_back() {
        let (mut hystart, mut w) = started();
        round(&mut hystart, &mut w, RTT);
        let slow = RTT + Nanos::from_millis(20);
        round(&mut hystart, &mut w, slow);
        assert_eq!(growth(&mut hystart, &mut w, slow), 16);
        // Seven ACKs at a quarter make 14 segments; the eighth is proof, and counts in full.
        assert_eq!(growth(&mut hystart, &mut w, RTT), 14 + 8);
        assert_eq!(growth(&mut hystart, &mut w, RTT), 64);
    }

    #[test]
    fn one_fast_sample_excuses_a_round() {
        let (mut hystart, mut w) = started();
        round(&mut hystart, &mut w, RTT);
        w.view.snd_una = w.snd_nxt + 1;
        w.view.snd_nxt = w.snd_una + 100;
        hystart.on_ack(&mut w, RTT);
        for _ in 0..50 {
            hystart.on_ack(&mut w, RTT + Nanos::from_millis(50));
        }
        assert!(hystart.conservative.is_none());
    }

    #[test]
    fn an_ack_counts_for_eight_segments_at_most() {
        let (mut hystart, mut w) = started();
        hystart.grow(&mut w, 40);
        assert_eq!(w.cwnd, 108);
    }

    #[test]
    fn a_slow_start_after_a_loss_is_the_standard_one() {
        let (mut hystart, mut w) = started();
        w.ssthresh = 200;
        round(&mut hystart, &mut w, RTT);
        round(&mut hystart, &mut w, Nanos(RTT.0 * 2));
        assert!(hystart.conservative.is_none());
        w.cwnd = 100;
        assert_eq!((hystart.grow(&mut w, 40), w.cwnd), (0, 140));
    }
}
