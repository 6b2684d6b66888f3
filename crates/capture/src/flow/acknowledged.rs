//! What an acknowledgement says of the flow that it acknowledges, as it passes.

use super::ranges::Range;
use super::{EventKind, Flow};
use crate::segment::Segment;
use bentpipe_wire::tcp::flag;

/// Shorter waits for an acknowledgement are no events.
const LEAST_SILENCE_NS: i64 = 200_000_000;

impl Flow {
    /// A segment with ACK that the flow's receiver sent.
    pub fn on_acknowledgement(&mut self, at_ns: i64, segment: &Segment) {
        if !self.has_begun {
            self.begin(segment.ack, false);
        }
        self.pass_time(at_ns);
        let Some(ack) = self.ack_place(segment.ack) else {
            return;
        };
        self.counters.acks += 1;
        self.receiver_clock.read(at_ns, segment.options.timestamps);
        if segment.has(flag::ECE) && !segment.has(flag::SYN) {
            self.counters.marked += 1;
            self.note(at_ns, EventKind::Mark, 0, 0);
        }
        if ack > self.next {
            self.counters.unseen_bytes += ack - self.next;
            self.next = ack;
        }
        self.on_window(at_ns, segment, ack);
        self.on_silence(at_ns);
        self.on_sack(at_ns, segment, ack);
        if ack > self.acknowledged {
            self.advance(at_ns, ack);
        } else if ack == self.acknowledged && segment.sequence_bytes() == 0 && self.next > ack {
            self.counters.duplicate_acks += 1;
        }
        self.last_ack_ns = Some(at_ns);
        self.free_since_ns = if self.is_free(segment) {
            self.free_since_ns.or(Some(at_ns))
        } else {
            None
        };
    }

    /// Whether the sender, once it has this acknowledgement, may send a full segment and has nothing under way.
    fn is_free(&self, segment: &Segment) -> bool {
        let window = if segment.has(flag::SYN) {
            segment.window.into()
        } else {
            self.scale.bytes(segment.window.into())
        };
        self.acknowledged >= self.next && window >= u64::from(self.full_bytes().max(1))
    }

    fn advance(&mut self, at_ns: i64, ack: u64) {
        let slack = 2 * u64::from(self.full_bytes().max(1));
        let sent_ns = self.sent.acknowledge(ack, slack);
        if ack > self.no_rtt_until
            && let Some(sent_ns) = sent_ns
        {
            self.far.sample(at_ns - sent_ns);
        }
        let full = self.full_bytes();
        if self.sacked.bytes() == 0 {
            self.ack_trains.pass(at_ns, self.acknowledged, ack, full);
        } else {
            self.ack_trains.cut();
        }
        self.acknowledged = ack;
        self.outstanding_since_ns = at_ns;
        self.sacked.remove_below(ack);
        self.counters.unseen_bytes += self.holes.remove_below(ack);
        if self.recovery.is_some_and(|recovery| ack >= recovery.point) {
            self.recovery = None;
        }
    }

    fn on_window(&mut self, at_ns: i64, segment: &Segment, ack: u64) {
        let mut window = u32::from(segment.window);
        if segment.has(flag::SYN) {
            // Not scaled, unlike those that follow.
            window = (u64::from(window) / self.scale.bytes(1).max(1)) as u32;
        }
        self.widest_window = self.widest_window.max(window);
        let timestamp = segment.options.timestamps.map(|(value, _)| value);
        if !segment.has(flag::RST) {
            let has_data = segment.payload_bytes > 0;
            self.acks.push(at_ns, timestamp, ack, window, has_data);
            match self.zero_window_since_ns {
                None if window == 0 => {
                    self.counters.zero_windows += 1;
                    self.zero_window_since_ns = Some(at_ns);
                }
                Some(since_ns) if window > 0 => {
                    self.note(since_ns, EventKind::ZeroWindow, 0, at_ns - since_ns);
                    self.zero_window_since_ns = None;
                }
                _ => {}
            }
        }
    }

    /// Before this acknowledgement is taken in.
    fn on_silence(&mut self, at_ns: i64) {
        if self.next <= self.acknowledged || self.zero_window_since_ns.is_some() {
            return;
        }
        let since_ns = self.last_ack_ns.map_or(self.outstanding_since_ns, |last| {
            last.max(self.outstanding_since_ns)
        });
        let lasted_ns = at_ns - since_ns;
        if lasted_ns > LEAST_SILENCE_NS + 3 * self.far.smoothed_ns() / 2 {
            let bytes = self.next - self.acknowledged;
            self.note(since_ns, EventKind::Silence, bytes, lasted_ns);
        }
    }

    fn on_sack(&mut self, at_ns: i64, segment: &Segment, ack: u64) {
        let blocks = segment.options.sack();
        for (index, &(left, right)) in blocks.iter().enumerate() {
            let (Some(start), Some(end)) = (self.unwrapped(left), self.unwrapped(right)) else {
                continue;
            };
            if start >= end {
                continue;
            }
            // RFC 2883: the first block, below the acknowledgement or within the second block.
            let is_duplicate = index == 0
                && (end <= ack
                    || blocks.get(1).is_some_and(|&(left, right)| {
                        self.unwrapped(left).is_some_and(|it| it <= start)
                            && self.unwrapped(right).is_some_and(|it| end <= it)
                    }));
            if is_duplicate {
                self.counters.duplicate_reports += 1;
                self.note(at_ns, EventKind::Duplicate, end - start, 0);
            } else if end > ack {
                self.sacked.insert(Range {
                    start: start.max(ack),
                    end,
                    at_ns,
                    shown_by: None,
                });
                self.no_rtt_until = self.no_rtt_until.max(self.next);
            }
        }
    }
}
