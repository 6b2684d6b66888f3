//! The receive window and buffer: window from memory by the measured ratio of payload to memory (`scaling_ratio`), the
//! slow-start threshold of the window (`rcv_ssthresh`), and dynamic right-sizing within `tcp_rmem`
//! (`tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` as of 6.18).

use crate::config::Config;
use crate::receiver::Receiver;
use bentpipe_base::time::{Nanos, Time};

/// Payload per 256 bytes of memory before the first full segment tells: half, since 6.10.
const RATIO_AT_FIRST: u64 = 128;

#[derive(Clone, Copy, Debug)]
pub struct ReceiveBuffer {
    pub rcvbuf: u64,
    most: u64,
    locked: bool,
    ratio: u64,
    window_clamp: u64,
    /// Window scale: what the header's field is shifted by.
    pub scale: u8,
    pub ssthresh: u64,
    /// Right edge of the window last advertised.
    edge: u64,
    initial_window: u16,
    /// 8 x the receiver's RTT estimate in nanoseconds; 0: none.
    rtt8: i64,
    rtt_echo: u32,
    round_end: u64,
    round_at: Time,
    /// DRS: bytes read in the last measured round, and when and where the present one began.
    pub space: u64,
    measured_from: u64,
    measured_at: Time,
}

impl ReceiveBuffer {
    /// The buffer, with the window scale to offer for its largest size.
    pub fn new(config: &Config, mss: u32) -> Self {
        let rcvbuf = config.rcvbuf.unwrap_or(config.tcp_rmem[1]);
        let space = rcvbuf * RATIO_AT_FIRST / 256;
        let largest = config.tcp_rmem[2].max(rcvbuf).max(65_535);
        let scale = if config.window_scaling {
            (largest.ilog2().saturating_sub(15)).min(14) as u8
        } else {
            0
        };
        // Whole segments (`tcp_select_initial_window`).
        let mss_or_1 = u64::from(mss).max(1);
        let mut window = if space > mss_or_1 {
            (space - space % mss_or_1).min(65_535)
        } else {
            space
        };
        if let Some(segments) = config.initrwnd {
            window = window.min(u64::from(segments) * u64::from(mss));
        }
        Self {
            rcvbuf,
            most: config.tcp_rmem[2],
            locked: config.rcvbuf.is_some(),
            ratio: RATIO_AT_FIRST,
            window_clamp: if config.window_scaling {
                u64::from(u32::MAX >> 1)
            } else {
                65_535
            },
            scale,
            ssthresh: window,
            edge: 1 + window,
            initial_window: window as u16,
            rtt8: 0,
            rtt_echo: 0,
            round_end: 0,
            round_at: Time::ZERO,
            space: 0,
            measured_from: 1,
            measured_at: Time::ZERO,
        }
    }

    pub fn initial_window(&self) -> u16 {
        self.initial_window
    }

    pub fn clamp(&self) -> u64 {
        self.window_clamp
    }

    fn window_from(&self, memory: u64) -> u64 {
        memory * self.ratio / 256
    }

    fn memory_for(&self, window: u64) -> u64 {
        window * 256 / self.ratio
    }

    pub fn establish(&mut self, config: &Config, mss: u32) {
        if let Some(window) = config.open_receive_window {
            self.rcvbuf = self.rcvbuf.max(self.memory_for(window));
            self.ssthresh = self.ssthresh.max(window);
        }
        let full = self.window_from(self.rcvbuf);
        self.window_clamp = self.window_clamp.min(full);
        if !config.window_scaling {
            self.window_clamp = self.window_clamp.min(65_535);
        }
        self.ssthresh = self.ssthresh.min(self.window_clamp);
        self.space = self
            .ssthresh
            .min(u64::from(self.initial_window))
            .min(10 * u64::from(mss));
    }

    // --- the window ---

    /// The window that stands advertised.
    pub fn window(&self, receiver: &Receiver) -> u64 {
        self.edge.saturating_sub(receiver.rcv_nxt)
    }

    fn free_space(&self, receiver: &Receiver) -> u64 {
        self.window_from(self.rcvbuf.saturating_sub(receiver.used_memory()))
    }

    /// The window that the buffer justifies now (`__tcp_select_window`), where full segments are of `rcv_mss` bytes.
    pub fn window_would_be(&self, receiver: &Receiver, rcv_mss: u32) -> u64 {
        let free = self.free_space(receiver);
        let full = self.window_clamp.min(self.window_from(self.rcvbuf));
        let mss = u64::from(rcv_mss).min(full);
        let unit = 1_u64 << self.scale;
        let mut space = free;
        if free < full / 2 {
            space -= space % unit;
            if space < full >> 4 || space < mss {
                return 0;
            }
        }
        space = space.min(self.ssthresh);
        if self.scale > 0 {
            space.next_multiple_of(unit)
        } else {
            let window = self.window(receiver);
            if window <= space.saturating_sub(mss) || window > space {
                space - space % mss.max(1)
            } else {
                window
            }
        }
    }

    /// More than half of the buffer is in use.
    pub fn is_filling(&self, receiver: &Receiver) -> bool {
        self.free_space(receiver) < self.window_clamp / 2
    }

    /// Chooses the window for a departing packet; it never shrinks. Returns the header's field.
    pub fn advertise(&mut self, receiver: &Receiver, rcv_mss: u32) -> u16 {
        let current = self.window(receiver);
        let mut window = self.window_would_be(receiver, rcv_mss);
        if window < current {
            window = current.next_multiple_of(1 << self.scale);
        }
        let field = (window >> self.scale).min(65_535);
        self.edge = self.edge.max(receiver.rcv_nxt + (field << self.scale));
        field as u16
    }

    /// The first full segment shows what its memory costs (`tcp_measure_rcv_mss`).
    pub fn measure_ratio(&mut self, payload: u32, memory: u64) {
        let ratio = (u64::from(payload) * 256 / memory).clamp(1, 255);
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp_to(self.rcvbuf);
            self.space = self.space.min(self.window_clamp);
        }
    }

    fn clamp_to(&mut self, rcvbuf: u64) {
        self.window_clamp = self.window_from(rcvbuf);
        if self.scale == 0 {
            self.window_clamp = self.window_clamp.min(65_535);
        }
    }

    /// Each good segment opens the window a little (`tcp_grow_window`). Returns whether it did.
    pub fn grow_window(
        &mut self,
        receiver: &Receiver,
        rcv_mss: u32,
        payload: u32,
        memory: u64,
    ) -> bool {
        let limit = self.window_clamp.min(self.free_space(receiver));
        if limit <= self.ssthresh {
            return false;
        }
        let room = limit - self.ssthresh;
        let payload = u64::from(payload);
        let step = if self.window_from(memory) <= payload {
            2 * u64::from(receiver.advertised_mss)
        } else {
            // Small segments: grow only while the buffer could hold as many of them.
            let mut memory = self.window_from(memory) >> 1;
            let mut window = self.window_from(self.most) >> 1;
            let mut step = 0;
            while self.ssthresh <= window {
                if memory <= payload {
                    step = 2 * u64::from(rcv_mss);
                    break;
                }
                memory >>= 1;
                window >>= 1;
            }
            step
        };
        if step > 0 {
            self.ssthresh += room.min(step.max(2 * payload));
        }
        step > 0
    }

    // --- dynamic right-sizing ---

    /// The receiver's estimate of the RTT in nanoseconds; 0: none.
    pub fn rtt(&self) -> i64 {
        self.rtt8 >> 3
    }

    fn update_rtt(&mut self, sample: i64, by_window: bool, receiver: &Receiver) {
        let old = self.rtt8;
        let sample = sample.max(1000);
        if old == 0 || sample << 3 < old {
            self.rtt8 = sample << 3;
        } else if !by_window && receiver.rcv_nxt == receiver.copied {
            self.rtt8 = old - (old >> 3) + sample;
        }
    }

    /// A full segment echoes what left `millis` ago. Counted once per echoed value, and asked before the segment is queued: while
    /// the application still has data to read, a larger RTT is not believed.
    pub fn measure_rtt_by_echo(&mut self, echo: u32, millis: i32, receiver: &Receiver) {
        if echo == 0 || echo == self.rtt_echo {
            return;
        }
        self.rtt_echo = echo;
        if millis >= 0 {
            self.update_rtt(i64::from(millis.max(1)) * 1_000_000, false, receiver);
        }
    }

    /// Without timestamps: the time that one window takes.
    pub fn measure_rtt_by_window(&mut self, now: Time, receiver: &Receiver) {
        if self.round_end != 0 {
            if receiver.rcv_nxt < self.round_end {
                return;
            }
            let round = now - self.round_at;
            self.update_rtt(round.0, true, receiver);
        }
        self.round_end = receiver.rcv_nxt + self.window(receiver);
        self.round_at = now;
    }

    /// The application has read: once per RTT, size the buffer for what it read.
    pub fn was_read(&mut self, now: Time, receiver: &Receiver) {
        let elapsed = now - self.measured_at;
        let rtt = Nanos(self.rtt());
        if rtt == Nanos::ZERO || elapsed < rtt {
            return;
        }
        let mut copied = receiver.copied - self.measured_from.min(receiver.copied);
        copied -= copied.min(receiver.rcv_nxt - receiver.copied);
        if copied > self.space {
            self.grow(copied, receiver);
        }
        self.measured_from = receiver.copied;
        self.measured_at = now;
    }

    fn grow(&mut self, space: u64, receiver: &Receiver) {
        let old = self.space.max(1);
        self.space = space;
        if self.locked {
            return;
        }
        let mut window = space * 2;
        window +=
            (u128::from(window) * u128::from(space - space.min(old)) / u128::from(old)) as u64 * 2;
        if receiver.has_holes() {
            window += receiver.highest() - receiver.rcv_nxt;
        }
        let wanted = self.memory_for(window).min(self.most);
        if wanted > self.rcvbuf {
            self.rcvbuf = wanted;
            self.clamp_to(wanted);
        }
    }

    /// What lies behind a hole wants room too.
    pub fn grow_for_holes(&mut self, receiver: &Receiver) {
        self.grow(self.space, receiver);
    }

    /// Whether an arrival of this memory can be kept; the buffer grows to what is in it where it may
    /// (`tcp_clamp_window`).
    pub fn make_room(&mut self, receiver: &Receiver, memory: u64) -> bool {
        let used = receiver.used_memory();
        let wanted = used + memory;
        if wanted > self.rcvbuf && !self.locked {
            self.rcvbuf = wanted.min(self.most).max(self.rcvbuf);
        }
        used <= self.rcvbuf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1448;
    const MEMORY: u64 = 2304;

    fn receiver() -> Receiver {
        let mut receiver = Receiver::default();
        receiver.begin(MSS);
        receiver
    }

    fn buffer(set: impl FnOnce(&mut Config)) -> ReceiveBuffer {
        let mut config = Config::default();
        set(&mut config);
        let mut buffer = ReceiveBuffer::new(&config, 1460);
        buffer.establish(&config, MSS);
        buffer
    }

    #[test]
    fn each_good_segment_opens_the_window_by_two_up_to_the_buffers_five_eighths() {
        let (mut buffer, mut receiver) = (buffer(|_| {}), receiver());
        buffer.measure_ratio(MSS, MEMORY);
        let before = buffer.ssthresh;
        assert!(buffer.grow_window(&receiver, MSS, MSS, MEMORY));
        assert_eq!(buffer.ssthresh, before + 2 * u64::from(MSS));
        while buffer.grow_window(&receiver, MSS, MSS, MEMORY) {}
        assert_eq!(buffer.ssthresh, 131_072 * 160 / 256);
        receiver.unread_memory = 131_072;
        assert!(!buffer.grow_window(&receiver, MSS, MSS, MEMORY), "full");
    }

    #[test]
    fn an_advertised_window_never_shrinks_however_full_the_buffer() {
        let (mut buffer, mut receiver) = (buffer(|_| {}), receiver());
        buffer.advertise(&receiver, MSS);
        let edge = receiver.rcv_nxt + buffer.window(&receiver);
        receiver.rcv_nxt += 20_000;
        receiver.unread_memory = 131_072;
        assert_eq!(buffer.window_would_be(&receiver, MSS), 0);
        assert!(buffer.is_filling(&receiver));
        let field = u64::from(buffer.advertise(&receiver, MSS)) << buffer.scale;
        assert!(receiver.rcv_nxt + field >= edge);
        receiver.rcv_nxt += buffer.window(&receiver);
        assert_eq!(buffer.advertise(&receiver, MSS), 0);
    }

    #[test]
    fn a_buffer_grows_once_per_round_trip_to_twice_what_was_read() {
        let (mut buffer, mut receiver) = (buffer(|_| {}), receiver());
        let at = |ms: i64| Time(ms * 1_000_000);
        buffer.measure_ratio(MSS, MEMORY);
        buffer.measure_rtt_by_echo(5, 100, &receiver);
        assert_eq!(buffer.rtt(), 100_000_000);
        receiver.rcv_nxt = 300_001;
        receiver.copied = 300_001;
        buffer.was_read(at(99), &receiver);
        assert_eq!(buffer.rcvbuf, 131_072, "within the round trip");
        buffer.was_read(at(100), &receiver);
        assert!(buffer.rcvbuf >= 2 * 300_000 * 256 / 160 && buffer.space == 300_000);
        let grown = buffer.rcvbuf;
        buffer.was_read(at(199), &receiver);
        buffer.was_read(at(200), &receiver);
        assert_eq!(buffer.rcvbuf, grown, "nothing new was read");
    }

    #[test]
    fn a_buffer_that_was_asked_for_keeps_its_size_and_refuses_what_does_not_fit() {
        let (mut buffer, mut receiver) = (buffer(|host| host.rcvbuf = Some(65_536)), receiver());
        receiver.unread_memory = 65_536;
        assert!(
            buffer.make_room(&receiver, MEMORY),
            "the last one may exceed it"
        );
        receiver.unread_memory = 65_537;
        assert!(!buffer.make_room(&receiver, MEMORY));
        assert_eq!(buffer.rcvbuf, 65_536);
    }

    #[test]
    fn a_longer_round_trip_is_believed_only_from_a_reader_that_keeps_up() {
        let (mut buffer, mut receiver) = (buffer(|_| {}), receiver());
        buffer.measure_rtt_by_echo(5, 100, &receiver);
        receiver.rcv_nxt = 9001;
        buffer.measure_rtt_by_echo(6, 900, &receiver);
        assert_eq!(buffer.rtt(), 100_000_000);
        receiver.copied = 9001;
        buffer.measure_rtt_by_echo(6, 900, &receiver);
        assert_eq!(buffer.rtt(), 100_000_000, "the same echo");
        buffer.measure_rtt_by_echo(7, 900, &receiver);
        assert_eq!(buffer.rtt(), 200_000_000);
        buffer.measure_rtt_by_echo(8, 50, &receiver);
        assert_eq!(buffer.rtt(), 50_000_000, "a shorter one always");
    }
}
