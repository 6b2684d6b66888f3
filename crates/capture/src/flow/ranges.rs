//! Ranges of a sequence space, sorted, disjoint, and at most so many: beyond that the oldest is forgotten.

const MOST: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub start: u64,
    pub end: u64,
    /// When it came to be.
    pub at_ns: i64,
    /// The time stamp value of the packet that showed it.
    pub shown_by: Option<u32>,
}

#[derive(Debug, Default)]
pub struct Ranges {
    ranges: Vec<Range>,
    bytes: u64,
}

impl Ranges {
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn first(&self) -> Option<&Range> {
        self.ranges.first()
    }

    /// End of the last range; `None`: there is none.
    pub fn end(&self) -> Option<u64> {
        self.ranges.last().map(|last| last.end)
    }

    /// Adds a range and returns how many of its bytes are new. Ranges that touch become one, which keeps the older time.
    pub fn insert(&mut self, mut added: Range) -> u64 {
        if added.start >= added.end {
            return 0;
        }
        let before = self.bytes;
        let from = self.ranges.partition_point(|it| it.end < added.start);
        let to = self.ranges.partition_point(|it| it.start <= added.end);
        for old in &self.ranges[from..to] {
            added.start = added.start.min(old.start);
            added.end = added.end.max(old.end);
            if old.at_ns < added.at_ns {
                added.at_ns = old.at_ns;
                added.shown_by = old.shown_by;
            }
            self.bytes -= old.end - old.start;
        }
        self.bytes += added.end - added.start;
        self.ranges.splice(from..to, [added]);
        let new = self.bytes.saturating_sub(before);
        if self.ranges.len() > MOST {
            let oldest = self.ranges.remove(0);
            self.bytes -= oldest.end - oldest.start;
        }
        new
    }

    /// Removes what lies within, and returns how many bytes that was and the oldest range that it touched.
    pub fn remove(&mut self, start: u64, end: u64) -> (u64, Option<Range>) {
        let from = self.ranges.partition_point(|it| it.end <= start);
        let to = self.ranges.partition_point(|it| it.start < end);
        if from >= to {
            return (0, None);
        }
        let before = self.bytes;
        let touched = self.ranges[from];
        let last = self.ranges[to - 1];
        let left = Range {
            end: start,
            ..touched
        };
        let right = Range { start: end, ..last };
        let rest = [left, right].into_iter().filter(|it| it.start < it.end);
        let removed: Vec<Range> = self.ranges.splice(from..to, rest).collect();
        self.bytes -= removed.iter().map(|it| it.end - it.start).sum::<u64>();
        self.bytes += [left, right]
            .iter()
            .map(|it| it.end.saturating_sub(it.start))
            .sum::<u64>();
        (before - self.bytes, Some(touched))
    }

    pub fn remove_below(&mut self, end: u64) -> u64 {
        if self.ranges.first().is_none_or(|first| first.start >= end) {
            return 0;
        }
        self.remove(0, end).0
    }
}
