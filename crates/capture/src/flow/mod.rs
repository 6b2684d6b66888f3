//! One direction of a connection: data that one end sends and the acknowledgements that come back for it, as they pass one point
//! of the path. Departures from an exact reconstruction:
//!
//! 1. What the sender knew when it sent a segment is the acknowledgement that the segment's time stamp echoes (RFC 7323); without
//!    time stamps, the acknowledgement that passed one round trip to the sender ago.
//! 2. A hole that is filled is reordering where the late segment was sent before the one that showed the hole (by time stamp),
//!    or, where the time stamps are equal or absent, where it came sooner than a retransmission can.
//! 3. A retransmission is a timeout's where the sender's last acknowledgement was at least 150 ms and half a round trip old.
//! 4. A last segment that is lost before this point and sent again looks like new data after a pause.

mod acknowledged;
mod clock;
mod doubt;
mod events;
mod full_size;
mod histories;
mod ranges;
mod rtt;
mod sent;
mod timeline;
mod trains;
mod window_scale;

pub use events::{Event, EventKind, Events};
pub use rtt::Rtt;
pub use timeline::{RecoveryState, Sample, Timeline};
pub use window_scale::WindowScale;

use serde::Serialize;

use clock::Clock;
use doubt::{Doubt, Place};
use full_size::FullSize;
use histories::{PassedAcks, SentTimes};
use ranges::Ranges;
use trains::Trains;

/// A sequence number further than this from the others belongs to something else.
const FAR_OFF: u64 = 1 << 30;

/// A sequence number that is further than this from the others is out of place, or than the window where that is known and larger.
const LEAST_REACH_BYTES: u64 = 1 << 16;
/// The same where the window is not known, as in a capture that begins amid a transfer.
const UNKNOWN_REACH_BYTES: u64 = 1 << 24;

/// What happened in one direction, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    pub segments: u64,
    pub sent_bytes: u64,
    pub retransmits: u64,
    pub retransmitted_bytes: u64,
    pub timeouts: u64,
    /// Episodes of loss that end when all data sent before are acknowledged.
    pub loss_events: u64,
    /// Retransmitted segments that were lost between the sender and this point.
    pub lost_before: u64,
    /// Those that had passed this point.
    pub lost_after: u64,
    /// Retransmissions of what had been acknowledged here already.
    pub unneeded: u64,
    /// Bytes that the receiver reported as come twice (RFC 2883), in reports.
    pub duplicate_reports: u64,
    pub reordered: u64,
    pub acks: u64,
    pub duplicate_acks: u64,
    pub zero_windows: u64,
    pub marked: u64,
    /// Segments longer than the path can carry: captured before a device cuts them, or after it merges them.
    pub super_packets: u64,
    /// Segments that are not full: the sender had nothing more to send at that moment.
    pub short_segments: u64,
    /// Runs of new data that end with PSH: what was written, or what the sender sent at once. Linux sets PSH on the last of several
    /// segments that it sends at once (`__tcp_transmit_skb`), and on the last of all that was written.
    pub pushes: u64,
    /// Of them, those of a single full segment.
    pub single_pushes: u64,
    /// Of them, those of as many segments as the one before.
    pub equal_pushes: u64,
    /// New data after a gap of a quarter of the round trip.
    pub bursts: u64,
    /// Of them, those that no acknowledgement made the sender send.
    pub unprompted_bursts: u64,
    /// Bytes that were acknowledged and are not in the capture.
    pub unseen_bytes: u64,
    /// Packets whose sequence or acknowledgement number is far from the others, and which were left out.
    pub out_of_place: u64,
    /// Most bytes sent with less than a millisecond between segments.
    pub longest_burst_bytes: u64,
    pub idle_ns: i64,
    pub rwnd_limited_ns: i64,
}

#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// Ends when this is acknowledged.
    point: u64,
    after_timeout: bool,
}

/// Segments of new data since the latest PSH, and those of the run that it ended.
#[derive(Clone, Copy, Debug, Default)]
struct PushRun {
    segments: u64,
    before: u64,
}

#[derive(Debug, Default)]
pub struct Flow {
    pub counters: Counters,
    pub events: Events,
    pub timeline: Timeline,
    /// From here to the receiver and back.
    pub far: Rtt,
    /// From here to the sender and back.
    pub near: Rtt,
    pub scale: WindowScale,
    pub mss_bytes: u32,
    /// Largest payload seen in a segment.
    pub largest_payload: u32,
    pub first_data_ns: Option<i64>,
    pub last_data_ns: i64,
    pub fin_ns: Option<i64>,
    pub hop_limit: Option<u8>,
    has_begun: bool,
    /// Sequence numbers are counted from 2^32 plus that of the first segment.
    first: u64,
    next: u64,
    acknowledged: u64,
    fin: Option<u64>,
    holes: Ranges,
    sacked: Ranges,
    sent: SentTimes,
    acks: PassedAcks,
    recovery: Option<Recovery>,
    /// Acknowledgements up to here say nothing of the round-trip time.
    no_rtt_until: u64,
    last_ack_ns: Option<i64>,
    /// When everything before was acknowledged: data sent after it are outstanding since then.
    outstanding_since_ns: i64,
    /// Since then all data are acknowledged and the window is open for a full segment, as seen here.
    free_since_ns: Option<i64>,
    is_window_full: bool,
    push: PushRun,
    full_size: FullSize,
    zero_window_since_ns: Option<i64>,
    burst_bytes: u64,
    sender_clock: Clock,
    receiver_clock: Clock,
    /// Of new payload, as it passes.
    data_trains: Trains,
    /// Of payload that is acknowledged, as the acknowledgements pass.
    ack_trains: Trains,
    data_doubt: Doubt,
    ack_doubt: Doubt,
    /// Not scaled.
    widest_window: u32,
    bin: Bin,
}

/// What the current bin has that is not a counter.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    at_ns: i64,
    outstanding: Option<u64>,
    in_flight: Option<u64>,
    window: Option<u32>,
}

impl Flow {
    pub fn has_data(&self) -> bool {
        self.counters.sent_bytes > 0 || self.acknowledged_bytes() > 0
    }

    /// Payload that the receiver has acknowledged.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.payload_below(self.acknowledged)
    }

    /// Payload that has passed without a hole.
    pub fn received_bytes(&self) -> u64 {
        let end = self.holes.first().map_or(self.next, |hole| hole.start);
        self.payload_below(end)
    }

    /// What has passed here in any order, or what the receiver has said that it has: near the receiver the former is more.
    fn arrived_bytes(&self) -> u64 {
        if self.is_near_receiver() {
            return self
                .payload_below(self.next)
                .saturating_sub(self.holes.bytes());
        }
        self.acknowledged_bytes() + self.sacked.bytes()
    }

    /// Payload of a full segment, as far as is known now; 0: nothing is.
    pub fn full_bytes(&self) -> u32 {
        match self.full_size.bytes() {
            Some(found) if self.mss_bytes == 0 || found < self.mss_bytes => found,
            _ => self.mss_bytes,
        }
    }

    /// Whether most of the round-trip time lies between this point and the sender.
    fn is_near_receiver(&self) -> bool {
        self.near.smoothed_ns() > self.far.smoothed_ns()
    }

    /// How fast payload came that came one after another, where it passed the path before this point: new payload near the
    /// receiver, what acknowledgements say near the sender. See [`trains`].
    pub fn train_rates(&self) -> Vec<(f64, u32)> {
        if self.is_near_receiver() {
            self.data_trains.rates()
        } else {
            self.ack_trains.rates()
        }
    }

    fn payload_below(&self, end: u64) -> u64 {
        self.fin
            .map_or(end, |fin| end.min(fin))
            .saturating_sub(self.first)
    }

    /// The whole path's, smoothed.
    fn rtt_ns(&self) -> i64 {
        self.far.smoothed_ns() + self.near.smoothed_ns()
    }

    /// `None`: too far from the sequence numbers seen so far.
    #[inline]
    fn unwrapped(&self, seq: u32) -> Option<u64> {
        let offset = seq.wrapping_sub(self.next as u32) as i32;
        (u64::from(offset.unsigned_abs()) < FAR_OFF)
            .then(|| self.next.saturating_add_signed(offset.into()))
    }

    /// Where data begin. `None`: out of place.
    #[inline]
    fn data_place(&mut self, seq: u32) -> Option<u64> {
        let place = self.unwrapped(seq)?;
        let reach = self.reach_bytes();
        let found = (self.data_doubt).place(place, self.acknowledged, self.next, reach);
        self.used(place, found)
    }

    /// Up to where data are acknowledged. `None`: out of place.
    #[inline]
    fn ack_place(&mut self, ack: u32) -> Option<u64> {
        let place = self.unwrapped(ack)?;
        let reach = self.reach_bytes();
        let found = (self.ack_doubt).place(place, self.acknowledged, self.next, reach);
        self.used(place, found)
    }

    fn used(&mut self, place: u64, found: Place) -> Option<u64> {
        self.counters.out_of_place += u64::from(found == Place::Doubtful);
        if found == Place::Confirmed
            && self.counters.sent_bytes == 0
            && self.acknowledged == self.first
        {
            // What it began with was damaged.
            self.begin(place as u32, false);
            return Some(self.first);
        }
        (found != Place::Doubtful).then_some(place)
    }

    /// What a sender has in flight is no more than the window.
    fn reach_bytes(&self) -> u64 {
        if self.scale.is_known() {
            self.scale.bytes(self.widest_window).max(LEAST_REACH_BYTES)
        } else {
            UNKNOWN_REACH_BYTES
        }
    }

    /// An end sent a segment with this time stamp no later than this: [`Clock::at_most_ns`].
    #[inline]
    pub fn sent_at_most_ns(&self, timestamps: Option<(u32, u32)>) -> Option<i64> {
        self.sender_clock.at_most_ns(timestamps?.0)
    }

    fn begin(&mut self, first: u32, has_syn: bool) {
        self.has_begun = true;
        self.first = (1 << 32) + u64::from(first) + u64::from(has_syn);
        self.next = self.first;
        self.acknowledged = self.first;
    }

    /// Called before a packet of this flow, or one that acknowledges it, is looked at.
    #[inline]
    fn pass_time(&mut self, at_ns: i64) {
        if self.timeline.is_bin_over(at_ns) {
            self.end_bin(at_ns);
        }
        self.bin.at_ns = at_ns;
    }

    fn end_bin(&mut self, at_ns: i64) {
        let sample = self.sample();
        self.timeline.end_bin(sample, at_ns);
        self.bin = Bin::default();
    }

    /// To be called once, when no more packets follow.
    pub fn finish(&mut self) {
        if self.has_begun {
            self.end_bin(self.bin.at_ns);
        }
    }

    fn sample(&mut self) -> Sample {
        let counters = &self.counters;
        let began_ns = self.first_data_ns.unwrap_or(self.bin.at_ns);
        Sample {
            at_ns: self.bin.at_ns,
            sent_bytes: counters.sent_bytes,
            acknowledged_bytes: self.acknowledged_bytes(),
            received_bytes: self.received_bytes(),
            arrived_bytes: self.arrived_bytes(),
            retransmitted_bytes: counters.retransmitted_bytes,
            retransmits: counters.retransmits,
            timeouts: counters.timeouts,
            segments: counters.segments,
            acks: counters.acks,
            out_of_order: counters.reordered,
            marked: counters.marked,
            short_segments: counters.short_segments,
            pushes: counters.pushes,
            single_pushes: counters.single_pushes,
            equal_pushes: counters.equal_pushes,
            bursts: counters.bursts,
            unprompted_bursts: counters.unprompted_bursts,
            busy_ns: (self.bin.at_ns - began_ns - counters.idle_ns).max(0),
            rwnd_limited_ns: counters.rwnd_limited_ns,
            outstanding_bytes: self.bin.outstanding,
            in_flight_bytes: self.bin.in_flight,
            recovery: match self.recovery {
                Some(recovery) if recovery.after_timeout => RecoveryState::Loss,
                Some(_) => RecoveryState::Recovery,
                None if self.sacked.bytes() > 0 => RecoveryState::Disorder,
                None => RecoveryState::Open,
            },
            window: self.bin.window.or(self.acks.newest().map(|ack| ack.window)),
            far_ns: self.far.end_bin(),
            near_ns: self.near.end_bin(),
            min_far_ns: self.far.min_ns,
            min_near_ns: self.near.min_ns,
            sender_clock: self.sender_clock.latest(),
            receiver_clock: self.receiver_clock.latest(),
        }
    }

    fn note(&mut self, at_ns: i64, kind: EventKind, bytes: u64, lasted_ns: i64) {
        self.events.push(Event {
            at_ns,
            kind,
            bytes,
            lasted_ns,
        });
    }

    pub fn reset(&mut self, at_ns: i64) {
        self.note(at_ns, EventKind::Reset, 0, 0);
    }
}
