//! When to acknowledge: quick ACKs at the start and after trouble, every second full segment, or after a delay that follows
//! the arrivals' spacing (40 to 200 ms); duplicate ACKs compressed as Linux does (at most one a millisecond, 5 % of an RTT
//! or 44 segments, after the first three).
//!
//! 1. Pingpong mode begins with one answer (`TCP_PINGPONG_THRESH` = 1) and ends at the delayed ACK's timer.

use crate::segment::{Segment, flag};
use bentpipe_base::time::{Nanos, Time};

const ATO_MIN: Nanos = Nanos::from_millis(40);
const DELAY_MAX: Nanos = Nanos::from_millis(200);
const COMPRESS_DELAY: Nanos = Nanos::from_millis(1);
/// The timer's leave to fire later, which it takes where nothing else wakes the host (`tcp_comp_sack_slack_ns`).
const COMPRESS_SLACK: Nanos = Nanos::from_micros(100);
const COMPRESS_COUNT: u32 = 44;

#[derive(Clone, Copy, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the bits of icsk_ack.pending"
)]
pub struct DelayedAck {
    /// The receiver's idea of a full segment (`rcv_mss`).
    pub rcv_mss: u32,
    last_length: u32,
    quick: u32,
    /// Zero before the first data.
    ato: Nanos,
    last_received: Time,
    pingpong: bool,
    /// An ACK is owed at once.
    pub now: bool,
    scheduled: bool,
    pushed: bool,
    pushed_again: bool,
    pub compressed: u32,
    compressed_at: u64,
    duplicates: u32,
}

/// What of the receiver decides whether an ACK leaves.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    pub rcv_nxt: u64,
    /// Bytes in order since the last ACK left.
    pub unacked: u64,
    /// Something is out of order.
    pub holes: bool,
    /// The peer reads SACK blocks.
    pub sack: bool,
}

/// When to acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing is owed.
    None,
    Now,
    /// After [`delay`](DelayedAck::delay).
    Delayed,
    /// After [`compression`](DelayedAck::compression), unless that is under way.
    Compressed,
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self {
            rcv_mss: 536,
            last_length: 0,
            quick: 0,
            ato: Nanos::ZERO,
            last_received: Time::ZERO,
            pingpong: false,
            now: false,
            scheduled: false,
            pushed: false,
            pushed_again: false,
            compressed: 0,
            compressed_at: 0,
            duplicates: 0,
        }
    }
}

impl DelayedAck {
    /// Segments that fill half the advertised window.
    fn half(&self, window: u64) -> u32 {
        (window / (2 * u64::from(self.rcv_mss))).min(1000) as u32
    }

    /// Quick ACKs for as many segments as fill half the advertised `window`, at most `most`.
    pub fn enter_quick(&mut self, most: u32, window: u64) {
        self.quick = self.quick.max(self.half(window).clamp(2, most.max(2)));
        self.pingpong = false;
        self.ato = ATO_MIN;
    }

    pub fn window_grew(&mut self) {
        self.quick |= 1;
    }

    pub fn no_quick(&mut self) {
        self.quick = 0;
    }

    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.pingpong
    }

    /// A segment was queued, in order or not: an ACK is owed (`tcp_measure_rcv_mss`). `mss` is the largest that the peer may send, and
    /// `option_bytes` come with each. Returns whether it shows a new size of full segments.
    pub fn queued(&mut self, packet: &Segment, mss: u32, option_bytes: u32) -> bool {
        self.scheduled = true;
        let length = if packet.segments > 1 {
            mss.min(packet.payload)
        } else {
            packet.payload
        };
        let pushed = packet.has(flag::PSH);
        if length >= self.rcv_mss {
            let new_size = length != self.rcv_mss;
            self.rcv_mss = length.min(mss);
            if pushed && packet.segments == 1 {
                self.pushed = true;
            }
            return new_size;
        }
        // The header counts with its options; a segment without PSH is taken for a full one.
        let with_options = length + option_bytes;
        if with_options >= 536 || (with_options >= 88 && !pushed) {
            if length == self.last_length {
                self.rcv_mss = length;
                return false;
            }
            self.last_length = length;
        }
        self.pushed_again |= self.pushed;
        self.pushed = true;
        false
    }

    /// It was in order: the delay follows the arrivals' spacing (`tcp_event_data_recv`).
    pub fn arrived_in_order(&mut self, now: Time, rto: Nanos, window: u64) {
        if self.ato == Nanos::ZERO {
            self.quick = self.quick.max(self.half(window).clamp(2, 16));
            self.ato = ATO_MIN;
        } else {
            let gap = now - self.last_received;
            let ato = &mut self.ato;
            if gap.0 <= ATO_MIN.0 / 2 {
                *ato = Nanos((ato.0 >> 1) + ATO_MIN.0 / 2);
            } else if gap < *ato {
                *ato = Nanos((ato.0 >> 1) + gap.0).min(rto);
            } else if gap > rto {
                // The sender has been idle: it may restart slowly, so answer quickly.
                self.quick = self.quick.max(self.half(window).clamp(2, 16));
            }
        }
        self.last_received = now;
    }

    /// After data: an ACK now, compressed, or delayed (`__tcp_ack_snd_check`). `window_holds`: the window to advertise now is no
    /// smaller than the one that stands.
    pub fn answer(&mut self, received: Received, window_holds: impl FnOnce() -> bool) -> Answer {
        if !self.scheduled && !self.now {
            return Answer::None;
        }
        let two_segments = received.unacked > u64::from(self.rcv_mss);
        if (two_segments && window_holds()) || self.is_quick() || self.now {
            return Answer::Now;
        }
        if !received.holes {
            return Answer::Delayed;
        }
        if !received.sack || self.compressed >= COMPRESS_COUNT {
            return Answer::Now;
        }
        if self.compressed_at != received.rcv_nxt {
            self.compressed_at = received.rcv_nxt;
            self.duplicates = 0;
        }
        if self.duplicates < 3 {
            self.duplicates += 1;
            return Answer::Now;
        }
        self.compressed += 1;
        Answer::Compressed
    }

    /// How long a compressed ACK waits, by the receiver's and the sender's estimate of the RTT.
    pub fn compression(receiver_rtt: Nanos, srtt: Option<Nanos>) -> Nanos {
        let rtt = srtt.map_or(receiver_rtt, |srtt| receiver_rtt.min(srtt));
        Nanos(rtt.0 / 20).min(COMPRESS_DELAY) + COMPRESS_SLACK
    }

    /// How long a delayed ACK waits (`tcp_send_delayed_ack`).
    pub fn delay(&self, srtt: Option<Nanos>) -> Nanos {
        let mut ato = self.ato;
        if ato > ATO_MIN {
            let mut most = Nanos::from_millis(500);
            if self.pingpong || self.pushed {
                most = DELAY_MAX;
            }
            if let Some(srtt) = srtt {
                most = most.min(srtt.max(ATO_MIN));
            }
            ato = ato.min(most);
        }
        ato.min(DELAY_MAX)
    }

    /// The delayed ACK's timer fired. Returns whether an ACK is still owed; the next is then delayed longer.
    pub fn timed_out(&mut self, rto: Nanos) -> bool {
        if !self.scheduled {
            return false;
        }
        if self.pingpong {
            self.pingpong = false;
            self.ato = ATO_MIN;
        } else {
            self.ato = Nanos((self.ato.0 << 1).min(rto.0));
        }
        true
    }

    /// Whether an ACK is due for data once the application has read; `all_read`: nothing is left (`tcp_cleanup_rbuf`).
    pub fn is_due_after_read(&self, unacked: u64, all_read: bool) -> bool {
        let pushed = self.pushed_again || (self.pushed && !self.pingpong);
        self.scheduled && (unacked > u64::from(self.rcv_mss) || (pushed && all_read))
    }

    /// A packet with ACK left.
    pub fn sent(&mut self) {
        if self.quick > 0 && self.scheduled {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = ATO_MIN;
            }
        }
        self.now = false;
        self.scheduled = false;
        self.pushed = false;
        self.pushed_again = false;
        self.compressed = 0;
    }

    /// Data leaves soon after data came: the ACK can ride on answers (pingpong mode).
    pub fn data_sent(&mut self, now: Time) {
        if self.ato > Nanos::ZERO && now - self.last_received < self.ato {
            self.pingpong = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Nanos = Nanos::from_millis(300);

    fn ms(millis: i64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn data(payload: u32, flags: u8) -> Segment {
        Segment {
            payload,
            flags,
            segments: 1,
            ..Segment::default()
        }
    }

    /// Full segments have come in order, one each `gap`, after the quick ACKs of the start.
    fn after(count: i64, gap: Nanos) -> DelayedAck {
        let mut delayed = DelayedAck::default();
        for number in 0..count {
            delayed.queued(&data(1448, 0), 1448, 12);
            delayed.arrived_in_order(Time(number * gap.0), RTO, 65_536);
        }
        delayed.no_quick();
        delayed
    }

    fn received(unacked: u64) -> Received {
        Received {
            rcv_nxt: 1 + unacked,
            unacked,
            holes: false,
            sack: true,
        }
    }

    #[test]
    fn the_first_segments_are_acknowledged_at_once_for_half_the_window_at_most_sixteen() {
        let mut delayed = DelayedAck::default();
        delayed.queued(&data(1448, 0), 1448, 12);
        delayed.arrived_in_order(Time(0), RTO, 1448 * 8);
        for _ in 0..4 {
            delayed.scheduled = true;
            assert_eq!(delayed.answer(received(1448), || true), Answer::Now);
            delayed.sent();
        }
        delayed.scheduled = true;
        assert_eq!(delayed.answer(received(1448), || true), Answer::Delayed);
    }

    #[test]
    fn every_second_full_segment_is_acknowledged_unless_the_window_shrank() {
        let mut delayed = after(9, ms(1));
        assert_eq!(delayed.answer(received(1448), || true), Answer::Delayed);
        assert_eq!(delayed.answer(received(1449), || true), Answer::Now);
        assert_eq!(delayed.answer(received(1449), || false), Answer::Delayed);
        delayed.sent();
        assert_eq!(delayed.answer(received(0), || true), Answer::None);
    }

    #[test]
    fn the_delay_follows_the_spacing_between_40_and_200_ms() {
        for (gap, delay) in [(1, 40), (30, 40), (90, 40), (500, 40)] {
            let delayed = after(40, ms(gap));
            let late = delayed.delay(None) - ms(delay);
            assert!((0..=40_000_000).contains(&late.0), "{gap} ms: {late:?}");
        }
        let mut sparse = after(2, ms(1));
        for _ in 0..5 {
            sparse.scheduled = true;
            assert!(sparse.timed_out(RTO));
        }
        assert_eq!(sparse.delay(None), ms(200));
        assert_eq!(sparse.delay(Some(ms(70))), ms(70), "no longer than srtt");
        assert_eq!(sparse.delay(Some(ms(3))), ms(40), "and no shorter than 40");
    }

    #[test]
    fn after_three_duplicates_acks_are_compressed_until_44_wait() {
        let mut delayed = after(9, ms(1));
        let holes = Received {
            holes: true,
            ..received(0)
        };
        for duplicate in 0..3 {
            assert_eq!(delayed.answer(holes, || true), Answer::Now, "{duplicate}");
            delayed.sent();
            delayed.scheduled = true;
        }
        for _ in 0..44 {
            assert_eq!(delayed.answer(holes, || true), Answer::Compressed);
        }
        assert_eq!(delayed.answer(holes, || true), Answer::Now);
        let without_sack = Received {
            sack: false,
            ..holes
        };
        delayed.sent();
        delayed.scheduled = true;
        assert_eq!(delayed.answer(without_sack, || true), Answer::Now);
        let slack = Nanos::from_micros(100);
        assert_eq!(
            DelayedAck::compression(ms(10), None),
            Nanos::from_micros(500) + slack
        );
        assert_eq!(DelayedAck::compression(ms(900), None), ms(1) + slack);
        assert_eq!(
            DelayedAck::compression(ms(900), Some(ms(4))),
            Nanos::from_micros(200) + slack
        );
    }

    #[test]
    fn data_that_answers_soon_carries_the_ack_until_it_once_does_not() {
        let mut delayed = after(9, ms(1));
        delayed.enter_quick(16, 65_536);
        delayed.scheduled = true;
        delayed.data_sent(Time(8_000_000) + ms(39));
        assert_eq!(delayed.answer(received(1000), || true), Answer::Delayed);
        assert!(delayed.timed_out(RTO));
        assert_eq!(delayed.answer(received(1000), || true), Answer::Now);
    }

    #[test]
    fn a_pushed_segment_is_acknowledged_once_all_is_read() {
        let mut delayed = after(9, ms(1));
        delayed.sent();
        assert!(!delayed.is_due_after_read(1000, true), "nothing is owed");
        delayed.queued(&data(1000, flag::PSH), 1448, 12);
        assert!(delayed.is_due_after_read(1000, true));
        assert!(!delayed.is_due_after_read(1000, false));
        assert!(delayed.is_due_after_read(1449, false));
    }

    #[test]
    fn a_small_segment_is_taken_for_a_full_one_when_the_next_is_as_long() {
        let mut delayed = after(9, ms(1));
        assert!(!delayed.queued(&data(1000, 0), 1448, 12));
        assert_eq!(delayed.rcv_mss, 1448);
        delayed.queued(&data(1000, 0), 1448, 12);
        assert_eq!(delayed.rcv_mss, 1000);
        assert!(delayed.queued(&data(1200, 0), 1448, 12), "a new size");
        let merged = Segment {
            segments: 4,
            ..data(5792, 0)
        };
        assert!(delayed.queued(&merged, 1448, 12));
        assert_eq!(delayed.rcv_mss, 1448, "no more than one segment's");
    }
}
