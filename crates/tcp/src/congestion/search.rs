//! SEARCH (draft-chung-ccwg-search-09): slow start ends when what arrives falls behind what was sent one RTT before. Both
//! are added up over a sliding window of 3.5 initial RTTs, in ten bins, so that an RTT that varies without congestion does
//! not end it.
//!
//! The RTT is the newest, queue included, so slow start ends some three RTTs after the path is full: a queue of less than
//! about two BDP overflows before that.
//!
//! 1. Bins that are more than a window late are dropped and begun anew, as the draft leaves open.
//! 2. The sum of one RTT ago lies between bins; it is interpolated backwards in time. The draft's text goes forwards, which
//!    takes in bytes sent later.
//! 3. cwnd stays as it is at the exit; the draft's slow reduction to the path's product of bandwidth and delay is left out.
//! 4. What arrives is what the cumulative ACK covers.

use super::Window;
use bentpipe_base::time::{Nanos, Time};

/// Bins per window.
const WINDOW_BINS: u64 = 10;
/// Bins beyond the window, by which the RTT may grow.
const EXTRA_BINS: u64 = 15;
/// A window is 3.5 initial RTTs: a bin is 7/20 of one.
const BIN_RTT_SHARE: (i64, i64) = (7, 20);
/// Slow start ends when this many percent of what was sent have not arrived.
const THRESHOLD_PERCENT: u128 = 26;

const ACKED_BINS: usize = WINDOW_BINS as usize + 1;
const SENT_BINS: usize = ACKED_BINS + EXTRA_BINS as usize;

/// Stream offsets at the ends of bins.
#[derive(Debug)]
struct Bins {
    width: Nanos,
    end: Time,
    last: u64,
    acked: [u64; ACKED_BINS],
    sent: [u64; SENT_BINS],
}

#[derive(Debug, Default)]
pub struct Search {
    /// From the first RTT on.
    bins: Option<Bins>,
}

impl Search {
    pub fn restart(&mut self) {
        self.bins = None;
    }

    /// An ACK in slow start with this RTT. Only the initial slow start is watched: a later one has an ssthresh to end at.
    pub fn on_ack(&mut self, window: &mut Window, rtt: Nanos) {
        if !window.in_initial_slow_start() {
            return;
        }
        let Some(bins) = &mut self.bins else {
            self.bins = Bins::begin(window, rtt);
            return;
        };
        if window.now <= bins.end {
            return;
        }
        if !bins.advance(window) {
            self.bins = None;
        } else if bins.falls_behind(rtt) {
            window.ssthresh = window.cwnd;
        }
    }
}

impl Bins {
    /// `None` if the RTT is too short to be divided.
    fn begin(window: &Window, rtt: Nanos) -> Option<Self> {
        let width = Nanos(rtt.0 * BIN_RTT_SHARE.0 / BIN_RTT_SHARE.1);
        (width > Nanos::ZERO).then(|| Self {
            width,
            end: window.now + width,
            last: 0,
            acked: [window.snd_una; ACKED_BINS],
            sent: [window.snd_nxt; SENT_BINS],
        })
    }

    /// Closes the bins that have passed; false if they are more than a window.
    fn advance(&mut self, window: &Window) -> bool {
        let passed = ((window.now - self.end).0 / self.width.0) as u64 + 1;
        if passed > WINDOW_BINS {
            return false;
        }
        let (acked, sent) = (self.acked(self.last), self.sent(self.last));
        for bin in self.last + 1..self.last + passed {
            self.acked[bin as usize % ACKED_BINS] = acked;
            self.sent[bin as usize % SENT_BINS] = sent;
        }
        self.last += passed;
        self.acked[self.last as usize % ACKED_BINS] = window.snd_una;
        self.sent[self.last as usize % SENT_BINS] = window.snd_nxt;
        self.end += Nanos(self.width.0 * passed as i64);
        true
    }

    fn acked(&self, bin: u64) -> u64 {
        self.acked[bin as usize % ACKED_BINS]
    }

    fn sent(&self, bin: u64) -> u64 {
        self.sent[bin as usize % SENT_BINS]
    }

    /// Whether what arrived in the last window is less than what was sent in the window one RTT before by the threshold.
    fn falls_behind(&self, rtt: Nanos) -> bool {
        let back = (rtt.0 / self.width.0) as u64;
        if back >= EXTRA_BINS || self.last <= WINDOW_BINS + back {
            return false;
        }
        let before = self.last - back;
        // The window one RTT ago ends this part of a bin, in nanoseconds, before the end of bin `before`.
        let part = (rtt.0 % self.width.0) as u128;
        let in_window = |bin: u64| u128::from(self.sent(bin) - self.sent(bin - WINDOW_BINS));
        let width = self.width.0 as u128;
        let sent = (in_window(before - 1) * part + in_window(before) * (width - part)) / width;
        let arrived = u128::from(self.acked(self.last) - self.acked(self.last - WINDOW_BINS));
        sent > 0 && 100 * sent.saturating_sub(arrived) >= THRESHOLD_PERCENT * sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{INFINITE_SSTHRESH, testing};

    const RTT: Nanos = Nanos::from_millis(100);
    const MS: Nanos = Nanos::from_millis(1);

    /// Acknowledgements each millisecond: what was sent an RTT ago arrives, at `rate` bytes/ms at most, and for each byte
    /// that arrives two are sent. Returns the rounds until slow start ends, at most 30, and the flight then.
    fn rounds_at(rate: u64) -> (i64, u64) {
        let mut search = Search::default();
        let mut w = testing::window(10, RTT);
        let mut sent_at = vec![w.snd_nxt; 100];
        while w.ssthresh == INFINITE_SSTHRESH && w.now < Time(30 * RTT.0) {
            w.view.now += MS;
            let ago = sent_at[sent_at.len() - 100];
            let arrived = (ago - w.snd_una).min(rate);
            w.view.snd_una += arrived;
            w.view.snd_nxt += 2 * arrived;
            sent_at.push(w.snd_nxt);
            // The byte acknowledged now is the last of those sent when `snd_nxt` first reached it.
            let sent = sent_at.partition_point(|&end| end < w.snd_una);
            let rtt = MS.0 * (sent_at.len() - sent) as i64;
            search.on_ack(&mut w, Nanos(rtt.max(RTT.0)));
        }
        (w.now.0 / RTT.0, w.snd_nxt - w.snd_una)
    }

    #[test]
    fn slow_start_ends_within_four_rounds_of_a_full_path_and_not_before() {
        for full_after in [6, 8, 10, 12] {
            // Ten bytes in the first round, twice as many in each: the path's rate is that of round `full_after`.
            let rate = (10 << full_after) / 100;
            let (rounds, _) = rounds_at(rate);
            let late = rounds - full_after;
            // Not at once: until the window of 3.5 RTTs has left the doubling behind, the queue's growth hides half of it.
            assert!(
                (1..=4).contains(&late),
                "{late} rounds late at {full_after}"
            );
        }
    }

    #[test]
    fn a_path_that_never_fills_does_not_end_slow_start() {
        assert_eq!(rounds_at(u64::MAX >> 20).0, 30);
    }

    #[test]
    fn nothing_is_judged_before_a_window_and_an_rtt_have_passed() {
        let mut search = Search::default();
        let mut w = testing::window(10, RTT);
        // Much is sent and nothing arrives.
        while w.now < Time(RTT.0 * 9 / 2) {
            search.on_ack(&mut w, RTT);
            assert_eq!(w.ssthresh, INFINITE_SSTHRESH);
            w.view.now += MS;
            w.view.snd_nxt += 1000;
        }
    }

    #[test]
    fn a_pause_longer_than_the_window_begins_anew() {
        let mut search = Search::default();
        let mut w = testing::window(10, RTT);
        for _ in 0..440 {
            search.on_ack(&mut w, RTT);
            w.view.now += MS;
            w.view.snd_nxt += 1000;
        }
        w.view.now += Nanos(RTT.0 * 4);
        for _ in 0..440 {
            search.on_ack(&mut w, RTT);
            w.view.now += MS;
        }
        assert_eq!(w.ssthresh, INFINITE_SSTHRESH);
    }
}
