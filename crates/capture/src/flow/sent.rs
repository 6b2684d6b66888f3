//! What a segment with data says, as it passes.

use super::histories::PassedAck;
use super::ranges::Range;
use super::{Bin, EventKind, Flow, Recovery};
use crate::segment::Segment;
use bentpipe_wire::tcp::flag;

/// Segments closer together than this are one burst.
const BURST_GAP_NS: i64 = 1_000_000;
/// A burst begins after a longer gap, and after a part of the round trip that no queue leaves between its packets.
const LEAST_BURST_GAP_NS: i64 = 2_000_000;
const BURST_GAP_OF_ROUND_TRIP: i64 = 4;
/// An acknowledgement makes a sender send sooner than this, where all is acknowledged.
const PROMPT_IDLE_NS: i64 = 2_000_000;
/// The same where other data are on their way: this, or a part of the round trip.
const PROMPT_BUSY_NS: i64 = 5_000_000;
const PROMPT_OF_ROUND_TRIP: i64 = 8;
/// Shorter pauses of an application are no events.
const LEAST_GAP_NS: i64 = 10_000_000;
/// No timeout is shorter: Linux waits 200 ms and more.
const LEAST_TIMEOUT_NS: i64 = 150_000_000;
/// Where the round-trip time is not known, what comes this soon is reordered (as Wireshark has it).
const REORDERED_WITHIN_NS: i64 = 3_000_000;

impl Flow {
    /// A segment of this flow's sender, with or without data.
    pub fn on_sent(&mut self, at_ns: i64, segment: &Segment) {
        if !self.has_begun {
            self.begin(segment.seq, segment.has(flag::SYN));
        }
        self.pass_time(at_ns);
        self.sender_clock.read(at_ns, segment.options.timestamps);
        if segment.payload_bytes == 0 && !segment.has(flag::FIN) {
            self.knowledge(at_ns, segment);
            return;
        }
        let first = segment.seq.wrapping_add(segment.has(flag::SYN).into());
        let Some(start) = self.data_place(first) else {
            return;
        };
        let payload = u64::from(segment.payload_bytes);
        let end = start + payload;
        if segment.has(flag::FIN) && self.fin.is_none() {
            self.fin = Some(end.max(self.next));
            self.fin_ns = Some(at_ns);
        }
        let known = self.knowledge(at_ns, segment);
        if payload == 0 {
            self.next = self.next.max(end + 1);
            return;
        }
        if payload <= 1 && end <= self.acknowledged {
            return; // a keep-alive
        }
        self.count(at_ns, segment);
        self.account_pause(at_ns, known);
        let old_end = end.min(self.next);
        if start == self.next {
            self.account_burst(at_ns, known);
            self.data_trains.pass(at_ns, start, end, self.full_bytes());
        } else {
            self.data_trains.cut();
        }
        if start < old_end {
            self.on_old_bytes(at_ns, segment, (start, old_end), known);
        }
        if end > self.next {
            if start > self.next {
                self.holes.insert(Range {
                    start: self.next,
                    end: start,
                    at_ns,
                    shown_by: segment.options.timestamps.map(|(value, _)| value),
                });
                self.no_rtt_until = end;
            }
            if self.next == self.acknowledged {
                self.outstanding_since_ns = at_ns;
            }
            self.free_since_ns = None;
            self.count_push(segment);
            self.next = end;
            self.sent.push(end, at_ns);
        }
        if segment.has(flag::FIN) {
            self.next = self.next.max(end + 1);
        }
        self.account_outstanding(known);
        self.first_data_ns.get_or_insert(at_ns);
        self.last_data_ns = at_ns;
    }

    fn count(&mut self, at_ns: i64, segment: &Segment) {
        let payload = segment.payload_bytes;
        let is_at_once = self.first_data_ns.is_some() && at_ns - self.last_data_ns < BURST_GAP_NS;
        self.largest_payload = self.largest_payload.max(payload);
        self.full_size
            .on_segment(payload, is_at_once, self.mss_bytes);
        let full = self.full_bytes();
        if full > 0 && payload > full {
            self.counters.super_packets += 1;
            self.counters.segments += u64::from(payload.div_ceil(full));
        } else {
            self.counters.segments += 1;
        }
        self.counters.sent_bytes += u64::from(payload);
        self.counters.short_segments += u64::from(!payload.is_multiple_of(full.max(1)));
        if segment.is_marked {
            self.counters.marked += 1;
            self.note(at_ns, EventKind::Mark, payload.into(), 0);
        }
        if is_at_once {
            self.burst_bytes += u64::from(payload);
        } else {
            self.burst_bytes = payload.into();
        }
        self.counters.longest_burst_bytes = self.counters.longest_burst_bytes.max(self.burst_bytes);
        self.hop_limit = Some(segment.hop_limit);
    }

    /// A segment of new data: it may end a run.
    fn count_push(&mut self, segment: &Segment) {
        let payload = u64::from(segment.payload_bytes);
        // Not known yet: nothing says that it is several, and nothing that it is full.
        let full = match u64::from(self.full_bytes()) {
            0 => u64::MAX,
            full => full,
        };
        self.push.segments += payload.div_ceil(full);
        if segment.has(flag::PSH) {
            let segments = core::mem::take(&mut self.push.segments);
            self.counters.pushes += 1;
            self.counters.single_pushes += u64::from(segments == 1 && payload == full);
            self.counters.equal_pushes += u64::from(segments == self.push.before);
            self.push.before = segments;
        }
    }

    /// The last acknowledgement that the sender had when it sent this.
    fn knowledge(&mut self, at_ns: i64, segment: &Segment) -> Option<PassedAck> {
        if let Some((_, echo)) = segment.options.timestamps {
            let (answered, is_first) = self.acks.answered(echo)?;
            if is_first {
                self.near.sample(at_ns - answered.at_ns);
            }
            return Some(answered);
        }
        let near_ns = self.near.min_ns?;
        self.acks.at(at_ns - near_ns)
    }

    /// How long the sender waited before this segment, and for what.
    fn account_pause(&mut self, at_ns: i64, known: Option<PassedAck>) {
        let near_ns = self.near.min_ns.unwrap_or(0);
        let mut idle_ns = 0;
        // Later acknowledgements, such as those that the receiver's own data carry, change nothing.
        if let Some(known) = known
            && let Some(free_since_ns) = self.free_since_ns
            && self.first_data_ns.is_some()
            && known.ack >= self.next
        {
            let free_since_ns = (free_since_ns + near_ns).max(self.last_data_ns);
            idle_ns = (at_ns - free_since_ns).max(0);
            if idle_ns >= LEAST_GAP_NS.max(near_ns / 4) {
                self.counters.idle_ns += idle_ns;
                self.note(at_ns - idle_ns, EventKind::Gap, 0, idle_ns);
            }
        }
        if self.is_window_full && self.first_data_ns.is_some() {
            self.counters.rwnd_limited_ns += (at_ns - self.last_data_ns - idle_ns).max(0);
        }
    }

    /// New data, after a gap: whether an acknowledgement made the sender send it, or its application or a timer.
    fn account_burst(&mut self, at_ns: i64, known: Option<PassedAck>) {
        let (Some(known), Some(_)) = (known, self.first_data_ns) else {
            return;
        };
        let near_ns = self.near.min_ns.unwrap_or(0);
        let round_trip_ns = near_ns + self.far.min_ns.unwrap_or(0);
        let gap_ns = at_ns - self.last_data_ns;
        if gap_ns <= LEAST_BURST_GAP_NS.max(round_trip_ns / BURST_GAP_OF_ROUND_TRIP) {
            return;
        }
        let prompt_ns = if known.ack >= self.next {
            PROMPT_IDLE_NS
        } else {
            PROMPT_BUSY_NS.max(round_trip_ns / PROMPT_OF_ROUND_TRIP)
        };
        self.counters.bursts += 1;
        self.counters.unprompted_bursts += u64::from(at_ns - known.last_ns - near_ns > prompt_ns);
    }

    /// How much of the window was in use after this segment was sent.
    fn account_outstanding(&mut self, known: Option<PassedAck>) {
        let Some(known) = known else {
            return;
        };
        let mss = u64::from(self.full_bytes().max(1));
        let outstanding = self.next.saturating_sub(known.ack);
        self.scale.outstanding(outstanding, known.window, mss);
        self.is_window_full = outstanding + mss > self.scale.bytes(known.window);
        if self.bin.outstanding.is_none_or(|most| outstanding >= most) {
            // Holes below what is selectively acknowledged are lost, until they are sent again.
            let sacked = self.sacked.bytes();
            let lost = self.sacked.end().map_or(0, |end| {
                (end.saturating_sub(self.acknowledged)).saturating_sub(sacked)
            });
            let lost = if self.recovery.is_some() { 0 } else { lost };
            self.bin = Bin {
                outstanding: Some(outstanding),
                in_flight: Some(outstanding.saturating_sub(sacked + lost)),
                window: Some(known.window),
                ..self.bin
            };
        }
    }

    /// Bytes below the highest that has passed: late, or sent again.
    fn on_old_bytes(
        &mut self,
        at_ns: i64,
        segment: &Segment,
        (start, end): (u64, u64),
        known: Option<PassedAck>,
    ) {
        let (filled, hole) = self.holes.remove(start, end);
        let late_ns = hole.map_or(0, |hole| at_ns - hole.at_ns);
        if let Some(hole) = hole
            && self.is_reordered(segment, hole.shown_by, late_ns)
        {
            self.counters.reordered += 1;
            self.note(at_ns, EventKind::Reordering, filled, late_ns);
            return;
        }
        let bytes = end - start;
        self.counters.retransmits += match self.full_bytes() {
            0 => 1,
            full => bytes.div_ceil(full.into()),
        };
        self.counters.retransmitted_bytes += bytes;
        self.no_rtt_until = self.next;
        self.note(at_ns, EventKind::Retransmission, bytes, 0);
        if let Some(hole) = hole {
            self.counters.lost_before += 1;
            self.note(hole.at_ns, EventKind::Loss, filled, late_ns);
        } else if end <= self.acknowledged {
            self.counters.unneeded += 1;
            self.note(at_ns, EventKind::Duplicate, bytes, 0);
        } else {
            self.counters.lost_after += 1;
        }
        self.recover(at_ns, bytes, start, known);
    }

    fn is_reordered(&self, segment: &Segment, shown_by: Option<u32>, late_ns: i64) -> bool {
        let by_time = late_ns < (self.rtt_ns() / 10 * 9).max(REORDERED_WITHIN_NS);
        match (segment.options.timestamps, shown_by) {
            (Some((value, _)), Some(shown_by)) => {
                match (value.wrapping_sub(shown_by) as i32).signum() {
                    -1 => true,
                    0 => by_time,
                    _ => false,
                }
            }
            _ => by_time,
        }
    }

    fn recover(&mut self, at_ns: i64, bytes: u64, start: u64, known: Option<PassedAck>) {
        let near_ns = self.near.min_ns.unwrap_or(0);
        let waited_ns = known.map_or(at_ns - self.last_data_ns, |known| {
            at_ns - (known.at_ns + near_ns).max(self.last_data_ns)
        });
        let is_first_outstanding = known.is_none_or(|known| start <= known.ack);
        let after_timeout =
            waited_ns >= LEAST_TIMEOUT_NS.max(self.rtt_ns() / 2) && is_first_outstanding;
        if after_timeout {
            self.counters.timeouts += 1;
            self.note(at_ns, EventKind::Timeout, bytes, waited_ns);
        }
        let is_new = match self.recovery {
            None => true,
            Some(recovery) => after_timeout && !recovery.after_timeout,
        };
        if is_new {
            self.counters.loss_events += 1;
            self.recovery = Some(Recovery {
                point: self.next,
                after_timeout,
            });
        }
    }
}
