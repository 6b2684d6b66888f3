//! What is remembered of packets until their answer passes: bounded, by forgetting every second entry when there are too many.

use std::collections::VecDeque;

const MOST: usize = 2048;
/// Acknowledgements without time stamps are kept this far apart.
const SPACING_NS: i64 = 500_000;

/// When data passed that nobody has acknowledged yet.
#[derive(Debug, Default)]
pub struct SentTimes {
    /// End of a segment, and its time.
    sent: VecDeque<(u64, i64)>,
}

impl SentTimes {
    pub fn push(&mut self, end: u64, at_ns: i64) {
        if self.sent.len() == MOST {
            halve(&mut self.sent);
        }
        self.sent.push_back((end, at_ns));
    }

    /// Forgets all below `ack`; the last of them, if its end is at most `slack` bytes below.
    pub fn acknowledge(&mut self, ack: u64, slack: u64) -> Option<i64> {
        let mut last = None;
        while let Some(&(end, at_ns)) = self.sent.front()
            && end <= ack
        {
            last = Some((end, at_ns));
            self.sent.pop_front();
        }
        last.filter(|(end, _)| ack - end <= slack)
            .map(|(_, at_ns)| at_ns)
    }
}

/// An acknowledgement that passed on its way to the sender of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedAck {
    pub at_ns: i64,
    /// When the last one with the same time stamp passed that had no data: an answer is its application's.
    pub last_ns: i64,
    pub timestamp: Option<u32>,
    pub ack: u64,
    /// Not scaled.
    pub window: u32,
    echoed: bool,
}

/// Acknowledgements that the sender of the data may not have answered yet: what it knew when it sent a segment.
#[derive(Debug, Default)]
pub struct PassedAcks {
    acks: VecDeque<PassedAck>,
}

impl PassedAcks {
    pub fn push(
        &mut self,
        at_ns: i64,
        timestamp: Option<u32>,
        ack: u64,
        window: u32,
        has_data: bool,
    ) {
        if let Some(last) = self.acks.back_mut() {
            let is_same = match (timestamp, last.timestamp) {
                (Some(new), Some(old)) => new == old,
                _ => at_ns - last.at_ns < SPACING_NS,
            };
            if is_same {
                last.ack = last.ack.max(ack);
                if !has_data {
                    last.last_ns = at_ns;
                }
                last.window = window;
                return;
            }
        }
        if self.acks.len() == MOST {
            halve(&mut self.acks);
        }
        self.acks.push_back(PassedAck {
            at_ns,
            last_ns: at_ns,
            timestamp,
            ack,
            window,
            echoed: false,
        });
    }

    /// The acknowledgement that a segment with this echo answers, and whether it is the first to do so.
    pub fn answered(&mut self, echo: u32) -> Option<(PassedAck, bool)> {
        let is_known = |it: &PassedAck| {
            it.timestamp
                .is_some_and(|timestamp| echo.wrapping_sub(timestamp) as i32 >= 0)
        };
        while self.acks.get(1).is_some_and(is_known) {
            self.acks.pop_front();
        }
        let first = self.acks.front_mut().filter(|first| is_known(first))?;
        let is_first = !first.echoed && first.timestamp == Some(echo);
        first.echoed = true;
        Some((*first, is_first))
    }

    /// The last one that passed at this time or before.
    pub fn at(&mut self, at_ns: i64) -> Option<PassedAck> {
        while self.acks.get(1).is_some_and(|second| second.at_ns <= at_ns) {
            self.acks.pop_front();
        }
        self.acks.front().filter(|it| it.at_ns <= at_ns).copied()
    }

    pub fn newest(&self) -> Option<PassedAck> {
        self.acks.back().copied()
    }
}

fn halve<T: Copy>(entries: &mut VecDeque<T>) {
    let mut index = 0;
    entries.retain(|_| {
        index += 1;
        index % 2 == 1
    });
}
