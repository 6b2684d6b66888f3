//! Round trips: the least, their mean, how much one differs from the next, and which of them met a queue.
//!
//! On a path whose own delay varies, many packets arrive as late as the latest before them. That looks like a queue that stands. So a round
//! trip has met a queue only where it is above the least by more than a few of them differ by anyway. What differs to and fro is the way of the
//! reports, which are few. The many packets of the other way are nearly all as late as its latest, which may be as much again. A queue grows and
//! falls slower than that: its round trips differ in one direction.

use super::extremes::Extremes;
use bentpipe_base::sorting::sort_few;
use bentpipe_base::{Nanos, Time};

/// Round trips of the last one to two such spans are remembered.
const MEMORY: Nanos = Nanos::from_secs(30);

/// So many round trips are looked at together, and the median of so many of their spreads is the path's own.
const SET: u32 = 8;
const SETS: usize = 8;

/// Some round trips in a row.
#[derive(Clone, Copy, Debug)]
struct Set {
    count: u32,
    least: Nanos,
    greatest: Nanos,
    /// The sum of the differences from one to the next.
    differences: Nanos,
}

const EMPTY: Set = Set {
    count: 0,
    least: Nanos(i64::MAX),
    greatest: Nanos::ZERO,
    differences: Nanos::ZERO,
};

impl Set {
    /// What they differ by to and fro: 0 where each is longer than the one before, and about the span of eight that are drawn.
    fn spread(self) -> Nanos {
        let one_way = self.greatest - self.least;
        Nanos((self.differences - one_way).0 / 2)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    times: Extremes,
    smoothed: Option<f64>,
    jitter: f64,
    last: Option<Nanos>,
    set: Set,
    spreads: [Option<Nanos>; SETS],
    /// Their median, in ns.
    spread: f64,
}

fn median(spreads: &[Option<Nanos>; SETS]) -> f64 {
    let mut sorted = *spreads;
    // Those that are not known yet come first.
    sort_few(&mut sorted);
    let known = spreads.iter().flatten().count();
    sorted[SETS - known..]
        .get(known / 2)
        .and_then(|it| *it)
        .map_or(0.0, |it| it.0 as f64)
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            times: Extremes::new(MEMORY),
            smoothed: None,
            jitter: 0.0,
            last: None,
            set: EMPTY,
            spreads: [None; SETS],
            spread: 0.0,
        }
    }
}

impl Delays {
    /// The same round trip, but never 0.
    pub fn on_round_trip(&mut self, now: Time, time: Nanos) -> Nanos {
        let time = time.max(Nanos(1));
        self.times.add(now, time);
        let sample = time.0 as f64;
        self.smoothed = Some(self.smoothed.map_or(sample, |it| it + (sample - it) / 8.0));
        let set = &mut self.set;
        if let Some(last) = self.last.replace(time) {
            let difference = Nanos((time - last).0.abs());
            self.jitter += (difference.0 as f64 - self.jitter) / 64.0;
            if set.count > 0 {
                set.differences = set.differences + difference;
            }
        }
        set.count += 1;
        set.least = set.least.min(time);
        set.greatest = set.greatest.max(time);
        if set.count == SET {
            self.spreads.rotate_right(1);
            self.spreads[0] = Some(set.spread());
            self.set = EMPTY;
            self.spread = median(&self.spreads);
        }
        time
    }

    /// 0: none is known.
    pub fn least(&self) -> Nanos {
        self.times.get().map_or(Nanos::ZERO, |it| it.0)
    }

    /// The longest a packet has waited.
    pub fn longest_wait(&self) -> Nanos {
        self.times.get().map_or(Nanos::ZERO, |it| it.1 - it.0)
    }

    /// Their mean in ns.
    pub fn smoothed(&self) -> Option<f64> {
        self.smoothed
    }

    /// Mean difference of a round trip from the one before, in ns.
    pub fn jitter(&self) -> f64 {
        self.jitter
    }

    /// What round trips that follow each other differ by to and fro, in ns.
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// A queue that is shorter is not seen: as much stands in `Cruise` by the sender's own limit.
    fn step(&self) -> f64 {
        (self.least().0 as f64 / 16.0).max(5e6)
    }

    /// A round trip this much above the least has met a queue.
    fn slack(&self) -> f64 {
        self.step().max(2.0 * self.spread()) + 2.0 * self.jitter
    }

    /// So has the shortest of a round, if it is so much above: one of several reports is hardly delayed.
    fn slack_of_shortest(&self) -> f64 {
        self.step().max(self.spread()) + 2.0 * self.jitter
    }

    /// Whether the path's own delay varies so much that it hides a queue.
    pub fn vary(&self) -> bool {
        self.slack() > 2.0 * self.step()
    }

    pub fn is_above(&self, time: Nanos) -> bool {
        (time - self.least()).0 as f64 > self.slack()
    }

    /// Whether the shortest round trip of a round has met a queue.
    pub fn stands(&self, shortest: Nanos) -> bool {
        (shortest - self.least()).0 as f64 > self.slack_of_shortest()
    }

    /// Whether a round whose longest round trip was this met no queue. The greatest of many differs more than one does.
    pub fn is_quiet(&self, greatest: Nanos) -> bool {
        (greatest - self.least()).0 as f64 <= self.slack() + 2.0 * self.jitter
    }

    /// Whether the longest queue would still stand if all who fill it kept so much of their windows.
    pub fn outlasts_back_off(&self, keep: f64) -> bool {
        let longest = (self.least() + self.longest_wait()).0 as f64;
        self.is_above(Nanos((keep * longest) as i64))
    }

    /// Whether the packet has waited long: in a queue that others fill, for more than half as long as any has.
    pub fn waits(&self, time: Nanos, is_shared: bool) -> bool {
        let Some((least, greatest)) = self.times.get() else {
            return false;
        };
        let half = (greatest - least).0 as f64 / 2.0;
        self.is_above(time) && (!is_shared || (time - least).0 as f64 > half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_base::SplitMix64;

    /// Round trips of 60 to 90 ms in any order met no queue, and 20 ms more than before did where they hardly differ.
    #[test]
    fn a_path_whose_own_delay_varies_has_no_queue() {
        let mut random = SplitMix64(7);
        let mut varies = Delays::default();
        let mut stays = Delays::default();
        for step in 0..1000 {
            let more = i64::from(random.draw_below(30_000_000));
            varies.on_round_trip(Time(step), Nanos::from_millis(60) + Nanos(more));
            stays.on_round_trip(Time(step), Nanos::from_millis(60));
        }
        assert!(!varies.is_above(Nanos::from_millis(90)));
        assert!(varies.is_above(Nanos::from_millis(150)));
        assert!(stays.is_above(Nanos::from_millis(80)));
    }

    /// CUBIC's queue fills for a while, and is a third shorter at once. One that jumps by as much to and fro is jitter.
    #[test]
    fn a_queue_that_others_fill_and_empty_is_no_delay_that_varies() {
        let mut fills = Delays::default();
        let mut varies = Delays::default();
        for step in 0..1000 {
            fills.on_round_trip(Time(step), Nanos::from_millis(60 + step % 40));
            varies.on_round_trip(Time(step), Nanos::from_millis(60 + 39 * (step % 2)));
        }
        assert!(fills.spread() == 0.0 && !fills.vary(), "{}", fills.spread());
        assert!(
            varies.spread() >= 39e6 && varies.vary(),
            "{}",
            varies.spread()
        );
    }

    #[test]
    fn only_a_long_queue_outlasts_a_back_off() {
        // Of 310 ms, 70 % are 217 ms: more than 200 ms and a sixteenth. Of 300 ms they are 210 ms.
        for (least, greatest, outlasts) in [(200, 310, true), (200, 300, false), (550, 650, false)]
        {
            let mut delays = Delays::default();
            // So long that the one step between them adds no jitter.
            for time in [least, greatest] {
                for step in 0..1000 {
                    delays.on_round_trip(Time(step), Nanos::from_millis(time));
                }
            }
            assert_eq!(delays.outlasts_back_off(0.7), outlasts, "{greatest} ms");
        }
    }
}
