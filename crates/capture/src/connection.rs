//! A TCP connection as it passes one point of the path: two flows, what the handshake offered, and how it ended.

use crate::clock_steps::ClockSteps;
use crate::flow::Flow;
use crate::segment::{Endpoint, Segment};
use bentpipe_wire::tcp::flag;
use serde::Serialize;

/// What an end offered in its SYN.
#[expect(clippy::struct_excessive_bools, reason = "facts for JSON")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Offered {
    /// The packet was snapped within the options: those that are absent may have been offered.
    pub is_cut_off: bool,
    pub mss_bytes: Option<u16>,
    pub sack: bool,
    pub timestamps: bool,
    /// The shift; `None`: not offered.
    pub window_scale: Option<u8>,
    pub ecn: bool,
}

/// Copies of one in so many segments say that a point shows packets twice. Not more: in slow start much is sent before the copies pass the
/// other end.
const COPIED: u64 = 4;

/// Packets that are in the capture twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyCounts {
    pub copies: u64,
    /// How much later they came, together.
    later_ns: u64,
    /// Segments that take up sequence numbers, and those of them that were copies.
    numbered: u64,
    numbered_copies: u64,
}

#[derive(Debug)]
pub struct Connection {
    /// The end that opened it, then the other; without a handshake the end with the higher port first.
    pub ends: [Endpoint; 2],
    /// What each of `ends` sends.
    pub flows: [Flow; 2],
    pub offered: [Option<Offered>; 2],
    pub started_ns: i64,
    pub last_ns: i64,
    pub was_reset: bool,
    /// From here to the answering end and back, and to the opening end and back, by the handshake.
    pub handshake_ns: [Option<i64>; 2],
    pub clock_steps: ClockSteps,
    pub copies: CopyCounts,
    syn_ns: Option<i64>,
    syn_ack_ns: Option<i64>,
    initial_seq: [Option<u32>; 2],
}

impl Offered {
    /// Whether the options that say how much payload a full segment has may have been cut off.
    fn hides_segment_size(self) -> bool {
        self.is_cut_off && !(self.mss_bytes.is_some() && self.timestamps)
    }
}

impl CopyCounts {
    /// How much later copies came in the mean.
    pub fn mean_later_s(self) -> f64 {
        self.later_ns as f64 / 1e9 / self.copies.max(1) as f64
    }

    /// A segment passed, and is a copy of one that passed so long ago. Whether it is to be left out: an acknowledgement may be repeated
    /// in the very same words, so it is a copy only where it has an identification, where it is earlier than the packet before it as in
    /// files that were joined, or where other packets are copied.
    #[inline]
    fn leaves_out(&mut self, segment: &Segment, ago_ns: Option<u64>, is_late: bool) -> bool {
        let is_numbered = segment.sequence_bytes() > 0;
        if is_numbered {
            self.numbered += u64::from(ago_ns.is_none());
            self.numbered_copies += u64::from(ago_ns.is_some());
        }
        let Some(ago_ns) = ago_ns else {
            return false;
        };
        let is_copy = is_numbered
            || segment.identification != 0
            || is_late
            || COPIED * self.numbered_copies >= self.numbered.max(1);
        self.copies += u64::from(is_copy);
        self.later_ns += if is_copy { ago_ns } else { 0 };
        is_copy
    }
}

impl Connection {
    pub fn new(at_ns: i64, first: &Segment) -> Self {
        let opens = if first.has(flag::SYN) {
            !first.has(flag::ACK)
        } else {
            first.from.port >= first.to.port
        };
        let ends = if opens {
            [first.from, first.to]
        } else {
            [first.to, first.from]
        };
        Self {
            ends,
            flows: [Flow::default(), Flow::default()],
            offered: [None; 2],
            started_ns: at_ns,
            last_ns: at_ns,
            was_reset: false,
            handshake_ns: [None; 2],
            clock_steps: ClockSteps::default(),
            copies: CopyCounts::default(),
            syn_ns: None,
            syn_ack_ns: None,
            initial_seq: [None; 2],
        }
    }

    /// Whether this segment begins another connection between the same ports.
    pub fn is_succeeded_by(&self, segment: &Segment) -> bool {
        let side = self.side(segment);
        segment.has(flag::SYN)
            && !segment.has(flag::ACK)
            && self.initial_seq[side] != Some(segment.seq)
            && (self.initial_seq[side].is_some() || self.flows[side].has_data())
    }

    #[inline]
    fn side(&self, segment: &Segment) -> usize {
        usize::from(segment.from != self.ends[0])
    }

    pub fn payload_bytes(&self) -> u64 {
        let sent = |flow: &Flow| flow.counters.sent_bytes.max(flow.acknowledged_bytes());
        sent(&self.flows[0]) + sent(&self.flows[1])
    }

    pub fn is_over(&self) -> bool {
        self.was_reset || self.flows.iter().all(|flow| flow.fin_ns.is_some())
    }

    /// A segment that passed; `copy_of_ns`: it is a copy of one that passed so long ago.
    #[inline]
    pub fn pass_once(&mut self, at_ns: i64, segment: &Segment, copy_of_ns: Option<u64>) {
        let is_late = self.clock_steps.is_late(at_ns, self.last_ns);
        if !self.copies.leaves_out(segment, copy_of_ns, is_late) {
            self.pass(at_ns, segment);
        }
    }

    #[inline]
    fn pass(&mut self, at_ns: i64, segment: &Segment) {
        let side = self.side(segment);
        let (flow, timestamps) = (&self.flows[side], segment.options.timestamps);
        let sent_ns = || flow.sent_at_most_ns(timestamps);
        let at_ns = self.clock_steps.corrected(at_ns, self.last_ns, sent_ns);
        self.last_ns = at_ns;
        if segment.has(flag::SYN) {
            self.on_syn(at_ns, side, segment);
        } else if segment.has(flag::ACK) && self.syn_ack_ns.is_some() && side == 0 {
            self.on_handshake_end(at_ns);
        }
        if segment.has(flag::RST) {
            if !self.was_reset {
                self.flows[side].reset(at_ns);
            }
            self.was_reset = true;
            return;
        }
        if segment.has(flag::ACK) {
            self.flows[1 - side].on_acknowledgement(at_ns, segment);
        }
        let flow = &mut self.flows[side];
        flow.on_sent(at_ns, segment);
        if self.offered[1 - side].is_none_or(Offered::hides_segment_size) {
            flow.mss_bytes = flow.largest_payload.min(LARGEST_USUAL_PAYLOAD);
        }
    }

    fn on_syn(&mut self, at_ns: i64, side: usize, segment: &Segment) {
        let is_again = self.initial_seq[side] == Some(segment.seq);
        self.initial_seq[side] = Some(segment.seq);
        let options = &segment.options;
        let both = flag::ECE | flag::CWR;
        self.offered[side] = Some(Offered {
            is_cut_off: options.are_cut_off,
            mss_bytes: options.mss,
            sack: options.sack_permitted,
            timestamps: options.timestamps.is_some(),
            window_scale: options.window_scale,
            ecn: if segment.has(flag::ACK) {
                segment.has(flag::ECE)
            } else {
                segment.flags & both == both
            },
        });
        if segment.has(flag::ACK) {
            if let Some(syn_ns) = self.syn_ns {
                let far_ns = at_ns - syn_ns;
                self.handshake_ns[0] = Some(far_ns);
                self.flows[0].far.hint(far_ns);
                self.flows[1].near.hint(far_ns);
            }
            // Of a SYN-ACK that was sent again nobody knows which one was answered.
            self.syn_ack_ns = (!is_again).then_some(at_ns);
        } else {
            self.syn_ns = (!is_again).then_some(at_ns);
        }
        self.agree();
    }

    /// What both SYNs, or what a SYN-ACK alone, says of windows and segment sizes.
    fn agree(&mut self) {
        for side in 0..2 {
            let (Some(receiver), sender) = (self.offered[1 - side], self.offered[side]) else {
                continue;
            };
            let overhead = if receiver.timestamps && sender.is_none_or(|it| it.timestamps) {
                12
            } else {
                0
            };
            let flow = &mut self.flows[side];
            if !receiver.hides_segment_size() {
                flow.mss_bytes =
                    u32::from(receiver.mss_bytes.unwrap_or(536)).saturating_sub(overhead);
            }
            // An answer has the option only where the opening SYN had it (RFC 7323, section 2.2).
            if let Some(answer) = self.offered[1] {
                match (answer.window_scale, receiver.window_scale) {
                    (None, _) if !answer.is_cut_off => flow.scale.set(0),
                    (Some(_), Some(shift)) => flow.scale.set(shift),
                    _ => {}
                }
            }
        }
    }

    fn on_handshake_end(&mut self, at_ns: i64) {
        if let Some(syn_ack_ns) = self.syn_ack_ns.take() {
            let near_ns = at_ns - syn_ack_ns;
            self.handshake_ns[1] = Some(near_ns);
            self.flows[0].near.hint(near_ns);
            self.flows[1].far.hint(near_ns);
        }
    }

    pub fn finish(&mut self) {
        for flow in &mut self.flows {
            flow.finish();
        }
    }
}

/// Where no SYN says a segment's size: Ethernet's. What is longer is taken for a super-packet.
const LARGEST_USUAL_PAYLOAD: u32 = 1460;
