//! Segments in the order of their times. Captures of several queues or interfaces are a little out of order in the file.
//!
//! The latest segments are held back for [`WINDOW_NS`], or as many as there is room for. Where a time is further back than that, the
//! capture's clock was set or files were joined: what was held goes on first, and the order of the file stands.

use crate::segment::Segment;
use std::collections::VecDeque;

const WINDOW_NS: i64 = 1_000_000_000;
const MOST: usize = 4096;
/// Times run backwards where so many of them fall for each one that rises: more than in any burst that a driver hands over in
/// reverse.
const BACKWARDS: u64 = 64;

#[derive(Debug, Default)]
pub struct TimeOrder {
    /// Times, rising, and places in `segments`.
    held: VecDeque<(i64, usize)>,
    segments: Vec<Segment>,
    free: Vec<usize>,
    previous_ns: Option<i64>,
    /// Segments that are later and earlier than the one before them in the file.
    later: u64,
    earlier: u64,
    /// Segments that were moved.
    pub sorted: u64,
}

impl TimeOrder {
    /// Takes the next segment of the file, and passes on those that nothing can come before.
    #[inline]
    pub fn push(&mut self, at_ns: i64, segment: Segment, mut pass: impl FnMut(i64, &Segment)) {
        if let Some(before_ns) = self.previous_ns.replace(at_ns) {
            self.later += u64::from(at_ns > before_ns);
            self.earlier += u64::from(at_ns < before_ns);
        }
        if let Some(&(newest_ns, _)) = self.held.back()
            && at_ns < newest_ns.saturating_sub(WINDOW_NS)
        {
            self.finish(&mut pass);
        }
        self.hold(at_ns, segment);
        let newest_ns = self.held.back().map_or(at_ns, |&(newest_ns, _)| newest_ns);
        while let Some(&(oldest_ns, _)) = self.held.front()
            && (self.held.len() > MOST || oldest_ns < newest_ns.saturating_sub(WINDOW_NS))
        {
            self.pass_first(&mut pass);
        }
    }

    /// Whether hardly any time is later than the one before it.
    pub fn runs_backwards(&self) -> bool {
        self.earlier > BACKWARDS * self.later
    }

    /// Passes on all that is held.
    pub fn finish(&mut self, mut pass: impl FnMut(i64, &Segment)) {
        while !self.held.is_empty() {
            self.pass_first(&mut pass);
        }
    }

    #[inline]
    fn hold(&mut self, at_ns: i64, segment: Segment) {
        let place = if let Some(place) = self.free.pop() {
            self.segments[place] = segment;
            place
        } else {
            self.segments.push(segment);
            self.segments.len() - 1
        };
        if self.held.back().is_none_or(|&(last, _)| last <= at_ns) {
            self.held.push_back((at_ns, place));
        } else {
            let after = self.held.partition_point(|&(held, _)| held <= at_ns);
            self.held.insert(after, (at_ns, place));
            self.sorted += 1;
        }
    }

    #[inline]
    fn pass_first(&mut self, pass: &mut impl FnMut(i64, &Segment)) {
        if let Some((at_ns, place)) = self.held.pop_front() {
            pass(at_ns, &self.segments[place]);
            self.free.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Endpoint, Options};

    fn segment() -> Segment {
        let end = Endpoint {
            address: 1,
            port: 2,
        };
        Segment {
            from: end,
            to: end,
            seq: 0,
            ack: 0,
            flags: 0,
            window: 0,
            payload_bytes: 0,
            identification: 0,
            hop_limit: 0,
            is_marked: false,
            options: Options::default(),
        }
    }

    fn passed(times_ns: impl Iterator<Item = i64>) -> (Vec<i64>, usize) {
        let (mut order, mut passed) = (TimeOrder::default(), Vec::new());
        for at_ns in times_ns {
            order.push(at_ns, segment(), |at_ns, _| passed.push(at_ns));
        }
        (passed, order.segments.len())
    }

    #[test]
    fn so_many_are_held_and_no_more() {
        let (passed, held) = passed((0..10_000).rev());
        assert_eq!(passed.len(), 10_000 - MOST);
        assert_eq!(held, MOST + 1);
    }

    #[test]
    fn what_is_older_than_the_window_is_passed_on() {
        let (passed, _) = passed([0, 5, 3, WINDOW_NS + 4].into_iter());
        assert_eq!(passed, [0, 3]);
    }

    #[test]
    fn a_time_far_back_does_not_wait_for_those_before_it() {
        let (passed, _) = passed([2 * WINDOW_NS, 3 * WINDOW_NS - 1, 5].into_iter());
        assert_eq!(passed, [2 * WINDOW_NS, 3 * WINDOW_NS - 1]);
    }
}
