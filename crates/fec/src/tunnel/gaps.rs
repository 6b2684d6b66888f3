//! Where packets were lost, told from the time between the arrivals around them.
//!
//! A packet that is lost behind the bottleneck has taken the time that the bottleneck needs for it. One that its queue dropped has
//! not: the next packet comes as soon as if there had been none. This is the rule of Biaz and Vaidya (Discriminating Congestion
//! Losses from Wireless Losses using Inter-Arrival Times at the Receiver, 1999). It holds for a queue that is always full, in
//! which the delay tells nothing. Differences:
//! 1. The bottleneck's time per byte is the least that any 16 frames in a row took in the last 1 to 2 s: with fewer, a line that hands
//!    over several at once would look faster than it is.
//! 2. Of a run of losses, as many are taken for lost behind the bottleneck as it had the time to send, and the rest for overflow.
//! 3. If the gap is longer than all of them would have taken, the bottleneck had nothing to send for a while: a burst has ended. The
//!    gap then tells nothing, and the sender decides by the delay of the packet before it ([`BeforeIdle`]).
//! 4. Where more than one frame in 20 comes sooner than the bottleneck can have sent it, the times tell nothing: jitter, or frames
//!    that are handed over together. Then nothing is judged.
//!
//! A loss before a busy bottleneck looks like overflow, and so does one by a policer. A queue that other traffic shares hides
//! overflow: the others' packets come between.

use bentpipe_base::{Nanos, Time};
use std::collections::VecDeque;

const FRAMES: usize = 16;
const MEMORY: Nanos = Nanos::from_secs(1);
/// A frame that comes in a smaller share of the bottleneck's time was not sent right before.
const SOONEST: f64 = 0.75;
const MOST_TOO_SOON: f64 = 0.05;
/// The weight of a new frame in averages.
const WEIGHT: f64 = 1.0 / 128.0;

/// Where a packet was lost that does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LostAt {
    /// The bottleneck's queue dropped it.
    Queue,
    /// Behind the bottleneck.
    Channel,
    /// Either: the bottleneck has idled since.
    Unknown,
}

/// The newest frame of a source packet before the bottleneck idled and packets were missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BeforeIdle {
    pub number: u64,
    pub came: Time,
}

/// Where packets of a run were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// So many behind the bottleneck, the others in its queue.
    Behind(u64),
    Unknown,
}

impl Run {
    /// Which of a run were lost where is not known, only how many.
    pub fn of(self, place: u64) -> LostAt {
        match self {
            Self::Behind(count) if place < count => LostAt::Channel,
            Self::Behind(_) => LostAt::Queue,
            Self::Unknown => LostAt::Unknown,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Gaps {
    /// The newest frames: when each came and how long it is.
    frames: VecDeque<(Time, u32)>,
    /// The bytes of all but the oldest.
    bytes: u64,
    /// Least time per byte in the part of the memory that goes on, and in the one before.
    least: [Option<f64>; 2],
    since: Option<Time>,
    mean_bytes: f64,
    /// The share of frames that come sooner than they can.
    too_soon: f64,
    /// Since the frame before the newest.
    gap: Nanos,
}

impl Gaps {
    fn service_ns_per_byte(&self) -> Option<f64> {
        let [a, b] = self.least;
        let least = a.into_iter().chain(b).min_by(f64::total_cmp)?;
        (least > 0.0).then_some(least)
    }

    /// A frame came, whatever its kind.
    pub fn on_frame(&mut self, now: Time, bytes: u32) {
        let since = *self.since.get_or_insert(now);
        if now - since >= MEMORY {
            let recent = now - since < MEMORY + MEMORY;
            self.least = [None, self.least[0].filter(|_| recent)];
            self.since = Some(now);
        }
        let length = f64::from(bytes);
        if let Some(&(last, _)) = self.frames.back() {
            self.gap = now - last;
            self.bytes += u64::from(bytes);
            self.mean_bytes += (length - self.mean_bytes) * WEIGHT;
            if let Some(service) = self.service_ns_per_byte() {
                let soon = (self.gap.0 as f64) < SOONEST * service * length;
                self.too_soon += (f64::from(u8::from(soon)) - self.too_soon) * WEIGHT;
            }
        } else {
            self.mean_bytes = length;
        }
        self.frames.push_back((now, bytes));
        if self.frames.len() <= FRAMES {
            return;
        }
        if let Some((first, _)) = self.frames.pop_front() {
            let took = (now - first).0 as f64 / self.bytes.max(1) as f64;
            if self
                .service_ns_per_byte()
                .is_some_and(|it| took < SOONEST * it)
            {
                // Until now the bottleneck was never busy for long, and frames only seemed to come too soon.
                self.too_soon = 0.0;
            }
            self.least[0] = Some(self.least[0].map_or(took, |least| least.min(took)));
        }
        self.bytes -= self.frames.front().map_or(0, |it| u64::from(it.1));
    }

    /// The newest frame has shown that so many before it are missing. `None`: times tell nothing here.
    pub fn judge(&self, missing: u64) -> Option<Run> {
        let service = self.service_ns_per_byte()?;
        if self.too_soon > MOST_TOO_SOON {
            return None;
        }
        let (_, bytes) = self.frames.back()?;
        let others_ns = self.gap.0 as f64 - service * f64::from(*bytes);
        let served = others_ns / (service * self.mean_bytes.max(1.0));
        let served = served.round().max(0.0) as u64;
        Some(if served > missing {
            Run::Unknown
        } else {
            Run::Behind(served)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_base::SplitMix64;

    /// Of full packets at 16 Mbit/s.
    const SERVICE: Nanos = Nanos::from_micros(750);

    struct Line {
        gaps: Gaps,
        now: Time,
    }

    impl Line {
        fn new() -> Self {
            let mut line = Self {
                gaps: Gaps::default(),
                now: Time::ZERO,
            };
            for _ in 0..100 {
                line.after(SERVICE);
            }
            line
        }

        fn after(&mut self, gap: Nanos) {
            self.now += gap;
            self.gaps.on_frame(self.now, 1500);
        }

        /// Where the missing were lost if the next packet comes after this.
        fn lost(&mut self, gap: Nanos, missing: u64) -> Option<Run> {
            self.after(gap);
            self.gaps.judge(missing)
        }
    }

    #[test]
    fn a_loss_behind_the_bottleneck_leaves_a_gap_and_one_in_its_queue_does_not() {
        let mut line = Line::new();
        assert_eq!(line.lost(SERVICE, 1), Some(Run::Behind(0)));
        assert_eq!(line.lost(Nanos(2 * SERVICE.0), 1), Some(Run::Behind(1)));
        assert_eq!(line.lost(Nanos(3 * SERVICE.0), 5), Some(Run::Behind(2)));
        let run = Run::Behind(2);
        let places = [0, 1, 2].map(|place| run.of(place));
        assert_eq!(places, [LostAt::Channel, LostAt::Channel, LostAt::Queue]);
    }

    #[test]
    fn after_a_pause_it_is_not_known_where_the_last_packets_before_it_were_lost() {
        let mut line = Line::new();
        assert_eq!(line.lost(Nanos(6 * SERVICE.0), 4), Some(Run::Unknown));
    }

    #[test]
    fn the_first_burst_after_frames_far_apart_is_judged() {
        let mut line = Line::new();
        for _ in 0..60 {
            line.after(Nanos::from_millis(100));
        }
        for _ in 0..16 {
            line.after(SERVICE);
        }
        assert_eq!(line.lost(SERVICE, 30), Some(Run::Behind(0)));
    }

    #[test]
    fn frames_that_come_together_tell_nothing() {
        let mut line = Line::new();
        for _ in 0..200 {
            for gap in [0, 0, 0, 4 * SERVICE.0] {
                line.after(Nanos(gap));
            }
        }
        assert_eq!(line.lost(SERVICE, 1), None);
    }

    #[test]
    fn jitter_tells_nothing() {
        let mut line = Line::new();
        let mut random = SplitMix64(3);
        for _ in 0..2000 {
            line.after(Nanos(i64::from(random.draw_below(1_500_000))));
        }
        assert_eq!(line.lost(SERVICE, 1), None);
    }

    #[test]
    fn a_lower_rate_is_learned_within_two_seconds() {
        let mut line = Line::new();
        let slower = Nanos(3 * SERVICE.0);
        assert_eq!(line.lost(slower, 2), Some(Run::Behind(2)));
        for _ in 0..1000 {
            line.after(slower);
        }
        assert_eq!(line.lost(slower, 2), Some(Run::Behind(0)));
    }

    #[test]
    fn nothing_is_told_of_the_first_frames() {
        let mut gaps = Gaps::default();
        gaps.on_frame(Time::ZERO, 1500);
        assert_eq!(gaps.judge(3), None);
    }
}
