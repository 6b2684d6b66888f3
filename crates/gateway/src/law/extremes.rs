//! The least and the greatest of the recent past.

use bentpipe_base::{Nanos, Time};

/// Of the last one to two spans.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    span: Nanos,
    since: Option<Time>,
    /// Least and greatest of the span that goes on, and of the one before.
    ranges: [Option<(Nanos, Nanos)>; 2],
}

impl Extremes {
    pub fn new(span: Nanos) -> Self {
        Self {
            span,
            since: None,
            ranges: [None; 2],
        }
    }

    pub fn add(&mut self, now: Time, value: Nanos) {
        let since = *self.since.get_or_insert(now);
        if now - since >= self.span {
            let recent = now - since < self.span + self.span;
            self.ranges = [None, self.ranges[0].filter(|_| recent)];
            self.since = Some(now);
        }
        let (least, greatest) = self.ranges[0].unwrap_or((value, value));
        self.ranges[0] = Some((least.min(value), greatest.max(value)));
    }

    pub fn get(&self) -> Option<(Nanos, Nanos)> {
        let both = self.ranges.into_iter().flatten();
        both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}
