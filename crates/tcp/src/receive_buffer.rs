//! The receive window and buffer: window from memory by the measured ratio of payload to memory (`scaling_ratio`), the
//! slow-start threshold of the window (`rcv_ssthresh`), and dynamic right-sizing within `tcp_rmem`
//! (`tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` as of 6.18).

use super::Socket;
use crate::config::Config;
use crate::segment::Segment;
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
    /// The buffer, and the window scale to offer for its largest size.
    pub fn new(config: &Config, mss: u32) -> (Self, u8) {
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
        let buffer = Self {
            rcvbuf,
            most: config.tcp_rmem[2],
            locked: config.rcvbuf.is_some(),
            ratio: RATIO_AT_FIRST,
            window_clamp: if config.window_scaling {
                u64::from(u32::MAX >> 1)
            } else {
                65_535
            },
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
        };
        (buffer, scale)
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
}

impl Socket {
    /// The window that stands advertised.
    pub(super) fn receive_window(&self) -> u64 {
        self.buffer.edge.saturating_sub(self.receiver.rcv_nxt)
    }

    fn used_memory(&self) -> u64 {
        self.receiver.unread_memory + self.receiver.out_of_order_memory
    }

    fn free_space(&self) -> u64 {
        self.buffer
            .window_from(self.buffer.rcvbuf.saturating_sub(self.used_memory()))
    }

    /// The window that the buffer justifies now (`__tcp_select_window`).
    pub(super) fn window_would_be(&self) -> u64 {
        let free = self.free_space();
        let full = self
            .buffer
            .window_clamp
            .min(self.buffer.window_from(self.buffer.rcvbuf));
        let mss = u64::from(self.delayed.rcv_mss).min(full);
        let unit = 1_u64 << self.rcv_wscale;
        let mut space = free;
        if free < full / 2 {
            space -= space % unit;
            if space < full >> 4 || space < mss {
                return 0;
            }
        }
        space = space.min(self.buffer.ssthresh);
        if self.rcv_wscale > 0 {
            space.next_multiple_of(unit)
        } else {
            let window = self.receive_window();
            if window <= space.saturating_sub(mss) || window > space {
                space - space % mss.max(1)
            } else {
                window
            }
        }
    }

    /// Chooses the window for a departing packet; it never shrinks. Returns the header's field.
    pub(super) fn advertise(&mut self) -> u16 {
        let current = self.receive_window();
        if self.free_space() < self.buffer.window_clamp / 2 {
            self.delayed.no_quick();
        }
        let unit = 1_u64 << self.rcv_wscale;
        let mut window = self.window_would_be();
        if window < current {
            window = current.next_multiple_of(unit);
        }
        let field = (window >> self.rcv_wscale).min(65_535);
        self.buffer.edge = self
            .buffer
            .edge
            .max(self.receiver.rcv_nxt + (field << self.rcv_wscale));
        field as u16
    }

    /// The first full segment shows what its memory costs (`tcp_measure_rcv_mss`).
    pub(super) fn measure_ratio(&mut self, packet: &Segment) {
        let memory = u64::from(self.config.memory.received(packet.wire_bytes));
        let ratio = (u64::from(packet.payload) * 256 / memory).clamp(1, 255);
        let b = &mut self.buffer;
        if ratio != b.ratio {
            b.ratio = ratio;
            b.window_clamp = b.window_from(b.rcvbuf);
            if self.rcv_wscale == 0 {
                b.window_clamp = b.window_clamp.min(65_535);
            }
            b.space = b.space.min(b.window_clamp);
        }
    }

    /// Each good segment opens the window a little (`tcp_grow_window`).
    pub(super) fn grow_window(&mut self, packet: &Segment) {
        let limit = self.buffer.window_clamp.min(self.free_space());
        if limit <= self.buffer.ssthresh {
            return;
        }
        let room = limit - self.buffer.ssthresh;
        let payload = u64::from(packet.payload);
        let memory = u64::from(self.config.memory.received(packet.wire_bytes));
        let mss = u64::from(self.receiver.advertised_mss);
        let step = if self.buffer.window_from(memory) <= payload {
            2 * mss
        } else {
            // Small segments: grow only while the buffer could hold as many of them.
            let mut memory = self.buffer.window_from(memory) >> 1;
            let mut window = self.buffer.window_from(self.buffer.most) >> 1;
            let mut step = 0;
            while self.buffer.ssthresh <= window {
                if memory <= payload {
                    step = 2 * u64::from(self.delayed.rcv_mss);
                    break;
                }
                memory >>= 1;
                window >>= 1;
            }
            step
        };
        if step > 0 {
            self.buffer.ssthresh += room.min(step.max(2 * payload));
            self.delayed.window_grew();
        }
    }

    // --- dynamic right-sizing ---

    pub(super) fn receiver_rtt(&self) -> i64 {
        self.buffer.rtt8 >> 3
    }

    fn update_receiver_rtt(&mut self, sample: i64, by_window: bool) {
        let old = self.buffer.rtt8;
        let sample = sample.max(1000);
        if old == 0 || sample << 3 < old {
            self.buffer.rtt8 = sample << 3;
        } else if !by_window && self.receiver.rcv_nxt == self.receiver.copied {
            self.buffer.rtt8 = old - (old >> 3) + sample;
        }
    }

    /// From timestamps, once per echoed value. Asked before the segment is queued: while the application still has data to
    /// read, a larger RTT is not believed.
    pub(super) fn measure_receiver_rtt(&mut self, packet: &Segment) {
        if let Some((_, echo)) = packet.timestamps
            && echo != 0
            && echo != self.buffer.rtt_echo
            && packet.payload >= self.delayed.rcv_mss
        {
            self.buffer.rtt_echo = echo;
            let millis = self.timestamp().wrapping_sub(echo) as i32;
            if millis >= 0 {
                self.update_receiver_rtt(i64::from(millis.max(1)) * 1_000_000, false);
            }
        }
    }

    /// Without timestamps: the time that one window takes.
    pub(super) fn measure_receiver_rtt_by_window(&mut self) {
        let now = self.window.now;
        if self.timestamps_ok {
            return;
        }
        if self.buffer.round_end != 0 {
            if self.receiver.rcv_nxt < self.buffer.round_end {
                return;
            }
            let round = now - self.buffer.round_at;
            self.update_receiver_rtt(round.0, true);
        }
        self.buffer.round_end = self.receiver.rcv_nxt + self.receive_window();
        self.buffer.round_at = now;
    }

    /// The application has read: once per RTT, size the buffer for what it read.
    pub(super) fn adjust_buffer(&mut self) {
        let now = self.window.now;
        let elapsed = now - self.buffer.measured_at;
        let rtt = Nanos(self.receiver_rtt());
        if rtt == Nanos::ZERO || elapsed < rtt {
            return;
        }
        let mut copied = self.receiver.copied - self.buffer.measured_from.min(self.receiver.copied);
        copied -= copied.min(self.receiver.rcv_nxt - self.receiver.copied);
        if copied > self.buffer.space {
            self.grow_buffer(copied);
        }
        self.buffer.measured_from = self.receiver.copied;
        self.buffer.measured_at = now;
    }

    fn grow_buffer(&mut self, space: u64) {
        let old = self.buffer.space.max(1);
        self.buffer.space = space;
        if self.buffer.locked {
            return;
        }
        let mut window = space * 2;
        window +=
            (u128::from(window) * u128::from(space - space.min(old)) / u128::from(old)) as u64 * 2;
        if self.receiver.has_holes() {
            window += self.receiver.highest() - self.receiver.rcv_nxt;
        }
        let wanted = self.buffer.memory_for(window).min(self.buffer.most);
        if wanted > self.buffer.rcvbuf {
            self.buffer.rcvbuf = wanted;
            self.buffer.window_clamp = self.buffer.window_from(wanted);
            if self.rcv_wscale == 0 {
                self.buffer.window_clamp = self.buffer.window_clamp.min(65_535);
            }
        }
    }

    pub(super) fn grow_buffer_for_holes(&mut self) {
        let space = self.buffer.space;
        self.grow_buffer(space);
    }

    /// Whether an arrival of this memory can be kept; the buffer grows to what is in it where it may
    /// (`tcp_clamp_window`).
    pub(super) fn make_room(&mut self, memory: u64) -> bool {
        let wanted = self.used_memory() + memory;
        if wanted > self.buffer.rcvbuf && !self.buffer.locked {
            self.buffer.rcvbuf = wanted.min(self.buffer.most).max(self.buffer.rcvbuf);
        }
        self.used_memory() <= self.buffer.rcvbuf
    }
}
